import type { WireCase } from '../capture/wire.testing.ts'

/** Frames and answers of venue B, one of each kind, with the events that they must give. */

const KEY = 'KXBTC15M-26OCT050945-45'
const INSTRUMENT = { venue: 'venueb', market: KEY, key: KEY }
const UUID = '5a0c1d2e-0000-4000-9000-00000000c0de'
const OUTCOMES = [
  { label: 'Yes', index: 0 },
  { label: 'No', index: 1 },
]
const UNITS = {
  priceUnit: 'USD per contract',
  sizeUnit: 'contracts',
  volumeUnit: 'contracts',
  collateral: 'USD',
}

// Prices are ticks of 0.0001 dollar and sizes hundredths of a contract; times are microseconds.
const OPEN = 1_791_192_600_000_000
const CLOSE = 1_791_193_500_000_000

const BOOK_FRAMES: readonly WireCase[] = [
  {
    name: 'a full book: no bids are asks at 1 − price, in the order sent',
    text: `{"type":"orderbook_snapshot","sid":2,"seq":1,"msg":{"market_ticker":"${KEY}",
      "market_id":"${UUID}","yes_dollars_fp":[["0.0300","815.00"],["0.4700","26.75"]],
      "no_dollars_fp":[["0.0500","4000.00"],["0.5200","9.10"]]}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [
          { price: 300, size: 81_500 },
          { price: 4700, size: 2675 },
        ],
        asks: [
          { price: 9500, size: 400_000 },
          { price: 4800, size: 910 },
        ],
        venueSeq: 1,
        channel: 2,
      },
    ],
  },
  {
    name: 'a full book without the key of an empty side',
    text: `{"type":"orderbook_snapshot","sid":2,"seq":88,"msg":{"market_ticker":"${KEY}",
      "market_id":"${UUID}","no_dollars_fp":[["0.9900","12.00"]]}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [],
        asks: [{ price: 100, size: 1200 }],
        venueSeq: 88,
        channel: 2,
      },
    ],
  },
  {
    name: 'the empty book after the close',
    text: `{"type":"orderbook_snapshot","sid":2,"seq":9031,"msg":{"market_ticker":"${KEY}",
      "market_id":"${UUID}"}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [],
        asks: [],
        venueSeq: 9031,
        channel: 2,
      },
    ],
  },
  {
    name: 'a full book that answers get_snapshot',
    text: `{"type":"orderbook_snapshot","id":17,"sid":2,"seq":204,"msg":{"market_ticker":"${KEY}",
      "market_id":"${UUID}","yes_dollars_fp":[["0.4800","1.00"]],"no_dollars_fp":[]}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [{ price: 4800, size: 100 }],
        asks: [],
        venueSeq: 204,
        channel: 2,
      },
    ],
  },
  {
    name: 'a full book of the old form, whole cents and whole counts',
    text: `{"type":"orderbook_snapshot","sid":1,"seq":2,"msg":{"market_ticker":"${KEY}",
      "yes":[[7,310],[31,45]],"no":[[60,22]]}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [
          { price: 700, size: 31_000 },
          { price: 3100, size: 4500 },
        ],
        asks: [{ price: 4000, size: 2200 }],
        venueSeq: 2,
        channel: 1,
      },
    ],
  },
  {
    name: 'a change of a yes bid with the microseconds of ts',
    text: `{"type":"orderbook_delta","sid":2,"seq":89,"msg":{"market_ticker":"${KEY}",
      "market_id":"${UUID}","price_dollars":"0.4710","delta_fp":"150.25","side":"yes",
      "ts":"2026-10-05T09:32:10.004217Z","ts_ms":1791192730004}}`,
    events: [
      {
        kind: 'change',
        instrument: INSTRUMENT,
        changes: [{ side: 'bid', price: 4710, size: 15_025 }],
        signed: true,
        source: 1_791_192_730_004_217,
        venueSeq: 89,
        channel: 2,
      },
    ],
  },
  {
    name: 'a change of a no bid, which is an ask at 1 − price, with ts_ms alone',
    text: `{"type":"orderbook_delta","sid":2,"seq":90,"msg":{"market_ticker":"${KEY}",
      "market_id":"${UUID}","price_dollars":"0.5200","delta_fp":"-9.10","side":"no",
      "ts_ms":1791192730019}}`,
    events: [
      {
        kind: 'change',
        instrument: INSTRUMENT,
        changes: [{ side: 'ask', price: 4800, size: -910 }],
        signed: true,
        source: 1_791_192_730_019_000,
        venueSeq: 90,
        channel: 2,
      },
    ],
  },
  {
    name: 'a change of the old form, without a time',
    text: `{"type":"orderbook_delta","sid":1,"seq":3,"msg":{"market_ticker":"${KEY}","price":31,
      "delta":-45,"side":"yes"}}`,
    events: [
      {
        kind: 'change',
        instrument: INSTRUMENT,
        changes: [{ side: 'bid', price: 3100, size: -4500 }],
        signed: true,
        venueSeq: 3,
        channel: 1,
      },
    ],
  },
  {
    name: 'a change of a side that does not exist',
    text: `{"type":"orderbook_delta","sid":2,"seq":91,"msg":{"market_ticker":"${KEY}",
      "price_dollars":"0.5200","delta_fp":"1.00","side":"maybe"}}`,
    events: [],
    error: 'invalid_message',
  },
]

const TRADE_FRAMES: readonly WireCase[] = [
  {
    name: 'a trade whose taker bought yes',
    text: `{"type":"trade","sid":3,"seq":11,"msg":{"trade_id":"7d1f0c7e-0000-4000-9000-0000000000a1",
      "market_ticker":"${KEY}","yes_price_dollars":"0.4800","no_price_dollars":"0.5200",
      "count_fp":"9.10","taker_side":"yes","taker_outcome_side":"yes","taker_book_side":"bid",
      "ts":1791192730,"ts_ms":1791192730021}}`,
    events: [
      {
        kind: 'trade',
        instrument: INSTRUMENT,
        tradeId: '7d1f0c7e-0000-4000-9000-0000000000a1',
        price: 4800,
        size: 910,
        source: 1_791_192_730_021_000,
        venueSeq: 11,
        channel: 3,
        taker: 'buy',
        native: {
          taker_side: 'yes',
          taker_outcome_side: 'yes',
          taker_book_side: 'bid',
          yes_price_dollars: '0.4800',
          no_price_dollars: '0.5200',
          count_fp: '9.10',
        },
      },
    ],
  },
  {
    name: 'a block trade whose taker is named by its side of the book',
    text: `{"type":"trade","sid":3,"seq":12,"msg":{"trade_id":"7d1f0c7e-0000-4000-9000-0000000000a2",
      "market_ticker":"${KEY}","yes_price_dollars":"0.4650","no_price_dollars":"0.5350",
      "count_fp":"25000.00","taker_book_side":"ask","is_block_trade":true,"ts_ms":1791192731500}}`,
    events: [
      {
        kind: 'trade',
        instrument: INSTRUMENT,
        tradeId: '7d1f0c7e-0000-4000-9000-0000000000a2',
        price: 4650,
        size: 2_500_000,
        source: 1_791_192_731_500_000,
        venueSeq: 12,
        channel: 3,
        taker: 'sell',
        native: {
          taker_book_side: 'ask',
          is_block_trade: true,
          yes_price_dollars: '0.4650',
          no_price_dollars: '0.5350',
          count_fp: '25000.00',
        },
      },
    ],
  },
  {
    name: 'a trade of the old form: cents, whole counts, seconds, no seq',
    text: `{"type":"trade","sid":3,"msg":{"trade_id":"old-1","market_ticker":"${KEY}","yes_price":31,
      "no_price":69,"count":4,"taker_side":"no","ts":1791192730}}`,
    events: [
      {
        kind: 'trade',
        instrument: INSTRUMENT,
        tradeId: 'old-1',
        price: 3100,
        size: 400,
        source: 1_791_192_730_000_000,
        channel: 3,
        taker: 'sell',
        native: { taker_side: 'no', yes_price: 31, no_price: 69, count: 4 },
      },
    ],
  },
  {
    name: 'a trade whose two prices do not add up to 1',
    text: `{"type":"trade","sid":3,"seq":13,"msg":{"trade_id":"bad-1","market_ticker":"${KEY}",
      "yes_price_dollars":"0.4800","no_price_dollars":"0.5300","count_fp":"1.00"}}`,
    events: [],
    error: 'invalid_message',
  },
]

const CONTROL_FRAMES: readonly WireCase[] = [
  {
    name: 'subscribed',
    text: '{"id":1,"type":"subscribed","msg":{"channel":"orderbook_delta","sid":2}}',
    events: [],
  },
  {
    name: 'ok with the full list of markets',
    text: `{"id":4,"type":"ok","sid":2,"seq":92,"msg":{"market_tickers":["${KEY}"]}}`,
    events: [],
  },
  { name: 'unsubscribed', text: '{"id":6,"type":"unsubscribed","sid":2,"seq":93}', events: [] },
  {
    name: 'an error answer',
    text: '{"id":9,"type":"error","msg":{"code":26,"msg":"market limit reached"}}',
    events: [],
  },
  {
    name: 'a ticker, which is not recorded',
    text: `{"type":"ticker","sid":8,"msg":{"market_ticker":"${KEY}","market_id":"${UUID}",
      "price_dollars":"0.4800","yes_bid_dollars":"0.4700","yes_ask_dollars":"0.4900",
      "volume_fp":"1200.00","open_interest_fp":"700.00","dollar_volume":600,"ts":1791192730}}`,
    events: [],
  },
  {
    name: 'an event lifecycle message',
    text: `{"type":"event_lifecycle","sid":5,"seq":4,"msg":{"event_ticker":"KXBTC15M-26OCT051000",
      "title":"BTC 15 min","series_ticker":"KXBTC15M"}}`,
    events: [],
  },
  {
    name: 'a fee update of an event',
    text: `{"type":"event_fee_update","sid":5,"seq":5,"msg":{"event_ticker":"KXBTC15M-26OCT051000",
      "fee_type":"quadratic","fee_multiplier":0.5}}`,
    events: [],
  },
  {
    name: 'a type that the venue does not document',
    text: '{"type":"orderbook_delta_v9","sid":2,"seq":94,"msg":{}}',
    events: [],
    error: 'unknown_event',
  },
]

/** A lifecycle message of the market, and the record that it must give. */
// What the ticker says.
const NAMED = {
  seriesTicker: 'KXBTC15M',
  eventTicker: 'KXBTC15M-26OCT050945',
  asset: 'BTC',
  window: '15m',
}

function lifecycle(name: string, seq: number, fields: string, record: object): WireCase {
  const msg = `{"market_ticker":"${KEY}",${fields}}`
  return {
    name: `lifecycle: ${name}`,
    text: `{"type":"market_lifecycle_v2","sid":5,"seq":${seq},"msg":${msg}}`,
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venueb',
          marketId: KEY,
          ...NAMED,
          outcomes: OUTCOMES,
          units: UNITS,
          native: { lifecycle: JSON.parse(msg) as object },
          ...record,
        },
        venueSeq: seq,
        channel: 5,
      },
    ],
  }
}

const LIFECYCLE_FRAMES: readonly WireCase[] = [
  lifecycle(
    'created',
    6,
    `"event_type":"created","open_ts":1791192600,"close_ts":1791193500,
     "additional_metadata":{"name":"BTC","title":"BTC price up in next 15 mins?",
     "yes_sub_title":"Up","event_ticker":"KXBTC15M-26OCT050945","floor_strike":61250.5}`,
    {
      title: 'BTC price up in next 15 mins?',
      status: 'scheduled',
      statusNative: 'initialized',
      openTime: OPEN,
      closeTime: CLOSE,
      resolution: { state: 'none' },
      strike: '61250.5',
    },
  ),
  lifecycle('activated', 7, '"event_type":"activated","is_deactivated":false', {
    status: 'open',
    statusNative: 'active',
    resolution: { state: 'none' },
  }),
  lifecycle('deactivated', 8, '"event_type":"deactivated","is_deactivated":true', {
    status: 'paused',
    statusNative: 'inactive',
    resolution: { state: 'none' },
  }),
  lifecycle('a moved closing time', 9, '"event_type":"close_date_updated","close_ts":1791193800', {
    closeTime: 1_791_193_800_000_000,
  }),
  lifecycle(
    'determined',
    10,
    '"event_type":"determined","result":"yes","determination_ts":1791193507,"settlement_value":"1.0000"',
    {
      status: 'determined',
      statusNative: 'determined',
      resolution: {
        state: 'proposed',
        payouts: ['1', '0'],
        times: { determined: 1_791_193_507_000_000 },
      },
      winningOutcome: 'Yes',
      settlement: { result: 'yes', value: '1', determinedTime: 1_791_193_507_000_000 },
    },
  ),
  lifecycle('settled', 11, '"event_type":"settled","settled_ts":1791193520', {
    status: 'resolved',
    statusNative: 'finalized',
    resolvedTime: 1_791_193_520_000_000,
    resolution: { state: 'final', times: { settled: 1_791_193_520_000_000 } },
    settlement: { settledTime: 1_791_193_520_000_000 },
  }),
]

const BOOK_ANSWERS: readonly WireCase[] = [
  {
    name: 'the book of one market',
    request: { kind: 'orderbook', ticker: KEY, depth: 0 },
    text: `{"orderbook_fp":{"yes_dollars":[["0.0900","51.40"],["0.4700","26.75"]],
      "no_dollars":[["0.5100","3.00"]]}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [
          { price: 900, size: 5140 },
          { price: 4700, size: 2675 },
        ],
        asks: [{ price: 4900, size: 300 }],
      },
    ],
  },
  {
    name: 'a book that reaches the requested depth, flagged as truncated',
    request: { kind: 'orderbook', ticker: KEY, depth: 1 },
    text: '{"orderbook_fp":{"yes_dollars":[["0.4700","26.75"]],"no_dollars":[]}}',
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [{ price: 4700, size: 2675 }],
        asks: [],
        flags: 32,
      },
    ],
  },
  {
    name: 'a book of the form until spring 2026, with dollars beside cents and a null side',
    request: { kind: 'orderbook', ticker: KEY, depth: 0 },
    text: `{"orderbook":{"yes":[[9,51]],"no":null,"yes_dollars":[["0.0900",51]],
      "no_dollars":null}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [{ price: 900, size: 5100 }],
        asks: [],
      },
    ],
  },
  {
    name: 'a book of the demo exchange of 2024',
    request: { kind: 'orderbook', ticker: KEY, depth: 0 },
    text: '{"_yes":[[12,5]],"_no":[[80,7]]}',
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [{ price: 1200, size: 500 }],
        asks: [{ price: 2000, size: 700 }],
      },
    ],
  },
  {
    name: 'several books, one of them malformed',
    request: { kind: 'orderbooks', tickers: [KEY, 'KXETH15M-26OCT050945-45'], depth: 0 },
    text: `{"orderbooks":[{"ticker":"${KEY}","orderbook_fp":{"yes_dollars":[],
      "no_dollars":[["0.5000","2.00"]]}},{"ticker":"KXETH15M-26OCT050945-45",
      "orderbook_fp":{"yes_dollars":[["0.5000"]],"no_dollars":[]}}]}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [],
        asks: [{ price: 5000, size: 200 }],
      },
    ],
    problems: [{ where: 'orderbooks[1]', code: 'invalid_message' }],
  },
  {
    name: 'a page of trades, newest first on the wire',
    request: { kind: 'trades', ticker: KEY, min_ts: 1_791_192_600 },
    text: `{"cursor":"next","trades":[{"trade_id":"t-2","ticker":"${KEY}","count_fp":"2.50",
      "yes_price_dollars":"0.4700","no_price_dollars":"0.5300","taker_side":"no",
      "created_time":"2026-10-05T09:32:10.25Z"},{"trade_id":"t-1","ticker":"${KEY}",
      "count_fp":"1.00","yes_price_dollars":"0.4600","no_price_dollars":"0.5400",
      "taker_outcome_side":"yes","created_time":"2026-10-05T09:30:00Z"}]}`,
    events: [
      {
        kind: 'trade',
        instrument: INSTRUMENT,
        tradeId: 't-1',
        price: 4600,
        size: 100,
        source: OPEN,
        taker: 'buy',
        native: {
          taker_outcome_side: 'yes',
          yes_price_dollars: '0.4600',
          no_price_dollars: '0.5400',
          count_fp: '1.00',
        },
      },
      {
        kind: 'trade',
        instrument: INSTRUMENT,
        tradeId: 't-2',
        price: 4700,
        size: 250,
        source: 1_791_192_730_250_000,
        taker: 'sell',
        native: {
          taker_side: 'no',
          yes_price_dollars: '0.4700',
          no_price_dollars: '0.5300',
          count_fp: '2.50',
        },
      },
    ],
  },
]

const ACTIVE = `{"ticker":"${KEY}","event_ticker":"KXBTC15M-26OCT050945","market_type":"binary",
  "title":"BTC price up in next 15 mins?","yes_sub_title":"Target: $61,250.50","status":"active",
  "created_time":"2026-10-04T09:30:00Z","open_time":"2026-10-05T09:30:00Z",
  "close_time":"2026-10-05T09:45:00Z","latest_expiration_time":"2026-10-12T09:45:00Z",
  "updated_time":"0001-01-01T00:00:00Z","result":"","expiration_value":"",
  "yes_bid_dollars":"0.4700","yes_ask_dollars":"0.4900","volume_fp":"1203.50",
  "liquidity_dollars":"0.0000","floor_strike":61250.5,"price_level_structure":"linear_cent",
  "price_ranges":[{"start":"0.0000","end":"1.0000","step":"0.0100"}]}`
const FINALIZED = ACTIVE.replace('"status":"active"', '"status":"finalized"')
  .replace('"result":""', '"result":"no"')
  .replace('"expiration_value":""', '"expiration_value":"61200.12"')
  .replace(
    '"volume_fp"',
    '"settlement_value_dollars":"0.0000","settlement_ts":"2026-10-05T09:45:07Z","volume_fp"',
  )
const EVENT = `"event_ticker":"KXBTC15M-26OCT050945","series_ticker":"KXBTC15M","title":"BTC 15 min",
  "sub_title":"Oct 5","mutually_exclusive":false,
  "settlement_sources":[{"name":"CF Benchmarks","url":"https://example.com/brti"}]`

const ACTIVE_RECORD = {
  venue: 'venueb',
  marketId: KEY,
  title: 'BTC price up in next 15 mins?',
  status: 'open',
  statusNative: 'active',
  openTime: OPEN,
  closeTime: CLOSE,
  createdTime: 1_791_106_200_000_000,
  resolution: { state: 'none', reference: { startPrice: '61250.5' } },
  volume: '1203.5',
  liquidity: '0',
  outcomes: OUTCOMES,
  units: UNITS,
  ...NAMED,
  strike: '61250.5',
  event: { outcome: 'Target: $61,250.50' },
  settlement: {},
  native: { market: JSON.parse(ACTIVE) as object },
}
const WHOLE_EVENT = { ...ACTIVE_RECORD.event, title: 'BTC 15 min', isExclusive: false }

const CATALOG_ANSWERS: readonly WireCase[] = [
  {
    name: 'a market that trades',
    request: { kind: 'market', ticker: KEY },
    text: `{"market":${ACTIVE}}`,
    events: [{ kind: 'market', record: ACTIVE_RECORD }],
  },
  {
    name: 'a page of markets of a series with its fees, one of them malformed',
    request: {
      kind: 'markets',
      series: 'KXBTC15M',
      status: 'open',
      fees: { fee_type: 'quadratic', fee_multiplier: 0.5 },
    },
    text: `{"cursor":"","markets":[${ACTIVE},{"ticker":7}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...ACTIVE_RECORD,
          seriesTicker: 'KXBTC15M',
          native: {
            market: JSON.parse(ACTIVE) as object,
            series: { fee_type: 'quadratic', fee_multiplier: 0.5 },
          },
        },
      },
    ],
    problems: [{ where: 'markets[1]', code: 'invalid_id' }],
  },
  {
    name: 'a page of events of many series, with what their series say',
    request: {
      kind: 'events',
      status: 'open',
      facts: {
        KXBTC15M: { fee_type: 'quadratic', fee_multiplier: 0.5, category: 'Crypto', tags: ['BTC'] },
        KXOTHER: { category: 'Sports' },
      },
    },
    text: `{"cursor":"","events":[{${EVENT},"markets":[${ACTIVE}]}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...ACTIVE_RECORD,
          resolution: {
            state: 'none',
            source: 'CF Benchmarks',
            reference: { feed: 'CF Benchmarks', startPrice: '61250.5' },
          },
          seriesTicker: 'KXBTC15M',
          event: WHOLE_EVENT,
          category: 'Crypto',
          tags: ['BTC'],
          native: {
            market: JSON.parse(ACTIVE) as object,
            event: JSON.parse(`{${EVENT}}`) as object,
            series: { fee_type: 'quadratic', fee_multiplier: 0.5 },
          },
        },
      },
    ],
  },
  {
    name: 'an event with its settled market beside it',
    request: { kind: 'event', ticker: 'KXBTC15M-26OCT050945' },
    text: `{"event":{${EVENT}},"markets":[${FINALIZED}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...ACTIVE_RECORD,
          status: 'resolved',
          statusNative: 'finalized',
          resolvedTime: 1_791_193_507_000_000,
          resolution: {
            state: 'final',
            source: 'CF Benchmarks',
            reference: { feed: 'CF Benchmarks', startPrice: '61250.5', endPrice: '61200.12' },
            payouts: ['0', '1'],
            times: { settled: 1_791_193_507_000_000 },
          },
          winningOutcome: 'No',
          seriesTicker: 'KXBTC15M',
          event: WHOLE_EVENT,
          settlement: {
            result: 'no',
            value: '0',
            settledTime: 1_791_193_507_000_000,
            expirationValue: '61200.12',
          },
          native: {
            market: JSON.parse(FINALIZED) as object,
            event: JSON.parse(`{${EVENT}}`) as object,
          },
        },
      },
    ],
  },
  {
    name: 'a page of events with nested markets',
    request: { kind: 'events', series: 'KXBTC15M', status: 'open' },
    text: `{"cursor":"","events":[{${EVENT},"markets":[${ACTIVE}]}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...ACTIVE_RECORD,
          resolution: {
            state: 'none',
            source: 'CF Benchmarks',
            reference: { feed: 'CF Benchmarks', startPrice: '61250.5' },
          },
          seriesTicker: 'KXBTC15M',
          event: WHOLE_EVENT,
          native: {
            market: JSON.parse(ACTIVE) as object,
            event: JSON.parse(`{${EVENT}}`) as object,
          },
        },
      },
    ],
  },
  {
    name: 'a market of the demo exchange of 2024',
    request: { kind: 'markets' },
    text: `{"markets":[{"_ticker":"OLDRATE-30-T4","_event_ticker":"OLDRATE-30","_title":"Rate?",
      "_status":"inactive","_open_time":"2024-06-01T00:00:00Z","_close_time":"2031-01-01T00:00:00Z",
      "_result":"","_liquidity":40250,"_volume":12}]}`,
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venueb',
          marketId: 'OLDRATE-30-T4',
          title: 'Rate?',
          status: 'paused',
          statusNative: 'inactive',
          openTime: 1_717_200_000_000_000,
          closeTime: 1_924_992_000_000_000,
          resolution: { state: 'none' },
          volume: '12',
          liquidity: '402.5',
          outcomes: OUTCOMES,
          units: UNITS,
          eventTicker: 'OLDRATE-30',
          seriesTicker: 'OLDRATE',
          strike: '4',
          settlement: {},
          native: {
            market: {
              _ticker: 'OLDRATE-30-T4',
              _event_ticker: 'OLDRATE-30',
              _title: 'Rate?',
              _status: 'inactive',
              _open_time: '2024-06-01T00:00:00Z',
              _close_time: '2031-01-01T00:00:00Z',
              _result: '',
              _liquidity: 40_250,
              _volume: 12,
            },
          },
        },
      },
    ],
  },
  {
    name: 'a series, which is journaled for its fees alone',
    request: { kind: 'series', series: 'KXBTC15M' },
    text: `{"series":{"ticker":"KXBTC15M","title":"BTC 15 min","frequency":"fifteen_min",
      "fee_type":"quadratic","fee_multiplier":0.5,"tags":["BTC"]}}`,
    events: [],
  },
  {
    name: 'the list of all series, which is journaled for what it says of them',
    request: { kind: 'all_series' },
    text: `{"series":[{"ticker":"KXBTC15M","category":"Crypto","tags":["BTC"]}]}`,
    events: [],
  },
]

/** All cases of venue B. */
export const VENUE_B_CASES: readonly WireCase[] = [
  ...BOOK_FRAMES,
  ...TRADE_FRAMES,
  ...CONTROL_FRAMES,
  ...LIFECYCLE_FRAMES,
  ...BOOK_ANSWERS,
  ...CATALOG_ANSWERS,
]
