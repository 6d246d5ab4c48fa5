import type { VenueFacts } from './facts.ts'

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
    },
    {
      feed: 'twap30',
      unit: 'USD',
      description: 'The time-weighted average of the oracle’s price over 30 seconds.',
    },
    { feed: 'chainlink', unit: 'USD', description: 'The price of the oracle’s data stream.' },
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
