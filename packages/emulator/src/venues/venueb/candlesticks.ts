import type { Proposition } from '../../core/upstream.ts'
import { wholeOf } from './market-query.ts'
import type { Trade } from './trades.ts'
import { contracts, dollars, type NativeObject } from './values.ts'

/** The range and the period of a request for candlesticks. */
export type CandleQuery = {
  readonly fromMs: number
  readonly toMs: number
  readonly periodMs: number
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
  return { fromMs: from * 1000, toMs: to * 1000, periodMs: minutes * 60_000 }
}

/**
 * The candlesticks of one market, of the periods in which it traded. Trades are newest first; the
 * venue keeps no old quotes, so bids and asks are those of now.
 */
export function candlesticksOf(
  market: Proposition,
  trades: readonly Trade[],
  { fromMs, toMs, periodMs }: CandleQuery,
): readonly NativeObject[] {
  const periods = new Map<number, Trade[]>()
  let before: Trade | undefined
  for (let at = trades.length - 1; at >= 0; at--) {
    const trade = trades[at]!
    const end = Math.ceil((trade.at + 1) / periodMs) * periodMs
    if (end < fromMs) before = trade
    if (end < fromMs || end > toMs) continue
    const period = periods.get(end)
    if (period === undefined) periods.set(end, [trade])
    else period.push(trade)
  }
  let previous = before?.price
  return [...periods].map(([end, period]) => {
    const candle = candlestick(market, end, period, previous)
    previous = period.at(-1)!.price
    return candle
  })
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
  return {
    end_period_ts: end / 1000,
    open_interest_fp: contracts(Math.floor(market.volume * 0.48)),
    price: {
      ...extremes(prices),
      mean_dollars: dollars(Math.round(worth / volume)),
      ...(previous === undefined ? {} : { previous_dollars: dollars(previous) }),
    },
    volume_fp: contracts(volume),
    yes_ask: extremes([asks[0]?.price ?? 10_000]),
    yes_bid: extremes([bids[0]?.price ?? 0]),
  }
}

function extremes(prices: readonly number[]): NativeObject {
  return {
    close_dollars: dollars(prices.at(-1)!),
    high_dollars: dollars(Math.max(...prices)),
    low_dollars: dollars(Math.min(...prices)),
    open_dollars: dollars(prices[0]!),
  }
}
