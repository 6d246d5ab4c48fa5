import { toMicros } from '@priorbook/sdk/domain'
import type { Arrival } from '../capture/contract.ts'

/**
 * Frames and answers in the shapes that venue A documents; for tests. Every function returns a new value,
 * so that a test may change it.
 */

/** A JSON object that a test may change. */
export type Draft = Record<string, unknown>

/** When the fixtures were received. */
export const AT: Arrival = { received: toMicros(1_790_000_000_250_000), journal: 7 }

/** The market of the fixtures. */
export const MARKET_ID = 8_000_123

/** The market's topic, which is one round. */
export const TOPIC_ID = 5_000_042

/** The tokens of Up and Down. */
export const UP_TOKEN =
  '11112222333344445555666677778888999900001111222233334444555566667777888899990001'

/** The token of the outcome whose book is not kept. */
export const DOWN_TOKEN =
  '11112222333344445555666677778888999900001111222233334444555566667777888899990002'

/** A topic as GET market/detail gives it; `market` changes its one market. */
export function topicObject(changes: Draft = {}, market: Draft = {}): Draft {
  return {
    marketTopicId: TOPIC_ID,
    vendor: 'PREDICT_FUN',
    chainId: '56',
    slug: 'btc-updown-15m-1790000100',
    title: 'Bitcoin Up or Down - 15 minutes',
    question: 'Will BTC go up?',
    description: 'Up if higher at the end.',
    topicType: 'FLAT',
    chartType: 'CRYPTO_UP_DOWN',
    symbol: 'BTCUSDT',
    variantData: {
      type: 'CRYPTO_UP_DOWN',
      startPrice: '67890.120',
      endPrice: null,
      priceFeedId: '0xfeed',
      priceFeedProvider: 'CHAINLINK',
      priceFeedSymbol: 'BTCUSDT',
    },
    participantCount: 342,
    collateral: 'USDT',
    feeRateBps: 200,
    isYieldBearing: false,
    tradeVolume: '1580.50',
    liquidity: '450.00',
    publishedAt: 1_789_913_700_000,
    startDate: 1_790_000_100_000,
    endDate: 1_790_001_000_000,
    status: 'REGISTERED',
    timeline: [
      { marketTopicId: TOPIC_ID - 1, startDate: 1_789_999_200_000, endDate: 1_790_000_100_000 },
    ],
    markets: [marketObject(market)],
    ...changes,
  }
}

/** A market inside its topic. */
export function marketObject(changes: Draft = {}): Draft {
  return {
    marketId: MARKET_ID,
    externalId: '1700001',
    title: 'Up or Down',
    conditionId: '0x00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff',
    status: 'REGISTERED',
    tradingStatus: 'OPEN',
    tradeVolume: '90.10',
    liquidity: '25.00',
    decimalPrecision: 2,
    outcomes: [outcomeObject('Up', 0), outcomeObject('Down', 1)],
    ...changes,
  }
}

/** An outcome with its two metrics, which differ. */
export function outcomeObject(name: string, index: 0 | 1, changes: Draft = {}): Draft {
  const [chance, price] = [
    ['0.520', '0.5150'],
    ['0.480', '0.4850'],
  ][index]!
  return { name, price, chance, index, tokenId: index === 0 ? UP_TOKEN : DOWN_TOKEN, ...changes }
}

/** A page of GET market/list. */
export function pageObject(topics: readonly Draft[], changes: Draft = {}): Draft {
  return {
    marketTopics: topics,
    total: topics.length,
    offset: 0,
    limit: 100,
    hasMore: false,
    ...changes,
  }
}

/** An answer of GET order-book. */
export function bookObject(changes: Draft = {}): Draft {
  return {
    outcome: 'Up',
    tokenId: UP_TOKEN,
    timestamp: 1_790_000_000_123,
    bids: [
      { price: '0.51', size: '5000.00' },
      { price: '0.5', size: '0.00000001' },
    ],
    asks: [{ price: '0.52', size: '1234.12345678' }],
    ...changes,
  }
}

/** The request that `bookObject` answers. */
export const BOOK_REQUEST = {
  kind: 'book',
  market_id: String(MARKET_ID),
  token_id: UP_TOKEN,
  outcome_index: 0,
} as const

/** The request that `{marketId, lastTradePrice}` answers. */
export const LAST_TRADE_REQUEST = {
  kind: 'last_trade',
  market_id: String(MARKET_ID),
  token_id: UP_TOKEN,
} as const

/** A frame of the Binance socket; `data` is a JSON text inside it. */
export function bookFrame(changes: Draft = {}, frame: Draft = {}): Draft {
  const data = {
    msgType: 'orderbook',
    marketId: MARKET_ID,
    updateTimestampMs: 1_790_000_000_123,
    asks: [
      ['0.32', '500'],
      ['0.33', '1200.5'],
    ],
    bids: [['0.31', '800']],
    ...changes,
  }
  const topic = `web3_prediction_orderbook_${MARKET_ID}`
  return { type: 'TOPIC', topic, data: JSON.stringify(data), ...frame }
}

/** A book of Predict.fun. */
export function predictBook(changes: Draft = {}): Draft {
  return {
    marketId: 777,
    updateTimestampMs: 1_774_000_000_500,
    asks: [[0.83, 12.5]],
    bids: [
      [0.42, 20.25],
      [0.38, 6],
    ],
    settlementsPending: { asks: [], bids: [] },
    version: 1,
    ...changes,
  }
}

/** A category of Predict.fun with its market after its end. */
export function predictCategory(market: Draft = {}): Draft {
  return {
    id: 300_002,
    slug: 'eth-updown-5m-1786604400',
    title: 'Ethereum Up or Down',
    startsAt: '2026-08-13T07:00:00.000Z',
    endsAt: '2026-08-13T07:05:00.000Z',
    createdAt: '2026-08-12T07:00:01.000Z',
    publishedAt: '2026-08-12T07:00:02.000Z',
    isNegRisk: false,
    isYieldBearing: true,
    resolutionProvider: 'CHAINLINK',
    markets: [
      {
        id: 1_300_001,
        question: 'Ethereum Up or Down?',
        conditionId: '0x33',
        oracleQuestionId: '0x44',
        tradingStatus: 'CLOSED',
        status: 'REGISTERED',
        variantData: { priceFeedSymbol: 'ETHUSDT', startPrice: 100.5, endPrice: 101 },
        outcomes: [
          { name: 'Up', indexSet: 1, onChainId: 'up-token', status: 'WON' },
          { name: 'Down', indexSet: 2, onChainId: 'down-token', status: 'LOST' },
        ],
        ...market,
      },
    ],
  }
}
