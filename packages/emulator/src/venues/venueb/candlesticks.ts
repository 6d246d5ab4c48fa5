import type { Proposition } from '../../core/upstream.ts'
import { wholeOf } from './market-query.ts'
import type { Trade } from './trades.ts'
import { contracts, dollars, type NativeObject } from './values.ts'

/** The range and the period of a request for candlesticks. */
export type CandleQuery = {
  readonly fromMs: number
  readonly toMs: number
  readonly periodMs: number
  /** Whether a candlestick without trades tells the last price before the range. */
  readonly isContinued: boolean
}

/** Minutes that a candlestick may span. */
const PERIODS: readonly number[] = [1, 60, 1_440]
/** Max candlesticks of one request, for each market. */
export const MAX_CANDLES = 10_000

/** Reads the query; or the name of a bad parameter. */
export function parseCandleQuery(query: URLSearchParams): CandleQuery | string {
  const from = wholeOf(query, 'start_ts') ?? NaN
  const to = wholeOf(query, 'end_ts') ?? NaN
  const minutes = wholeOf(query, 'period_interval') ?? NaN
  if (Number.isNaN(from)) return 'start_ts'
  if (!(to >= from)) return 'end_ts'
  if (!PERIODS.includes(minutes)) return 'period_interval'
  const isContinued = query.get('include_latest_before_start') === 'true'
  return { fromMs: from * 1000, toMs: to * 1000, periodMs: minutes * 60_000, isContinued }
}

/**
 * The candlesticks of one market, of the periods in which it traded. Trades are newest first; the
 * venue keeps no old quotes, so bids and asks are those of now.
 */
export function candlesticksOf(
  market: Proposition,
  trades: readonly Trade[],
  { fromMs, toMs, periodMs, isContinued }: CandleQuery,
): readonly NativeObject[] {
  const periods = new Map<number, Trade[]>()
  let before: Trade | undefined
  for (let at = trades.length - 1; at >= 0; at--) {
    const trade = trades[at]!
    const end = Math.ceil(trade.at / periodMs) * periodMs
    if (end < fromMs) before = trade
    if (end < fromMs || end > toMs) continue
    const period = periods.get(end)
    if (period === undefined) periods.set(end, [trade])
    else period.push(trade)
  }
  let previous = before?.price
  const candles = [...periods].map(([end, period]) => {
    const candle = candlestick(market, end, period, previous)
    previous = period.at(-1)!.price
    return candle
  })
  if (!isContinued || before === undefined) return candles
  const first = Math.floor(fromMs / periodMs + 1) * periodMs
  return [candlestick(market, first, [], before.price), ...candles]
}

function candlestick(
  market: Proposition,
  end: number,
  trades: readonly Trade[],
  previous: number | undefined,
): NativeObject {
  const prices = trades.map(({ price }) => price)
  const volume = trades.reduce((sum, { size }) => sum + size, 0)
  const worth = trades.reduce((sum, { price, size }) => sum + price * size, 0)
  const { bids, asks } = market.book
  const mean = volume === 0 ? null : dollars(Math.round(worth / volume))
  return {
    end_period_ts: end / 1000,
    open_interest_fp: contracts(Math.floor(market.volume * 0.48)),
    price: {
      ...extremes(prices),
      mean_dollars: mean,
      ...(previous === undefined ? {} : { previous_dollars: dollars(previous) }),
    },
    volume_fp: contracts(volume),
    yes_ask: extremes([asks[0]?.price ?? 10_000]),
    yes_bid: extremes([bids[0]?.price ?? 0]),
  }
}

/** A candlestick as the archive gives it: the same values under names without a unit. */
export function archivedCandlestick(candle: NativeObject): NativeObject {
  return Object.fromEntries(
    Object.entries(candle).map(([name, value]) => [
      name.replace(/_dollars$|_fp$/, ''),
      typeof value === 'object' && value !== null
        ? archivedCandlestick(value as NativeObject)
        : value,
    ]),
  )
}

function extremes(prices: readonly number[]): NativeObject {
  const print = (price: number | undefined): string | null =>
    price === undefined ? null : dollars(price)
  const sorted = prices.toSorted((a, b) => a - b)
  return {
    close_dollars: print(prices.at(-1)),
    high_dollars: print(sorted.at(-1)),
    low_dollars: print(sorted[0]),
    open_dollars: print(prices[0]),
  }
}
