import { parseMicros, type Micros } from '../micros.ts'
import type { VenueFacts } from './facts.ts'

const COVERED = ['BTC', 'ETH', 'BNB']

/** Venue A: whole books by push and poll, three sampled metrics; executions only on its chain. */
export const VENUE_A: VenueFacts = {
  label: 'Venue A',
  marketKind: 'wallet rounds',
  priceDecimals: 6,
  sizeDecimals: 8,
  units: {
    priceUnit: 'USDT per share',
    sizeUnit: 'shares',
    volumeUnit: 'USDT',
    collateral: 'USDT',
  },
  booksPer: 'market',
  hasYesNoLadders: false,
  laddersByDefault: true,
  hasTrades: false,
  tradesKey: 'chain',
  metrics: ['chance', 'price', 'last_trade'],
  references: [],
  groupWord: 'a topic',
  familyKey: 'asset',
  isInCheapestPlan: false,
  paths: {
    markets: '/v3/venuea-prediction/markets',
    market: '/v3/venuea-prediction/{market_id}',
    alias: { markets: '/v3/venuea-alias/markets', market: '/v3/venuea-alias/{market_id}' },
    marketParam: 'market_id',
    hasAsset: false,
    idHint: 'the market id (digits)',
    idPattern: /^\d{1,12}$/,
  },
  // The interface document names the year for the catalogue only; 2026 is our reading of the others.
  floors: [
    { dataset: 'catalogue', assets: ['BTC'], start: day('2026-05-05'), backfilled: true },
    { dataset: 'catalogue', assets: ['ETH', 'BNB'], start: day('2026-06-29'), backfilled: true },
    { dataset: 'metrics', assets: COVERED, start: day('2026-07-17'), yearInferred: true },
    {
      dataset: 'books',
      assets: ['BTC'],
      windows: ['15m'],
      start: day('2026-06-26'),
      yearInferred: true,
    },
    { dataset: 'books', assets: COVERED, start: day('2026-07-26'), yearInferred: true },
    { dataset: 'trades', assets: COVERED },
  ],
  bookRules: {
    order: 'none',
    fullBooksVerify: false,
    answersMixWithSocket: true,
    socketsFeedAllBooks: false,
  },
  trading: { netsOutcomes: false, stopsAtClose: true, amountDecimals: 18 },
}

function day(text: string): Micros {
  return parseMicros(`${text}T00:00:00Z`)
}
