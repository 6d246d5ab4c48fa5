import type { Phase, Proposition } from '../../core/upstream.ts'
import {
  SERIES,
  seriesOf,
  type Names,
  type PhaseTimes,
  type Series,
  type Trade,
} from './markets.ts'

/** A JSON object in the venue's own names. */
export type NativeObject = Readonly<Record<string, unknown>>

/** The venue's name for a phase. */
const STATUS: Readonly<Record<Phase, string>> = {
  listed: 'initialized',
  open: 'active',
  paused: 'inactive',
  closed: 'closed',
  determined: 'determined',
  disputed: 'disputed',
  resolved: 'finalized',
}

const DAY_MS = 86_400_000
const NEVER = '0001-01-01T00:00:00Z'

/** A market as /markets gives it: the fields of the recorded answers, settled ones once there are any. */
export function marketObject(market: Proposition, names: Names, times: PhaseTimes): NativeObject {
  const { openTime, closeTime, outcome, phase } = market
  const bid = market.book.bids[0]
  const ask = market.book.asks[0]
  const strike = market.strike ?? (market.startPrice === '' ? undefined : market.startPrice)
  const { name } = seriesOf(market)
  const later = isoSeconds(closeTime + 300_000)
  const decided = outcome !== undefined && phase !== 'closed'
  const first = outcome?.winner === 'first'
  const changed = Math.max(market.listTime, ...times.values())
  return {
    can_close_early: true,
    close_time: isoSeconds(closeTime),
    created_time: isoMicros(market.listTime, market.index * 37),
    custom_strike: { round_digits: '2' },
    event_ticker: names.event,
    exchange_index: 0,
    expected_expiration_time: later,
    expiration_time: isoSeconds(closeTime + 7 * DAY_MS),
    expiration_value: decided ? outcome.endPrice : '',
    ...(strike === undefined ? {} : { floor_strike: Number(strike) }),
    last_price_dollars: dollars(market.lastTrade ?? 0),
    latest_expiration_time: isoSeconds(closeTime + 7 * DAY_MS),
    liquidity_dollars: '0.0000',
    market_type: 'binary',
    no_ask_dollars: dollars(10_000 - (bid?.price ?? 0)),
    no_bid_dollars: dollars(10_000 - (ask?.price ?? 10_000)),
    no_sub_title: 'Target price: TBD',
    notional_value_dollars: '1.0000',
    occurrence_datetime: later,
    open_interest_fp: contracts(Math.floor(market.volume * 0.48)),
    open_time: isoSeconds(openTime),
    previous_price_dollars: dollars(market.lastTrade ?? 0),
    previous_yes_ask_dollars: dollars(ask?.price ?? 10_000),
    previous_yes_bid_dollars: dollars(bid?.price ?? 0),
    price_level_structure: 'linear_cent',
    price_ranges: [{ end: '1.0000', start: '0.0000', step: '0.0100' }],
    result: decided ? (first ? 'yes' : 'no') : '',
    rules_primary: `If the price of ${name} at ${isoSeconds(closeTime)} is ${
      market.strike === undefined ? 'at least the price at the start' : `above ${market.strike}`
    }, then the market resolves to Yes.`,
    rules_secondary: 'Emulated. The settlement value is rounded to the nearest 2 decimal places.',
    settlement_timer_seconds: 1,
    ...(decided && phase === 'resolved'
      ? {
          settlement_ts: isoMicros(times.get('resolved') ?? closeTime, market.index * 41),
          settlement_value_dollars: first ? '1.0000' : '0.0000',
        }
      : {}),
    status: STATUS[phase],
    strike_type: market.strike === undefined ? 'greater_or_equal' : 'greater',
    ticker: names.ticker,
    title:
      market.strike === undefined
        ? `${name} price up in next 15 mins?`
        : `${name} price on ${isoSeconds(closeTime)}?`,
    updated_time: isoMicros(changed, market.index * 43),
    volume_24h_fp: contracts(phase === 'resolved' ? 0 : market.volume),
    volume_fp: contracts(market.volume),
    yes_ask_dollars: dollars(ask?.price ?? 10_000),
    yes_ask_size_fp: contracts(ask?.size ?? 0),
    yes_bid_dollars: dollars(bid?.price ?? 0),
    yes_bid_size_fp: contracts(bid?.size ?? 0),
    yes_sub_title: strike === undefined ? 'Target Price: TBD' : `Target Price: $${strike}`,
  }
}

/** An event as /events gives it, without its markets. */
export function eventObject(market: Proposition, names: Names): NativeObject {
  const { name, cadence } = seriesOf(market)
  const { openTime, closeTime, strike, startPrice } = market
  const target = strike === undefined && startPrice !== '' ? ` · $${startPrice} target` : ''
  return {
    available_on_brokers: true,
    category: 'Crypto',
    collateral_return_type: '',
    event_ticker: names.event,
    exchange_index: 0,
    last_updated_ts: NEVER,
    mutually_exclusive: false,
    product_metadata: { cadence },
    series_ticker: names.series,
    settlement_sources: [{ name: 'Emulated index', url: 'https://example.com/index' }],
    strike_date: isoSeconds(closeTime),
    strike_period: '',
    sub_title: `${isoSeconds(openTime)} to ${isoSeconds(closeTime)}`,
    title: `${name} ${cadence === 'hourly' ? 'price by the hour' : '15 min'}${target}`,
  }
}

/** A series as /series gives it. */
export function seriesObject({ ticker, name, cadence }: Series): NativeObject {
  return {
    additional_prohibitions: [],
    category: 'Crypto',
    contract_terms_url: `https://example.com/terms/${ticker}.pdf`,
    contract_url: `https://example.com/contracts/${ticker}.pdf`,
    fee_multiplier: 1,
    fee_type: 'quadratic',
    frequency: cadence,
    last_updated_ts: NEVER,
    product_metadata: { cadence },
    settlement_sources: [{ name: 'Emulated index', url: 'https://example.com/index' }],
    tags: ['Crypto', name],
    ticker,
    title: `${name} ${cadence === 'hourly' ? 'price' : 'up or down, 15 minutes'}`,
  }
}

/** Every series of the emulated venue. */
export const ALL_SERIES: readonly Series[] = Object.values(SERIES)

/** A book as REST gives it: bids of both outcomes, ascending, `depth` best ones (0: all). */
export function orderbookObject({ book }: Proposition, depth: number): NativeObject {
  const { yes, no } = ladders(book)
  const cut = (side: Ladder): Ladder => (depth > 0 ? side.slice(-depth) : side)
  return { no_dollars: cut(no), yes_dollars: cut(yes) }
}

type Ladder = readonly (readonly [string, string])[]

/** The two sides of a book in the venue's terms, worst first. */
export function ladders(book: Proposition['book']): { readonly yes: Ladder; readonly no: Ladder } {
  return {
    yes: book.bids.map(({ price, size }) => [dollars(price), contracts(size)] as const).reverse(),
    no: book.asks
      .map(({ price, size }) => [dollars(10_000 - price), contracts(size)] as const)
      .reverse(),
  }
}

/** A trade as /markets/trades gives it. */
export function tradeObject(trade: Trade): NativeObject {
  return {
    count_fp: contracts(trade.size),
    created_time: isoMicros(trade.at, trade.price),
    is_block_trade: false,
    no_price_dollars: dollars(10_000 - trade.price),
    taker_book_side: trade.taker === 'buy' ? 'bid' : 'ask',
    taker_outcome_side: trade.taker === 'buy' ? 'yes' : 'no',
    taker_side: trade.taker === 'buy' ? 'yes' : 'no',
    ticker: trade.ticker,
    trade_id: trade.id,
    yes_price_dollars: dollars(trade.price),
  }
}

const PRICES = Array.from({ length: 10_001 }, (_, price) => (price / 10_000).toFixed(4))

/** A price in dollars with four decimals: 5200 is 0.5200. */
export function dollars(price: number): string {
  return PRICES[price]!
}

/** A count of contracts with two decimals, signed where it is a change. */
export function contracts(size: number): string {
  const hundredths = Math.round(Math.abs(size) / 10_000)
  const whole = Math.floor(hundredths / 100)
  const rest = hundredths - whole * 100
  return `${size < 0 ? '-' : ''}${whole}.${rest < 10 ? '0' : ''}${rest}`
}

/** A time with microseconds, the last three digits invented. */
export function isoMicros(ms: number, micros: number): string {
  const text = new Date(ms).toISOString()
  return `${text.slice(0, -1)}${String(micros % 1_000).padStart(3, '0')}Z`
}

/** A time to the second, or to the millisecond where a fast world needs it. */
export function isoSeconds(ms: number): string {
  const text = new Date(ms).toISOString()
  return ms % 1000 === 0 ? `${text.slice(0, 19)}Z` : text
}
