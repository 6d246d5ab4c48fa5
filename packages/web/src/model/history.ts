import type { BookRowJson, Interval } from '@priorbook/sdk/client'
import { decimalText, parseScaled, POW10, VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { Book } from './book.ts'
import { gapAt, type GapSpan } from './gap.ts'
import { DAY, HOUR, microsOf, MINUTE, SECOND } from './time.ts'

/** One sampled book, a column of the picture. */
export type Column = {
  /** When its book was received. */
  readonly time: number
  readonly bidTicks: readonly number[]
  readonly bidSize: readonly number[]
  readonly askTicks: readonly number[]
  readonly askSize: readonly number[]
}

/** Sampled books of one instrument over a span; sizes are floats, which are exact enough for colours. */
export type History = {
  readonly from: number
  readonly to: number
  /** The length of a bucket. */
  readonly step: number
  readonly decimals: number
  /** By bucket; undefined where it has no row. */
  readonly columns: readonly (Column | undefined)[]
  /** The book that was valid where the span begins; absent where nothing is known of it. */
  readonly before?: Column | undefined
}

/** Assigns sampled rows to buckets. */
export function toHistory(
  venue: VenueId,
  rows: readonly BookRowJson[],
  span: { readonly from: number; readonly to: number; readonly step: number },
  first?: BookRowJson,
): History {
  const { step } = span
  const from = Math.floor(span.from / step) * step
  const to = Math.ceil(span.to / step) * step
  const columns: (Column | undefined)[] = Array.from({ length: Math.round((to - from) / step) })
  const decimals = VENUES[venue].priceDecimals
  for (const row of rows) {
    const time = microsOf(row.received_time)
    const index = Math.floor((time - from) / step)
    if (index >= 0 && index < columns.length) columns[index] = toColumn(row, decimals, time)
  }
  const before =
    first === undefined ? undefined : toColumn(first, decimals, microsOf(first.received_time))
  return { from, to, step, decimals, columns, before }
}

function toColumn(row: BookRowJson, decimals: number, time: number): Column {
  const ticks = (prices: readonly (number | string)[] = []): number[] =>
    prices.map((price) => parseScaled(decimalText(price), decimals))
  return {
    time,
    bidTicks: ticks(row.bids?.price),
    bidSize: (row.bids?.size ?? []).map(Number),
    askTicks: ticks(row.asks?.price),
    askSize: (row.asks?.size ?? []).map(Number),
  }
}

/** The column of the other outcome. */
export function complementColumn(column: Column, decimals: number): Column {
  const one = 10 ** decimals
  return {
    time: column.time,
    bidTicks: column.askTicks.map((tick) => one - tick),
    bidSize: column.askSize,
    askTicks: column.bidTicks.map((tick) => one - tick),
    askSize: column.bidSize,
  }
}

/** The column of a book that just arrived. */
export function columnOfBook({ received, sizeDecimals, bids, asks }: Book): Column {
  const one = POW10[sizeDecimals]!
  return {
    time: received,
    bidTicks: Array.from(bids.ticks),
    bidSize: Array.from(bids.units, (units) => units / one),
    askTicks: Array.from(asks.ticks),
    askSize: Array.from(asks.units, (units) => units / one),
  }
}

/** Adds the newest book to a history, growing it up to the present; buckets without a book stay empty. */
export function withColumn(history: History, column: Column, present = column.time): History {
  const index = Math.floor((column.time - history.from) / history.step)
  if (index < 0) return history
  const last = Math.max(index, Math.floor((present - history.from) / history.step))
  const columns = history.columns.slice()
  while (columns.length <= last) columns.push(undefined)
  const before = columns[index]
  if (before === undefined || before.time <= column.time) columns[index] = column
  const to = Math.max(history.to, history.from + columns.length * history.step)
  return { ...history, columns, to }
}

/**
 * Fills empty buckets with the book before them, because a book is valid until it changes. No book is
 * carried into or over a gap.
 */
export function carryForward(
  history: History,
  gaps: readonly GapSpan[],
  until: number,
): readonly (Column | undefined)[] {
  let last = history.before
  return history.columns.map((column, index) => {
    const middle = history.from + (index + 0.5) * history.step
    if (column !== undefined) {
      last = column
      return column
    }
    if (middle > until) return undefined
    if (last !== undefined && crosses(gaps, last.time, middle)) last = undefined
    return last
  })
}

// After a gap the book from before it is no longer known.
function crosses(gaps: readonly GapSpan[], from: number, to: number): boolean {
  return gapAt(gaps, to) !== undefined || gaps.some(({ start }) => start >= from && start < to)
}

/** Lines of the price chart: seconds, best bid, best ask, middle; null where there is none. */
export type PriceLines = [
  time: number[],
  bid: (number | null)[],
  ask: (number | null)[],
  mid: (number | null)[],
]

/** Turns columns into lines, which break where there is no book. */
export function toPriceLines(
  history: History,
  columns: readonly (Column | undefined)[],
): PriceLines {
  const one = 10 ** history.decimals
  const lines: PriceLines = [[], [], [], []]
  for (const [index, column] of columns.entries()) {
    const start = history.from + index * history.step
    const time = column === undefined ? start : Math.max(start, column.time)
    const bid = column?.bidTicks[0]
    const ask = column?.askTicks[0]
    lines[0].push(time / 1e6)
    lines[1].push(bid === undefined ? null : bid / one)
    lines[2].push(ask === undefined ? null : ask / one)
    lines[3].push(bid === undefined || ask === undefined ? null : (bid + ask) / 2 / one)
  }
  return lines
}

/** The bucket lengths that the API offers, in microseconds. */
export const INTERVAL_MICROS: Readonly<Record<Interval, number>> = {
  '1s': SECOND,
  '5s': 5 * SECOND,
  '10s': 10 * SECOND,
  '30s': 30 * SECOND,
  '1m': MINUTE,
  '5m': 5 * MINUTE,
  '15m': 15 * MINUTE,
  '1h': HOUR,
  '1d': DAY,
}

/** Max buckets per chart: a page holds 1,000 rows, and a column takes a pixel or two. */
export const MAX_BUCKETS = 960

/** The finest interval that covers a span with one page. */
export function chooseInterval(span: number): Interval {
  const names = Object.keys(INTERVAL_MICROS) as Interval[]
  return names.find((name) => span / INTERVAL_MICROS[name] <= MAX_BUCKETS) ?? '1d'
}

/** Max levels per side to request for a number of buckets, so that a page stays below a few MB. */
export function chooseDepth(buckets: number): number {
  return Math.max(25, Math.min(200, Math.floor(60_000 / Math.max(1, buckets))))
}
