import { toMicros } from '@priorbook/sdk/domain'
import type { Arrival } from '../capture/contract.ts'

/**
 * Messages and answers in the shapes that venue B documents; for tests. Every function returns a new
 * value, so that a test may change it.
 */

/** A JSON object that a test may change. */
export type Draft = Record<string, unknown>

/** When the fixtures were received. */
export const AT: Arrival = { received: toMicros(1_790_000_000_250_000), journal: 7 }

/** The market of the fixtures. */
export const TICKER = 'KXTEST15M-26SEP211200-15'

/** The market's event. */
export const EVENT_TICKER = 'KXTEST15M-26SEP211200'

/** `orderbook_snapshot`, the sides in fixed-point dollars, ascending as the venue sends them. */
export function snapshotMessage(sides: Draft = currentSides()): Draft {
  const msg = { market_ticker: TICKER, market_id: '00000000-0000-4000-8000-000000000001', ...sides }
  return { type: 'orderbook_snapshot', sid: 3, seq: 41, msg }
}

/** The sides of the current form. */
export function currentSides(): Draft {
  return {
    yes_dollars_fp: [
      ['0.0100', '1000.00'],
      ['0.4150', '12.34'],
    ],
    no_dollars_fp: [
      ['0.0200', '7.00'],
      ['0.5700', '0.01'],
    ],
  }
}

/** `orderbook_delta` with both clocks. */
export function deltaMessage(changes: Draft = {}): Draft {
  return {
    type: 'orderbook_delta',
    sid: 3,
    seq: 42,
    msg: {
      market_ticker: TICKER,
      market_id: '00000000-0000-4000-8000-000000000001',
      price_dollars: '0.4100',
      delta_fp: '-54.50',
      side: 'yes',
      ts: '2026-09-21T14:13:20.123456Z',
      ts_ms: 1_790_000_000_123,
      ...changes,
    },
  }
}

/** `trade` in the current form. */
export function tradeMessage(changes: Draft = {}): Draft {
  return {
    type: 'trade',
    sid: 4,
    seq: 9,
    msg: {
      trade_id: '00000000-0000-4000-8000-0000000000aa',
      market_ticker: TICKER,
      yes_price_dollars: '0.4150',
      no_price_dollars: '0.5850',
      count_fp: '3.25',
      taker_side: 'no',
      taker_outcome_side: 'no',
      taker_book_side: 'ask',
      is_block_trade: false,
      ts: 1_790_000_000,
      ts_ms: 1_790_000_000_123,
      ...changes,
    },
  }
}

/** A market as GET /markets/{ticker} gives it after settlement. */
export function marketObject(changes: Draft = {}): Draft {
  return {
    ticker: TICKER,
    event_ticker: EVENT_TICKER,
    market_type: 'binary',
    title: 'Test price up in next 15 mins?',
    yes_sub_title: 'Target Price: $10.50',
    no_sub_title: 'Target price: TBD',
    status: 'finalized',
    created_time: '2026-09-20T08:00:00.5Z',
    open_time: '2026-09-21T15:45:00Z',
    close_time: '2026-09-21T16:00:00Z',
    latest_expiration_time: '2026-09-28T16:00:00Z',
    updated_time: '0001-01-01T00:00:00Z',
    result: 'yes',
    expiration_value: '10.62',
    settlement_value_dollars: '1.0000',
    settlement_ts: '2026-09-21T16:00:05.45973Z',
    settlement_timer_seconds: 1,
    volume_fp: '4937.50',
    liquidity_dollars: '0.0000',
    floor_strike: 10.5,
    custom_strike: { round_digits: '2' },
    price_ranges: [{ start: '0.0000', end: '1.0000', step: '0.0100' }],
    ...changes,
  }
}

/** An event as GET /events/{ticker} gives it, without its markets. */
export function eventObject(changes: Draft = {}): Draft {
  return {
    event_ticker: EVENT_TICKER,
    series_ticker: 'KXTEST15M',
    title: 'Test 15 min',
    sub_title: 'Sep 21',
    last_updated_ts: '0001-01-01T00:00:00Z',
    settlement_sources: [
      { name: 'First Source', url: 'https://example.com/1' },
      { name: 'Second Source', url: 'https://example.com/2' },
    ],
    product_metadata: { cadence: 'fifteen_min' },
    ...changes,
  }
}

/** A market of the demo exchange of 2024: few fields, whole cents, leading underscores. */
export function legacyMarketObject(changes: Draft = {}): Draft {
  return {
    _ticker: 'OLDTEST-30-B4.5',
    _event_ticker: 'OLDTEST-30',
    _title: '',
    _subtitle: 'By 2030',
    _status: 'active',
    _open_time: '2024-05-07T16:00:00Z',
    _close_time: '2032-12-31T15:00:00Z',
    _result: '',
    _expiration_value: '',
    _liquidity: 122_655,
    _volume: 39,
    _yes_bid: 35,
    _floor_strike: null,
    discriminator: null,
    ...changes,
  }
}

/** `market_lifecycle_v2` of a market that is being created. */
export function lifecycleMessage(changes: Draft = {}): Draft {
  return {
    type: 'market_lifecycle_v2',
    sid: 5,
    seq: 17,
    msg: {
      market_ticker: TICKER,
      event_type: 'created',
      exchange_index: 0,
      open_ts: 1_790_005_500,
      close_ts: 1_790_006_400,
      price_level_structure: 'linear_cent',
      price_ranges: [{ start: '0.0000', end: '1.0000', step: '0.0100' }],
      additional_metadata: {
        name: 'Test',
        title: 'Test price up in next 15 mins?',
        yes_sub_title: 'Up',
        no_sub_title: 'Down',
        can_close_early: true,
        event_ticker: EVENT_TICKER,
        expected_expiration_ts: 1_790_006_700,
        strike_type: 'greater',
        floor_strike: 10.5,
      },
      ...changes,
    },
  }
}

/** A trade as GET /markets/trades gives it. */
export function tradeObject(changes: Draft = {}): Draft {
  return {
    trade_id: '00000000-0000-4000-8000-0000000000ab',
    ticker: TICKER,
    count_fp: '3.25',
    yes_price_dollars: '0.4150',
    no_price_dollars: '0.5850',
    taker_side: 'yes',
    created_time: '2026-09-21T14:13:20.5Z',
    ...changes,
  }
}
