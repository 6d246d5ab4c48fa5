import type { VenueFacts } from './facts.ts'

/** Venue B: numbered book changes per subscription, or polled books; bids only, on both outcomes. */
export const VENUE_B: VenueFacts = {
  label: 'Venue B',
  marketKind: 'event contracts',
  priceDecimals: 4,
  sizeDecimals: 2,
  units: {
    priceUnit: 'USD per contract',
    sizeUnit: 'contracts',
    volumeUnit: 'contracts',
    collateral: 'USD',
  },
  booksPer: 'market',
  hasYesNoLadders: true,
  levelsMax: 100,
  laddersByDefault: false,
  hasTrades: true,
  metrics: [],
  references: [],
  groupWord: 'an event',
  familyKey: 'series',
  isInCheapestPlan: true,
  // KXBTC, KXBTCD, KXBTC15M, BTCD and KXETHMAXY name their coin; KXETHICS is another word.
  assetInTicker: /^(?:KX)?(BTC|ETH|SOL|XRP|DOGE|BNB)(?=D?(?:\d|-|$|MAX|MIN))/,
  paths: {
    markets: '/v3/venueb/markets',
    market: '/v3/venueb/{market_ticker}',
    marketParam: 'market_ticker',
    hasAsset: false,
    idHint: 'the exact market ticker',
    idPattern: /^[A-Z0-9][A-Z0-9.-]*$/,
  },
  floors: [{ dataset: 'catalogue' }, { dataset: 'books' }, { dataset: 'trades' }],
  bookRules: {
    order: 'sequence',
    fullBooksVerify: false,
    answersMixWithSocket: false,
    socketsFeedAllBooks: false,
  },
  trading: { netsOutcomes: true, stopsAtClose: true, amountDecimals: 6, payoutDecimals: 2 },
}
