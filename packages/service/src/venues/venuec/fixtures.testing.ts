import { toMicros } from '@priorbook/sdk/domain'
import type { Arrival } from '../capture/contract.ts'

/**
 * Messages and answers of our own making in the shapes that venue C documents; for tests.
 * Every function gives a fresh value, so that a test may change it.
 */

/** A JSON object that a test may change. */
export type Draft = Record<string, unknown>

/** When the fixtures were received. */
export const AT: Arrival = { received: toMicros(1_790_000_000_250_000), journal: 7 }

/** The venue's time of the fixtures, as it writes it. */
const TIMESTAMP = '1790000000123'

/** The market of the fixtures. */
export const MARKET = `0x${'ab'.repeat(32)}`

/** The tokens of its outcomes Up and Down. */
export const UP = `1${'0'.repeat(75)}1`
export const DOWN = `2${'0'.repeat(75)}2`

/** The slug of its round, which starts at 14:10 UTC on 21 September 2026. */
export const SLUG = 'btc-updown-5m-1789999800'

/** `book`, worst level first on both sides as the venue sends it. */
export function bookMessage(changes: Draft = {}): Draft {
  return {
    event_type: 'book',
    asset_id: UP,
    market: MARKET,
    timestamp: TIMESTAMP,
    hash: 'a'.repeat(40),
    bids: [
      { price: '0.01', size: '505' },
      { price: '.48', size: '15.25' },
    ],
    asks: [
      { price: '0.99', size: '2501' },
      { price: '0.5', size: '0.000001' },
    ],
    tick_size: '0.01',
    last_trade_price: '',
    ...changes,
  }
}

/** One entry of `price_changes`. */
export function entry(changes: Draft = {}): Draft {
  return {
    asset_id: UP,
    price: '0.47',
    size: '100',
    side: 'BUY',
    hash: 'b'.repeat(40),
    best_bid: '0.48',
    best_ask: '0.5',
    ...changes,
  }
}

/** The mirror of `entry`: one order shows in the books of both tokens. */
export function mirrorEntry(changes: Draft = {}): Draft {
  const mirrored = { price: '0.53', side: 'SELL', best_bid: '0.5', best_ask: '0.52' }
  return entry({ asset_id: DOWN, ...mirrored, ...changes })
}

/** `price_change` of the current form. */
export function changeMessage(entries: readonly unknown[] = [entry(), mirrorEntry()]): Draft {
  const event_type = 'price_change'
  return { market: MARKET, price_changes: entries, timestamp: TIMESTAMP, event_type }
}

/** `price_change` of 2024: one level in the message itself. */
export function flatChangeMessage(changes: Draft = {}): Draft {
  return {
    asset_id: UP,
    event_type: 'price_change',
    hash: 'c'.repeat(40),
    market: MARKET,
    price: '0.514',
    side: 'SELL',
    size: '21574.08',
    timestamp: TIMESTAMP,
    ...changes,
  }
}

/** `price_change` before September 2025: the changes of one token. */
export function listChangeMessage(): Draft {
  const changes = [
    { price: '0.4', side: 'SELL', size: '3300' },
    { price: '0.4', side: 'SELL', size: '0' },
  ]
  const event_type = 'price_change'
  return { asset_id: UP, changes, event_type, market: MARKET, hash: 'd', timestamp: TIMESTAMP }
}

/** `last_trade_price`. */
export function tradeMessage(changes: Draft = {}): Draft {
  return {
    event_type: 'last_trade_price',
    asset_id: UP,
    fee_rate_bps: '0',
    market: MARKET,
    price: '0.60',
    size: '100',
    side: 'BUY',
    timestamp: TIMESTAMP,
    transaction_hash: '0xfeed',
    ...changes,
  }
}

/** `tick_size_change`. */
export function tickMessage(changes: Draft = {}): Draft {
  return {
    event_type: 'tick_size_change',
    asset_id: UP,
    market: MARKET,
    old_tick_size: '0.01',
    new_tick_size: '0.001',
    timestamp: TIMESTAMP,
    ...changes,
  }
}

/** `new_market`, as it is announced to every socket. */
export function newMarketMessage(changes: Draft = {}): Draft {
  return {
    id: '3145195',
    question: 'Bitcoin Up or Down?',
    market: MARKET,
    slug: SLUG,
    description: 'Up or down.',
    assets_ids: [UP, DOWN],
    outcomes: ['Up', 'Down'],
    event_message: { id: '759201', ticker: SLUG, slug: SLUG, title: 'Bitcoin Up or Down?' },
    timestamp: TIMESTAMP,
    event_type: 'new_market',
    tags: [],
    condition_id: MARKET,
    active: false,
    clob_token_ids: [UP, DOWN],
    order_price_min_tick_size: '0.01',
    taker_base_fee: '1000',
    fees_enabled: true,
    fee_schedule: { exponent: '1', rate: '0.07', taker_only: true, rebate_rate: '0.2' },
    ...changes,
  }
}

/** `market_resolved`; the venue names the labels of neither outcome but the winner. */
export function resolvedMessage(changes: Draft = {}): Draft {
  return {
    id: '3145195',
    market: MARKET,
    assets_ids: [UP, DOWN],
    winning_asset_id: DOWN,
    winning_outcome: 'Down',
    timestamp: TIMESTAMP,
    event_type: 'market_resolved',
    tags: [],
    ...changes,
  }
}

/** A round as Gamma gives it while it trades. */
export function gammaMarket(changes: Draft = {}): Draft {
  return {
    id: '2458626',
    question: 'Bitcoin Up or Down - September 21, 10:10AM-10:15AM ET',
    conditionId: MARKET,
    questionID: `0x${'cd'.repeat(32)}`,
    slug: SLUG,
    resolutionSource: 'https://example.com/btc-usd',
    startDate: '2026-09-20T14:10:58.730402Z',
    endDate: '2026-09-21T14:15:00Z',
    eventStartTime: '2026-09-21T14:10:00Z',
    createdAt: '2026-09-20T14:09:05.044029Z',
    acceptingOrdersTimestamp: '2026-09-20T14:10:10Z',
    outcomes: '["Up", "Down"]',
    outcomePrices: '["0.505", "0.495"]',
    clobTokenIds: JSON.stringify([UP, DOWN]),
    volume: '30335.869374999984',
    volumeNum: 30335.869374999984,
    liquidity: '120.50',
    active: true,
    closed: false,
    archived: false,
    acceptingOrders: true,
    enableOrderBook: true,
    umaResolutionStatuses: '[]',
    orderPriceMinTickSize: 0.01,
    orderMinSize: 5,
    feesEnabled: true,
    feeSchedule: { rate: 0.07, exponent: 1, takerOnly: true, rebateRate: 0.2 },
    events: [{ id: '260654', ticker: SLUG, slug: SLUG, startTime: '2026-09-21T14:10:00Z' }],
    ...changes,
  }
}

/** What changes in Gamma's object when a round is resolved for Down. */
export function resolvedFields(): Draft {
  return {
    closed: true,
    acceptingOrders: false,
    closedTime: '2026-09-21 14:15:16+00',
    umaEndDate: '2026-09-21T14:15:16Z',
    umaResolutionStatus: 'resolved',
    outcomePrices: '["0", "1"]',
  }
}

/** A round as CLOB gives it while it trades. */
export function clobMarket(changes: Draft = {}): Draft {
  return {
    enable_order_book: true,
    active: true,
    closed: false,
    archived: false,
    accepting_orders: true,
    accepting_order_timestamp: '2026-09-20T14:10:10Z',
    minimum_order_size: 5,
    minimum_tick_size: 0.01,
    condition_id: MARKET,
    question_id: `0x${'cd'.repeat(32)}`,
    question: 'Bitcoin Up or Down - September 21, 10:10AM-10:15AM ET',
    market_slug: SLUG,
    end_date_iso: '2026-09-21T00:00:00Z',
    game_start_time: null,
    tokens: [
      { token_id: UP, outcome: 'Up', price: 0.505, winner: false },
      { token_id: DOWN, outcome: 'Down', price: 0.495, winner: false },
    ],
    ...changes,
  }
}

/** A price of the oracle, as the socket of reference prices sends it. */
export function priceMessage(changes: Draft = {}): Draft {
  const payload = {
    full_accuracy_value: '79696948174287960000000',
    symbol: 'btc/usd',
    timestamp: 1_788_600_388_000,
    value: 79_696.948_174_287_96,
    ...changes,
  }
  const topic = 'crypto_prices_chainlink'
  return { payload, timestamp: 1_788_600_389_451, topic, type: 'update' }
}
