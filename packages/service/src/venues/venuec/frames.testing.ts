import type { WireCase } from '../capture/wire.testing.ts'

/** Frames and answers of venue C, one of each kind, with the events that they must give. */

const MARKET = `0x${'7e'.repeat(32)}`
const UP = `31${'4'.repeat(70)}01`
const DOWN = `31${'4'.repeat(70)}02`
const UP_BOOK = { venue: 'venuec', market: MARKET, key: UP }
const DOWN_BOOK = { venue: 'venuec', market: MARKET, key: DOWN }
const UNITS = {
  priceUnit: 'USDC per share',
  sizeUnit: 'shares',
  volumeUnit: 'USDC',
  collateral: 'USDC',
}

// Prices are ticks of 0.0001 and sizes units of 10^−6 share; times are microseconds. The cases are
// received at 2026-10-05T09:33:21.5Z, inside the round.
const TIME = 1_791_192_800_750_000
const SLUG = 'btc-updown-5m-1791192600'
const OPEN = 1_791_192_600_000_000
const CLOSE = 1_791_192_900_000_000

const BOOK = `{"event_type":"book","asset_id":"${UP}","market":"${MARKET}",
  "timestamp":"1791192800750","hash":"0f${'1'.repeat(38)}",
  "bids":[{"price":"0.02","size":"700"},{"price":".46","size":"31.5"}],
  "asks":[{"price":"0.98","size":"1200.25"},{"price":"0.5","size":"0.000001"}],
  "tick_size":"0.01","last_trade_price":"0.470"}`
const BOOK_EVENT = {
  kind: 'snapshot',
  instrument: UP_BOOK,
  bids: [
    { price: 200, size: 700_000_000 },
    { price: 4600, size: 31_500_000 },
  ],
  asks: [
    { price: 9800, size: 1_200_250_000 },
    { price: 5000, size: 1 },
  ],
  source: TIME,
}

const BOOK_FRAMES: readonly WireCase[] = [
  { name: 'a full book, worst first', text: BOOK, events: [BOOK_EVENT] },
  {
    name: 'the first books of a subscription, in one list',
    text: `[${BOOK},{"event_type":"book","asset_id":"${DOWN}","market":"${MARKET}",
      "timestamp":"1791192800750","hash":"","bids":[],"asks":[{"price":"0.54","size":"31.5"}]}]`,
    events: [
      BOOK_EVENT,
      {
        kind: 'snapshot',
        instrument: DOWN_BOOK,
        bids: [],
        asks: [{ price: 5400, size: 31_500_000 }],
        source: TIME,
      },
    ],
  },
  {
    name: 'a full book with the names of the first documentation',
    text: `{"event_type":"book","asset_id":"${UP}","market":"${MARKET}",
      "timestamp":"1791192800750","buys":[{"price":"0.4","size":"5"}],"sells":[]}`,
    events: [
      {
        kind: 'snapshot',
        instrument: UP_BOOK,
        bids: [{ price: 4000, size: 5_000_000 }],
        asks: [],
        source: TIME,
      },
    ],
  },
  {
    name: 'one order in the books of both tokens',
    text: `{"market":"${MARKET}","event_type":"price_change","timestamp":"1791192800751",
      "price_changes":[{"asset_id":"${UP}","price":"0.46","size":"40","side":"BUY","hash":"a",
      "best_bid":"0.46","best_ask":"0.5"},{"asset_id":"${DOWN}","price":"0.54","size":"40",
      "side":"SELL","hash":"b","best_bid":"0.5","best_ask":"0.54"}]}`,
    events: [
      {
        kind: 'change',
        instrument: UP_BOOK,
        changes: [{ side: 'bid', price: 4600, size: 40_000_000 }],
        signed: false,
        claims: { bestBid: 4600, bestAsk: 5000 },
        source: TIME + 1000,
      },
      {
        kind: 'change',
        instrument: DOWN_BOOK,
        changes: [{ side: 'ask', price: 5400, size: 40_000_000 }],
        signed: false,
        claims: { bestBid: 5000, bestAsk: 5400 },
        source: TIME + 1000,
      },
    ],
  },
  {
    name: 'a removed level that leaves both sides empty',
    text: `{"market":"${MARKET}","event_type":"price_change","timestamp":"1791192800752",
      "price_changes":[{"asset_id":"${UP}","price":"0.46","size":"0","side":"BUY","hash":"c",
      "best_bid":"0","best_ask":"1"}]}`,
    events: [
      {
        kind: 'change',
        instrument: UP_BOOK,
        changes: [{ side: 'bid', price: 4600, size: 0 }],
        signed: false,
        claims: { bestBid: undefined, bestAsk: undefined },
        source: TIME + 2000,
      },
    ],
  },
  {
    name: 'a change with a broken entry, which closes the book of its token',
    text: `{"market":"${MARKET}","event_type":"price_change","timestamp":"1791192800753",
      "price_changes":[{"asset_id":"${UP}","price":"0.46","size":"8","side":"BUY"},
      {"asset_id":"${DOWN}","price":"0.54","size":"eight","side":"SELL"}]}`,
    events: [
      { kind: 'reset', instrument: DOWN_BOOK, reason: 'rejected', source: TIME + 3000 },
      {
        kind: 'change',
        instrument: UP_BOOK,
        changes: [{ side: 'bid', price: 4600, size: 8_000_000 }],
        signed: false,
        source: TIME + 3000,
      },
    ],
    problems: [{ where: DOWN, code: 'invalid_decimal' }],
  },
  {
    name: 'changes of the form before September 2025',
    text: `{"event_type":"price_change","asset_id":"${UP}","market":"${MARKET}","hash":"d",
      "timestamp":"1791192800754","changes":[{"price":"0.41","side":"SELL","size":"330"},
      {"price":"0.4","side":"BUY","size":"12"}]}`,
    events: [
      {
        kind: 'change',
        instrument: UP_BOOK,
        changes: [
          { side: 'ask', price: 4100, size: 330_000_000 },
          { side: 'bid', price: 4000, size: 12_000_000 },
        ],
        signed: false,
        source: TIME + 4000,
      },
    ],
  },
  {
    name: 'the flat change of 2024',
    text: `{"event_type":"price_change","asset_id":"${UP}","market":"${MARKET}","hash":"e",
      "price":"0.415","side":"SELL","size":"77.5","timestamp":"1791192800755"}`,
    events: [
      {
        kind: 'change',
        instrument: UP_BOOK,
        changes: [{ side: 'ask', price: 4150, size: 77_500_000 }],
        signed: false,
        source: TIME + 5000,
      },
    ],
  },
  {
    name: 'a new tick size, after which the book starts again',
    text: `{"event_type":"tick_size_change","asset_id":"${UP}","market":"${MARKET}",
      "old_tick_size":"0.01","new_tick_size":"0.001","timestamp":"1791192800756"}`,
    events: [{ kind: 'reset', instrument: UP_BOOK, reason: 'book_reset', source: TIME + 6000 }],
  },
  {
    name: 'a full book and a change of it in one list, merged',
    text: `[{"event_type":"book","asset_id":"${UP}","market":"${MARKET}",
      "timestamp":"1791192800757","bids":[{"price":"0.4","size":"5"}],"asks":[]},
      {"market":"${MARKET}","event_type":"price_change","timestamp":"1791192800758",
      "price_changes":[{"asset_id":"${UP}","price":"0.4","size":"6","side":"BUY"}]}]`,
    events: [
      {
        kind: 'snapshot',
        instrument: UP_BOOK,
        bids: [{ price: 4000, size: 6_000_000 }],
        asks: [],
        source: TIME + 8000,
      },
    ],
  },
  {
    name: 'best prices alone, which add nothing to the book',
    text: `{"event_type":"best_bid_ask","market":"${MARKET}","asset_id":"${UP}","best_bid":"0.46",
      "best_ask":"0.5","spread":"0.04","timestamp":"1791192800760"}`,
    events: [],
  },
  {
    name: 'an event type that the venue does not document',
    text: `{"event_type":"book_v2","market":"${MARKET}","asset_id":"${UP}"}`,
    events: [],
    error: 'unknown_event',
  },
]

const TRADE_FRAMES: readonly WireCase[] = [
  {
    name: 'a trade; its id is made of what the venue says of it',
    text: `{"event_type":"last_trade_price","asset_id":"${UP}","market":"${MARKET}",
      "fee_rate_bps":"0","price":"0.47","size":"12.5","side":"BUY","timestamp":"1791192800900",
      "transaction_hash":"0xbeef01"}`,
    events: [
      {
        kind: 'trade',
        instrument: UP_BOOK,
        tradeId: `0xbeef01-${UP}-0.47-12.5-BUY-1791192800900`,
        price: 4700,
        size: 12_500_000,
        source: 1_791_192_800_900_000,
        taker: 'buy',
        native: {
          side: 'BUY',
          price: '0.47',
          size: '12.5',
          fee_rate_bps: '0',
          transaction_hash: '0xbeef01',
        },
      },
    ],
  },
  {
    name: 'a trade of the old form, without a transaction and a side',
    text: `{"event_type":"last_trade_price","asset_id":"${DOWN}","market":"${MARKET}",
      "fee_rate_bps":"0","price":"0.5","size":"3","timestamp":"1791192800901"}`,
    events: [
      {
        kind: 'trade',
        instrument: DOWN_BOOK,
        tradeId: `${DOWN}-0.5-3-1791192800901`,
        price: 5000,
        size: 3_000_000,
        source: 1_791_192_800_901_000,
        native: { price: '0.5', size: '3', fee_rate_bps: '0' },
      },
    ],
  },
  {
    name: 'a trade of nothing',
    text: `{"event_type":"last_trade_price","asset_id":"${UP}","market":"${MARKET}","price":"0.5",
      "size":"0","side":"SELL","timestamp":"1791192800902"}`,
    events: [],
    error: 'invalid_message',
  },
]

const OUTCOMES = [
  { label: 'Up', index: 0, tokenId: UP },
  { label: 'Down', index: 1, tokenId: DOWN },
]

const NEW_MARKET = `{"event_type":"new_market","id":"4100200","question":"Bitcoin Up or Down?",
  "market":"${MARKET}","slug":"${SLUG}","description":"d","assets_ids":["${UP}","${DOWN}"],
  "outcomes":["Up","Down"],"event_message":{"id":"880011","ticker":"${SLUG}","slug":"${SLUG}",
  "title":"Bitcoin Up or Down?","description":"d"},"timestamp":"1791192000000","tags":[],
  "condition_id":"${MARKET}","active":false,"clob_token_ids":["${UP}","${DOWN}"],
  "order_price_min_tick_size":"0.01","taker_base_fee":"1000","fees_enabled":true,
  "fee_schedule":{"exponent":"1","rate":"0.07","taker_only":true,"rebate_rate":"0.2"}}`
const RESOLVED = `{"event_type":"market_resolved","id":"4100200","market":"${MARKET}",
  "assets_ids":["${UP}","${DOWN}"],"winning_asset_id":"${UP}","winning_outcome":"Up",
  "timestamp":"1791192916000","tags":[]}`

const ANNOUNCEMENTS: readonly WireCase[] = [
  {
    name: 'a new round',
    text: NEW_MARKET,
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venuec',
          marketId: MARKET,
          title: 'Bitcoin Up or Down?',
          status: 'scheduled',
          statusNative: 'inactive',
          openTime: OPEN,
          outcomes: OUTCOMES,
          units: UNITS,
          eventId: '880011',
          conditionId: MARKET,
          question: 'Bitcoin Up or Down?',
          gammaMarketId: '4100200',
          slug: SLUG,
          asset: 'BTC',
          window: '5m',
          native: { new_market: JSON.parse(NEW_MARKET) as object },
        },
        source: 1_791_192_000_000_000,
      },
    ],
  },
  {
    name: 'a new market that is not a crypto round',
    text: NEW_MARKET.replaceAll(SLUG, 'will-it-rain-in-oslo'),
    events: [],
  },
  {
    name: 'a resolution',
    text: RESOLVED,
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venuec',
          marketId: MARKET,
          status: 'resolved',
          statusNative: 'market_resolved',
          resolvedTime: 1_791_192_916_000_000,
          resolution: {
            state: 'final',
            payouts: ['1', '0'],
            times: { settled: 1_791_192_916_000_000 },
          },
          winningOutcome: 'Up',
          outcomes: [],
          units: UNITS,
          conditionId: MARKET,
          gammaMarketId: '4100200',
          native: { market_resolved: JSON.parse(RESOLVED) as object },
        },
        source: 1_791_192_916_000_000,
      },
    ],
  },
]

const REST_BOOK = `{"market":"${MARKET}","asset_id":"${UP}","timestamp":"1791192800990",
  "hash":"f0","bids":[{"price":"0.45","size":"9"}],"asks":[{"price":"0.5","size":"2.5"}],
  "min_order_size":"5","tick_size":"0.01","neg_risk":false,"last_trade_price":"0.470"}`
const REST_BOOK_EVENT = {
  kind: 'snapshot',
  instrument: UP_BOOK,
  bids: [{ price: 4500, size: 9_000_000 }],
  asks: [{ price: 5000, size: 2_500_000 }],
  source: 1_791_192_800_990_000,
}

const BOOK_ANSWERS: readonly WireCase[] = [
  {
    name: 'the book of a token',
    request: { kind: 'clob_book', token_id: UP, condition_id: MARKET },
    text: REST_BOOK,
    events: [REST_BOOK_EVENT],
  },
  {
    name: 'the book of another token than the requested one',
    request: { kind: 'clob_book', token_id: DOWN, condition_id: MARKET },
    text: REST_BOOK,
    events: [],
    error: 'invalid_message',
  },
  {
    name: 'several books, one of them without ladders',
    request: { kind: 'clob_books' },
    text: `[${REST_BOOK},{"market":"${MARKET}","asset_id":"${DOWN}"}]`,
    events: [REST_BOOK_EVENT],
    problems: [{ where: '[1]', code: 'invalid_message' }],
  },
]

const GAMMA = `"id":"4100200","question":"Bitcoin Up or Down - October 5, 5:30AM-5:35AM ET",
  "conditionId":"${MARKET}","questionID":"0x${'9c'.repeat(32)}","slug":"${SLUG}",
  "resolutionSource":"https://example.com/streams/btc-usd","startDate":"2026-10-04T09:30:00Z",
  "endDate":"2026-10-05T09:35:00Z","eventStartTime":"2026-10-05T09:30:00Z",
  "createdAt":"2026-10-04T09:30:00Z","acceptingOrdersTimestamp":"2026-10-04T09:30:00Z",
  "outcomes":"[\\"Up\\", \\"Down\\"]","clobTokenIds":"[\\"${UP}\\", \\"${DOWN}\\"]",
  "volume":"20500.250","volumeNum":20500.25,"liquidity":"310.00","archived":false,
  "umaResolutionStatuses":"[]","orderPriceMinTickSize":0.01,"orderMinSize":5,"active":true`
const OPEN_FLAGS =
  '"closed":false,"acceptingOrders":true,"outcomePrices":"[\\"0.465\\", \\"0.535\\"]"'
const LIVE = `{${GAMMA},${OPEN_FLAGS}}`
const PAUSED = `{${GAMMA},"closed":false,"acceptingOrders":false}`
const PROPOSED = `{${GAMMA},"closed":true,"acceptingOrders":false,"umaResolutionStatus":"proposed",
  "outcomePrices":"[\\"0.99\\", \\"0.01\\"]"}`
const SETTLED = `{${GAMMA},"closed":true,"acceptingOrders":false,"umaResolutionStatus":"resolved",
  "closedTime":"2026-10-05 09:45:20+00","outcomePrices":"[\\"0\\", \\"1\\"]"}`
const SPLIT = SETTLED.replace('[\\"0\\", \\"1\\"]', '[\\"0.5\\", \\"0.5\\"]')

const QUESTION = 'Bitcoin Up or Down - October 5, 5:30AM-5:35AM ET'
const SOURCE = 'https://example.com/streams/btc-usd'

function gammaRecord(market: string, changes: object): object {
  return {
    venue: 'venuec',
    marketId: MARKET,
    title: QUESTION,
    openTime: OPEN,
    closeTime: CLOSE,
    createdTime: 1_791_106_200_000_000,
    volume: '20500.25',
    liquidity: '310',
    outcomes: OUTCOMES,
    units: UNITS,
    conditionId: MARKET,
    questionId: `0x${'9c'.repeat(32)}`,
    question: QUESTION,
    gammaMarketId: '4100200',
    slug: SLUG,
    asset: 'BTC',
    window: '5m',
    native: { gamma: JSON.parse(market) as object },
    ...changes,
  }
}

const CANDIDATE = LIVE.replace('{', '{"groupItemTitle":"Smith",')
const LIVE_STATE = {
  status: 'open',
  statusNative: 'active accepting_orders',
  resolution: { state: 'none', source: SOURCE },
}

const GAMMA_ANSWERS: readonly WireCase[] = [
  {
    name: 'Gamma: a round that trades',
    request: { kind: 'gamma_market' },
    text: LIVE,
    events: [{ kind: 'market', record: gammaRecord(LIVE, LIVE_STATE) }],
  },
  {
    name: 'Gamma: a page of markets, one of them malformed',
    request: { kind: 'gamma_markets', offset: 0 },
    text: `[${LIVE},{"conditionId":12}]`,
    events: [{ kind: 'market', record: gammaRecord(LIVE, LIVE_STATE) }],
    problems: [{ where: '[1]', code: 'invalid_id' }],
  },
  {
    name: 'Gamma: a round that has stopped accepting orders before its end',
    request: { kind: 'gamma_market' },
    text: PAUSED,
    events: [
      {
        kind: 'market',
        record: gammaRecord(PAUSED, {
          status: 'paused',
          statusNative: 'active',
          resolution: { state: 'none', source: SOURCE },
        }),
      },
    ],
  },
  {
    name: 'Gamma: a proposed result, whose prices are not payouts',
    request: { kind: 'gamma_market' },
    text: PROPOSED,
    events: [
      {
        kind: 'market',
        record: gammaRecord(PROPOSED, {
          status: 'determined',
          statusNative: 'active closed proposed',
          resolution: { state: 'proposed', source: SOURCE },
        }),
      },
    ],
  },
  {
    name: 'Gamma: a resolved round',
    request: { kind: 'gamma_market' },
    text: SETTLED,
    events: [
      {
        kind: 'market',
        record: gammaRecord(SETTLED, {
          status: 'resolved',
          statusNative: 'active closed resolved',
          resolvedTime: 1_791_193_520_000_000,
          resolution: {
            state: 'final',
            source: SOURCE,
            payouts: ['0', '1'],
            times: { settled: 1_791_193_520_000_000 },
          },
          winningOutcome: 'Down',
        }),
      },
    ],
  },
  {
    name: 'Gamma: a round that pays both outcomes half',
    request: { kind: 'gamma_market' },
    text: SPLIT,
    events: [
      {
        kind: 'market',
        record: gammaRecord(SPLIT, {
          status: 'resolved',
          statusNative: 'active closed resolved',
          resolvedTime: 1_791_193_520_000_000,
          resolution: {
            state: 'final',
            source: SOURCE,
            payouts: ['0.5', '0.5'],
            times: { settled: 1_791_193_520_000_000 },
          },
        }),
      },
    ],
  },
  {
    name: 'Gamma: an event with its market inside',
    request: { kind: 'gamma_event' },
    text: `{"id":"880011","slug":"${SLUG}","ticker":"${SLUG}","title":"BTC 5m","markets":[${LIVE}]}`,
    events: [
      {
        kind: 'market',
        record: gammaRecord(LIVE, {
          ...LIVE_STATE,
          eventId: '880011',
          event: { title: 'BTC 5m', slug: SLUG },
          native: {
            gamma: JSON.parse(LIVE) as object,
            event: { id: '880011', slug: SLUG, ticker: SLUG, title: 'BTC 5m' },
          },
        }),
      },
    ],
  },
  {
    name: 'Gamma: a market of an event whose markets exclude each other, with tags',
    request: { kind: 'gamma_event' },
    text: `{"id":"880011","title":"Who?","negRisk":true,"category":"Politics","tags":[{"id":"2","label":"Politics"},
      {"id":"7"},{"id":"9","label":"US Election"}],"markets":[${CANDIDATE}]}`,
    events: [
      {
        kind: 'market',
        record: gammaRecord(CANDIDATE, {
          ...LIVE_STATE,
          eventId: '880011',
          event: { title: 'Who?', outcome: 'Smith', isExclusive: true, isNegRisk: true },
          category: 'Politics',
          tags: ['Politics', 'US Election'],
          native: {
            gamma: JSON.parse(CANDIDATE) as object,
            event: {
              id: '880011',
              title: 'Who?',
              negRisk: true,
              category: 'Politics',
              tags: [
                { id: '2', label: 'Politics' },
                { id: '7' },
                { id: '9', label: 'US Election' },
              ],
            },
          },
        }),
      },
    ],
  },
  {
    name: 'Gamma: an error in place of a market',
    request: { kind: 'gamma_market' },
    text: '{"type":"not found error","error":"id not found"}',
    events: [],
    error: 'invalid_id',
  },
]

function clob(flags: string, winner: boolean): string {
  return `{"enable_order_book":true,"active":true,${flags},"archived":false,
    "accepting_order_timestamp":"2026-10-04T09:30:00Z","minimum_order_size":5,
    "minimum_tick_size":0.01,"condition_id":"${MARKET}","question_id":"0x${'9c'.repeat(32)}",
    "question":"${QUESTION}","market_slug":"${SLUG}","end_date_iso":"2026-10-05T00:00:00Z",
    "tokens":[{"token_id":"${UP}","outcome":"Up","price":0.465,"winner":${winner}},
    {"token_id":"${DOWN}","outcome":"Down","price":0.535,"winner":false}]}`
}
const CLOB_LIVE = clob('"closed":false,"accepting_orders":true', false)
const CLOB_WON = clob('"closed":true,"accepting_orders":true', true)
const COMPACT = `{"c":"${MARKET}","t":[{"t":"${UP}","o":"Up"},{"t":"${DOWN}","o":"Down"}],
  "mts":0.01,"mos":5,"mbf":1000,"tbf":1000,"fd":{"r":0.07,"e":1,"to":true},"nr":false,"ao":true}`

const CLOB_RECORD = {
  venue: 'venuec',
  marketId: MARKET,
  title: QUESTION,
  openTime: OPEN,
  outcomes: OUTCOMES,
  units: UNITS,
  conditionId: MARKET,
  questionId: `0x${'9c'.repeat(32)}`,
  question: QUESTION,
  slug: SLUG,
  asset: 'BTC',
  window: '5m',
}

const CLOB_ANSWERS: readonly WireCase[] = [
  {
    name: 'CLOB: a page of markets',
    request: { kind: 'clob_markets' },
    text: `{"data":[${CLOB_LIVE}],"next_cursor":"LTE=","limit":100,"count":1}`,
    events: [
      {
        kind: 'market',
        record: {
          ...CLOB_RECORD,
          status: 'open',
          statusNative: 'active accepting_orders',
          native: { clob: JSON.parse(CLOB_LIVE) as object },
        },
      },
    ],
  },
  {
    name: 'CLOB: a closed market with its winner, though it still says accepting orders',
    request: { kind: 'clob_market', condition_id: MARKET },
    text: CLOB_WON,
    events: [
      {
        kind: 'market',
        record: {
          ...CLOB_RECORD,
          status: 'resolved',
          statusNative: 'active accepting_orders closed resolved',
          resolution: { state: 'final', payouts: ['1', '0'] },
          winningOutcome: 'Up',
          native: { clob: JSON.parse(CLOB_WON) as object },
        },
      },
    ],
  },
  {
    name: 'CLOB: the compact form',
    request: { kind: 'clob_market', condition_id: MARKET },
    text: COMPACT,
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venuec',
          marketId: MARKET,
          outcomes: OUTCOMES,
          units: UNITS,
          conditionId: MARKET,
          native: { clob_info: JSON.parse(COMPACT) as object },
        },
      },
    ],
  },
]

/** All cases of venue C. */
export const VENUE_C_CASES: readonly WireCase[] = [
  ...BOOK_FRAMES,
  ...TRADE_FRAMES,
  ...ANNOUNCEMENTS,
  ...BOOK_ANSWERS,
  ...GAMMA_ANSWERS,
  ...CLOB_ANSWERS,
]
