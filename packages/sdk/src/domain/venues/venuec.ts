import { parseMicros } from '../micros.ts'
import type { VenueFacts } from './facts.ts'

/** Since then rounds settle on averages of the oracle's price, before that on the price itself. */
const AVERAGED = parseMicros('2026-08-07T00:00:00Z')

/** Venue C: one book per outcome token, changes without numbers, full books after trades. */
export const VENUE_C: VenueFacts = {
  label: 'Venue C',
  marketKind: 'on-chain tokens',
  priceDecimals: 4,
  sizeDecimals: 6,
  units: {
    priceUnit: 'USDC per share',
    sizeUnit: 'shares',
    volumeUnit: 'USDC',
    collateral: 'USDC',
  },
  tickRefinement: 10,
  booksPer: 'token',
  hasYesNoLadders: false,
  laddersByDefault: false,
  hasTrades: true,
  metrics: [],
  references: [
    {
      feed: 'twap60',
      unit: 'USD',
      description: 'The time-weighted average of the oracle’s price over 60 seconds.',
      settles: { windows: ['15m'], from: AVERAGED },
    },
    {
      feed: 'twap30',
      unit: 'USD',
      description: 'The time-weighted average of the oracle’s price over 30 seconds.',
      settles: { windows: ['5m'], from: AVERAGED },
    },
    {
      feed: 'chainlink',
      unit: 'USD',
      description: 'The price of the oracle’s data stream.',
      settles: { until: AVERAGED },
    },
    { feed: 'exchange', unit: 'USDT', description: 'The price of the last trade on an exchange.' },
  ],
  groupWord: 'an event',
  familyKey: 'asset',
  isInCheapestPlan: true,
  paths: {
    markets: '/v3/{asset}/markets',
    market: '/v3/{asset}/markets/{market_id}',
    plain: { markets: '/v3/venuec/markets', market: '/v3/venuec/markets/{market_id}' },
    marketParam: 'market_id',
    hasAsset: true,
    idHint: 'the condition id (0x and 64 digits)',
    idPattern: /^0x[0-9a-fA-F]{64}$/,
  },
  floors: [{ dataset: 'catalogue' }, { dataset: 'books' }, { dataset: 'trades' }],
  bookRules: {
    order: 'source_time',
    fullBooksVerify: true,
    answersMixWithSocket: true,
    socketsFeedAllBooks: true,
  },
  trading: { netsOutcomes: false, stopsAtClose: false, amountDecimals: 6 },
}
