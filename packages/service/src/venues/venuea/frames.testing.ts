import type { WireCase } from '../capture/wire.testing.ts'
import { CHAIN_CASES } from './chain/chain.testing.ts'

/** Frames and answers of venue A, one of each kind, with the events that they must give. */

const MARKET = '9100417'
const TOPIC = '6200031'
const UP = '70707070111122223333444455556666777788889999000011112222333344445555000000000001'
const DOWN = '70707070111122223333444455556666777788889999000011112222333344445555000000000002'
const INSTRUMENT = { venue: 'venuea', market: MARKET, key: MARKET }
const UNITS = {
  priceUnit: 'USDT per share',
  sizeUnit: 'shares',
  volumeUnit: 'USDT',
  collateral: 'USDT',
}

// Prices are ticks of 0.0001 and sizes units of 10^−8 share; times are microseconds.
const OPEN = 1_793_642_400_000_000
const CLOSE = 1_793_643_300_000_000

/** A frame of the Binance socket: `data` is JSON text inside the JSON. */
function push(data: string, topic = `web3_prediction_orderbook_${MARKET}`): string {
  return JSON.stringify({ type: 'TOPIC', topic, data })
}

const BINANCE_FRAMES: readonly WireCase[] = [
  {
    name: 'a full book, best first',
    text: push(`{"msgType":"orderbook","marketId":${MARKET},"updateTimestampMs":1793642471320,
      "asks":[["0.44","310"],["0.45","1500.25"]],"bids":[["0.43","90.00000001"]]}`),
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [{ price: 430_000, size: 9_000_000_001 }],
        asks: [
          { price: 440_000, size: 31_000_000_000 },
          { price: 450_000, size: 150_025_000_000 },
        ],
        source: 1_793_642_471_320_000,
      },
    ],
  },
  {
    name: 'a book with an empty side',
    text: push(`{"msgType":"orderbook","marketId":${MARKET},"updateTimestampMs":1793642471500,
      "asks":[],"bids":[["0.999","1"]]}`),
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [{ price: 999_000, size: 100_000_000 }],
        asks: [],
        source: 1_793_642_471_500_000,
      },
    ],
  },
  {
    name: 'a book of the topic of all active markets',
    text: push(
      `{"msgType":"orderbook","marketId":${MARKET},"updateTimestampMs":1793642471900,
        "asks":[["0.5","2"]],"bids":null}`,
      'web3_prediction_orderbook_data',
    ),
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [],
        asks: [{ price: 500_000, size: 200_000_000 }],
        source: 1_793_642_471_900_000,
      },
    ],
  },
  {
    name: 'a book without a time',
    text: push(`{"marketId":${MARKET},"asks":[],"bids":[]}`),
    events: [{ kind: 'snapshot', instrument: INSTRUMENT, bids: [], asks: [] }],
  },
  {
    name: 'a book of another market than its topic',
    text: push('{"msgType":"orderbook","marketId":9100418,"asks":[],"bids":[]}'),
    events: [],
    error: 'invalid_message',
  },
  {
    name: 'an error in place of a book',
    text: push(`{"msgType":"orderbook","marketId":${MARKET},"error":"unavailable"}`),
    events: [],
    error: 'invalid_message',
  },
  {
    name: 'a book whose data is not JSON',
    text: push('{"msgType":'),
    events: [],
    error: 'invalid_message',
  },
  {
    name: 'the answer to a command',
    text: '{"type":"COMMAND","subType":"SUBSCRIBE","data":"SUCCESS","code":"00000000"}',
    events: [],
  },
  { name: 'a heartbeat of the gateway', text: '{"type":"HEARTBEAT"}', events: [] },
  {
    name: 'a topic that is not documented',
    text: '{"type":"TOPIC","topic":"web3_prediction_trades_1","data":"{}"}',
    events: [],
    error: 'unknown_event',
  },
]

const PREDICT = { venue: 'venuea', market: '480077', key: '480077' }

const PREDICT_FRAMES: readonly WireCase[] = [
  {
    name: 'a book of Predict.fun, numbers instead of text',
    text: `{"type":"M","topic":"predictOrderbook/480077","data":{"marketId":480077,
      "updateTimestampMs":1793642471250.0,"asks":[[0.61,40.5]],"bids":[[0.6,12],[0.58,3.125]],
      "lastOrderSettled":{"id":"5","price":"0.6","side":"Ask"},"version":3,
      "settlementsPending":{"asks":[],"bids":[]}}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: PREDICT,
        bids: [
          { price: 600_000, size: 1_200_000_000 },
          { price: 580_000, size: 312_500_000 },
        ],
        asks: [{ price: 610_000, size: 4_050_000_000 }],
        source: 1_793_642_471_250_000,
      },
    ],
  },
  {
    name: 'the heartbeat of Predict.fun',
    text: '{"type":"M","topic":"heartbeat","data":1793642471250}',
    events: [],
  },
  {
    name: 'the answer to a request of Predict.fun',
    text: '{"type":"R","requestId":1,"success":true}',
    events: [],
  },
  {
    name: 'a trading status of Predict.fun',
    text: '{"type":"M","topic":"predictTradingStatus/480077","data":{"status":"OPEN"}}',
    events: [],
  },
]

const BOOK_REQUEST = { kind: 'book', market_id: MARKET, token_id: UP, outcome_index: 0 }
const TRADE_REQUEST = { kind: 'last_trade', market_id: MARKET, token_id: UP }

const BOOK_ANSWERS: readonly WireCase[] = [
  {
    name: 'the book of outcome 0',
    request: BOOK_REQUEST,
    text: `{"outcome":"Up","tokenId":"${UP}","timestamp":1793642480777,
      "bids":[{"price":"0.43","size":"90"},{"price":"0.4","size":"12.5"}],
      "asks":[{"price":"0.44","size":"310.12345678"}]}`,
    events: [
      {
        kind: 'snapshot',
        instrument: INSTRUMENT,
        bids: [
          { price: 430_000, size: 9_000_000_000 },
          { price: 400_000, size: 1_250_000_000 },
        ],
        asks: [{ price: 440_000, size: 31_012_345_678 }],
        source: 1_793_642_480_777_000,
      },
    ],
  },
  {
    name: 'the book of another token than the requested one',
    request: BOOK_REQUEST,
    text: `{"outcome":"Down","tokenId":"${DOWN}","timestamp":1793642480777,"bids":[],"asks":[]}`,
    events: [],
    error: 'invalid_message',
  },
  {
    name: 'a level of size zero',
    request: BOOK_REQUEST,
    text: `{"tokenId":"${UP}","timestamp":1793642480777,"bids":[{"price":"0.43","size":"0"}],
      "asks":[]}`,
    events: [],
    error: 'invalid_message',
  },
  {
    name: 'the price of the last trade',
    request: TRADE_REQUEST,
    text: `{"marketId":${MARKET},"lastTradePrice":"0.4350"}`,
    events: [
      {
        kind: 'sample',
        instrument: { venue: 'venuea', market: MARKET, key: UP },
        metric: 'last_trade',
        value: '0.435',
      },
    ],
  },
  {
    name: 'no price before the first trade',
    request: TRADE_REQUEST,
    text: `{"marketId":${MARKET},"lastTradePrice":null}`,
    events: [],
  },
  {
    name: 'a book of Predict.fun by REST',
    request: { kind: 'predict_book', market_id: '480077' },
    text: `{"success":true,"data":{"marketId":480077,"updateTimestampMs":1793642490001,
      "asks":[[0.61,1]],"bids":[]}}`,
    events: [
      {
        kind: 'snapshot',
        instrument: PREDICT,
        bids: [],
        asks: [{ price: 610_000, size: 100_000_000 }],
        source: 1_793_642_490_001_000,
      },
    ],
  },
  {
    name: 'the list of categories, which is not recorded',
    request: { kind: 'categories' },
    text: '{"categories":[{"id":1,"name":"Crypto","icon":"","order":1,"subcategories":[]}]}',
    events: [],
  },
]

const OWN = `"marketTopicId":${TOPIC},"vendor":"PREDICT_FUN","chainId":"56",
  "slug":"btc-updown-15m-1793642400","title":"BTC Up or Down 15m","question":"Will BTC rise?",
  "topicType":"FLAT","chartType":"CRYPTO_UP_DOWN","symbol":"BTCUSDT","participantCount":57,
  "collateral":"USDT","feeRateBps":200,"isYieldBearing":true,"isNegRisk":false,
  "tradeVolume":"880.40","liquidity":"120.00","publishedAt":1793556000000,
  "startDate":1793642400000,"endDate":1793643300000,"status":"REGISTERED"`
const DETAILS = `${OWN},"variantData":{"type":"CRYPTO_UP_DOWN","startPrice":"61250.50",
  "endPrice":null,"priceFeedId":"f-1","priceFeedProvider":"CHAINLINK","priceFeedSymbol":"BTCUSDT"},
  "timeline":[{"marketTopicId":6200030,"startDate":1793641500000,"endDate":1793642400000}]`
const MARKET_FIELDS = `"marketId":${MARKET},"externalId":"480077","title":"Up or Down",
  "conditionId":"0xc0","decimalPrecision":2,"tradeVolume":"880.40","liquidity":"120.00"`
const LIVE = `{${MARKET_FIELDS},"status":"REGISTERED","tradingStatus":"OPEN","outcomes":[
  {"name":"Up","price":"0.4400","chance":"0.435","index":0,"tokenId":"${UP}"},
  {"name":"Down","price":"0.5600","chance":"0.565","index":1,"tokenId":"${DOWN}"}]}`
/** The market after its end; the status of the venue lags behind the winner. */
const WON = `{${MARKET_FIELDS},"status":"REGISTERED","tradingStatus":"CLOSED","outcomes":[
  {"name":"Up","index":0,"tokenId":"${UP}","winner":false},
  {"name":"Down","index":1,"tokenId":"${DOWN}","winner":true}]}`
const TIED = `{${MARKET_FIELDS},"status":"RESOLVED","tradingStatus":"CLOSED","outcomes":[
  {"name":"Up","index":0,"tokenId":"${UP}","winner":false},
  {"name":"Down","index":1,"tokenId":"${DOWN}","winner":false}]}`

const RECORD = {
  venue: 'venuea',
  marketId: MARKET,
  title: 'BTC Up or Down 15m',
  openTime: OPEN,
  closeTime: CLOSE,
  createdTime: 1_793_556_000_000_000,
  volume: '880.4',
  liquidity: '120',
  participantCount: 57,
  outcomes: [
    { label: 'Up', index: 0, tokenId: UP, externalId: '480077' },
    { label: 'Down', index: 1, tokenId: DOWN, externalId: '480077' },
  ],
  units: UNITS,
  topicId: TOPIC,
  conditionId: '0xc0',
  question: 'Will BTC rise?',
  slug: 'btc-updown-15m-1793642400',
  asset: 'BTC',
  window: '15m',
  chain: '56',
  // Yield bearing and not neg-risk.
  exchangeContract: '0x6bEb5a40C032AFc305961162d8204CDA16DECFa5',
  exchange: { isNegRisk: false, isYieldBearing: true },
}

const LIVE_RECORD = {
  ...RECORD,
  status: 'open',
  statusNative: 'REGISTERED/OPEN',
  resolution: { state: 'none' },
}

const REFERENCE = { feed: 'BTCUSDT', startPrice: '61250.5' }

function sample(key: string, metric: string, value: string): object {
  return { kind: 'sample', instrument: { venue: 'venuea', market: MARKET, key }, metric, value }
}

const LIVE_SAMPLES = [
  sample(UP, 'chance', '0.435'),
  sample(UP, 'price', '0.44'),
  sample(DOWN, 'chance', '0.565'),
  sample(DOWN, 'price', '0.56'),
]

function nativeOf(topic: string, market: string): object {
  return { topic: JSON.parse(`{${topic}}`) as object, market: JSON.parse(market) as object }
}

const CATALOG_ANSWERS: readonly WireCase[] = [
  {
    name: 'a page of the list, one topic of it malformed',
    request: { kind: 'topics', offset: 0 },
    text: `{"marketTopics":[{${OWN},"markets":[${LIVE}]},{"marketTopicId":1}],"total":2,"offset":0,
      "limit":100,"hasMore":false}`,
    events: [
      { kind: 'market', record: { ...LIVE_RECORD, native: nativeOf(OWN, LIVE) } },
      ...LIVE_SAMPLES,
    ],
    problems: [{ where: 'marketTopics[1]', code: 'invalid_message' }],
  },
  {
    name: 'the details of a live round',
    request: { kind: 'topic', topic_id: TOPIC },
    text: `{${DETAILS},"markets":[${LIVE}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...LIVE_RECORD,
          resolution: { state: 'none', source: 'CHAINLINK', reference: REFERENCE },
          native: nativeOf(DETAILS, LIVE),
        },
      },
      ...LIVE_SAMPLES,
    ],
  },
  {
    name: 'the details of a round with a winner',
    request: { kind: 'topic', topic_id: TOPIC },
    text: `{${DETAILS.replace('"endPrice":null', '"endPrice":"61249.99"')},"markets":[${WON}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...RECORD,
          status: 'resolved',
          statusNative: 'REGISTERED/CLOSED',
          resolution: {
            state: 'final',
            source: 'CHAINLINK',
            reference: { ...REFERENCE, endPrice: '61249.99' },
            payouts: ['0', '1'],
          },
          winningOutcome: 'Down',
          native: nativeOf(DETAILS.replace('"endPrice":null', '"endPrice":"61249.99"'), WON),
        },
      },
    ],
  },
  {
    name: 'a tie, which pays each outcome half',
    request: { kind: 'topic', topic_id: TOPIC },
    text: `{${OWN},"markets":[${TIED}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...RECORD,
          status: 'resolved',
          statusNative: 'RESOLVED/CLOSED',
          resolution: { state: 'final', payouts: ['0.5', '0.5'] },
          native: nativeOf(OWN, TIED),
        },
      },
    ],
  },
  {
    name: 'a search result',
    request: { kind: 'search', query: 'btc' },
    text: `[{${OWN},"markets":[${LIVE}]}]`,
    events: [
      { kind: 'market', record: { ...LIVE_RECORD, native: nativeOf(OWN, LIVE) } },
      ...LIVE_SAMPLES,
    ],
  },
  {
    name: 'a past round in the list: no samples and an empty native',
    request: { kind: 'past_topics', asset: 'BTC', start: OPEN, end: CLOSE, offset: 0 },
    text: `{"marketTopics":[{${OWN},"markets":[${WON}]}],"total":1,"offset":0,"limit":100,
      "hasMore":false}`,
    events: [
      {
        kind: 'market',
        record: {
          ...RECORD,
          status: 'resolved',
          statusNative: 'REGISTERED/CLOSED',
          resolution: { state: 'final', payouts: ['0', '1'] },
          winningOutcome: 'Down',
          native: {},
        },
      },
    ],
  },
  {
    name: 'the details of a past round: native without its timeline',
    request: { kind: 'past_topic', asset: 'BTC', start: OPEN, end: CLOSE, topic_id: TOPIC },
    text: `{${OWN},"timeline":[{"marketTopicId":6200030}],"markets":[${WON}]}`,
    events: [
      {
        kind: 'market',
        record: {
          ...RECORD,
          status: 'resolved',
          statusNative: 'REGISTERED/CLOSED',
          resolution: { state: 'final', payouts: ['0', '1'] },
          winningOutcome: 'Down',
          native: nativeOf(OWN, WON),
        },
      },
    ],
  },
  {
    name: 'a past round outside the range',
    request: { kind: 'past_topic', asset: 'BTC', start: CLOSE, end: CLOSE + 1, topic_id: TOPIC },
    text: `{${OWN},"markets":[${WON}]}`,
    events: [],
  },
  {
    name: 'an error answer in place of a topic',
    request: { kind: 'topic', topic_id: TOPIC },
    text: '{"code":-1003,"msg":"Too many requests."}',
    events: [],
    error: 'invalid_message',
  },
]

const CATEGORY = `"id":31007,"slug":"eth-updown-5m-1793642400","title":"ETH Up or Down",
  "startsAt":"2026-11-02T18:00:00.000Z","endsAt":"2026-11-02T18:05:00.000Z",
  "createdAt":"2026-11-01T18:00:00.000Z","isNegRisk":false,"isYieldBearing":false,
  "resolutionProvider":"CHAINLINK"`
const PREDICT_MARKET = `{"id":480099,"question":"ETH Up or Down?","conditionId":"0xe1",
  "oracleQuestionId":"0xe2","resolverAddress":"0x77","status":"REGISTERED","tradingStatus":"CLOSED",
  "variantData":{"priceFeedSymbol":"ETHUSDT","startPrice":2400.5,"endPrice":2401.25},
  "resolution":{"name":"Up","indexSet":1,"status":"WON","resolvedAt":"2026-11-02T18:05:04.000Z"},
  "outcomes":[{"name":"Up","indexSet":1,"onChainId":"e-up","status":"WON"},
  {"name":"Down","indexSet":2,"onChainId":"e-down","status":"LOST"}]}`

const PREDICT_ANSWERS: readonly WireCase[] = [
  {
    name: 'a category of Predict.fun with its resolved market',
    request: { kind: 'predict_market' },
    text: `{"success":true,"data":{${CATEGORY},"markets":[${PREDICT_MARKET}]}}`,
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venuea',
          marketId: '480099',
          title: 'ETH Up or Down',
          status: 'resolved',
          statusNative: 'REGISTERED/CLOSED',
          openTime: OPEN,
          closeTime: 1_793_642_700_000_000,
          createdTime: 1_793_556_000_000_000,
          resolvedTime: 1_793_642_704_000_000,
          resolution: {
            state: 'final',
            source: 'CHAINLINK',
            reference: { feed: 'ETHUSDT', startPrice: '2400.5', endPrice: '2401.25' },
            payouts: ['1', '0'],
          },
          winningOutcome: 'Up',
          outcomes: [
            { label: 'Up', index: 0, tokenId: 'e-up' },
            { label: 'Down', index: 1, tokenId: 'e-down' },
          ],
          units: UNITS,
          topicId: '31007',
          conditionId: '0xe1',
          questionId: '0xe2',
          question: 'ETH Up or Down?',
          slug: 'eth-updown-5m-1793642400',
          asset: 'ETH',
          window: '5m',
          exchangeContract: '0x8BC070BEdAB741406F4B1Eb65A72bee27894B689',
          exchange: { isNegRisk: false, isYieldBearing: false, resolverAddress: '0x77' },
          native: {
            category: JSON.parse(`{${CATEGORY}}`) as object,
            market: JSON.parse(PREDICT_MARKET) as object,
          },
        },
      },
    ],
  },
  {
    name: 'a market of Predict.fun alone',
    request: { kind: 'predict_market' },
    text: '{"success":true,"data":[{"id":480100,"status":"PAUSED","outcomes":[]}]}',
    events: [
      {
        kind: 'market',
        record: {
          venue: 'venuea',
          marketId: '480100',
          status: 'paused',
          statusNative: 'PAUSED',
          resolution: { state: 'none' },
          outcomes: [],
          units: UNITS,
          native: { market: { id: 480_100, status: 'PAUSED', outcomes: [] } },
        },
      },
    ],
  },
]

/** All cases of venue A. */
export const VENUE_A_CASES: readonly WireCase[] = [
  ...BINANCE_FRAMES,
  ...PREDICT_FRAMES,
  ...BOOK_ANSWERS,
  ...CATALOG_ANSWERS,
  ...PREDICT_ANSWERS,
  ...CHAIN_CASES,
]
