import type { ReferencePriceJson } from '@priorbook/sdk/wire'
import type { GapSpan } from './gap.ts'
import type { Range } from './range.ts'
import { microsOf } from './time.ts'

/** Lines of a chart: seconds, the price, and the strike beside it. */
export type ReferenceLine = readonly [
  times: number[],
  prices: (number | null)[],
  strikes: (number | null)[],
]

/**
 * The price of one feed over time. A price holds until the next one, and not into a gap: there the line ends,
 * and begins again with the first price after it. The strike is drawn over the whole range.
 */
export function toReferenceLine(
  rows: readonly Pick<ReferencePriceJson, 'received_time' | 'price'>[],
  gaps: readonly GapSpan[],
  { from, to }: Range,
  strike: number | undefined,
): ReferenceLine {
  const points = rows.map((row) => [microsOf(row.received_time), Number(row.price)] as const)
  const ends = gaps.filter(({ start }) => start < to).map(({ start }) => [start + 1, null] as const)
  const all = [...points, ...ends].sort(([a], [b]) => a - b)
  const last = all.at(-1)
  // The newest price holds up to the end of the range, unless a gap is open.
  if (last !== undefined && last[1] !== null && last[0] < to) all.push([to, last[1]])
  const edges = strike === undefined ? [] : [from, to]
  const times = [...new Set([...all.map(([time]) => time), ...edges])].sort((a, b) => a - b)
  const known = new Map(all)
  let price: number | null = null
  const prices = times.map((time) => (price = known.has(time) ? known.get(time)! : price))
  return [times.map((time) => time / 1e6), prices, times.map(() => strike ?? null)]
}

/** The range of prices: all that is drawn, with a margin. */
export function priceRange(values: readonly (number | null)[]): [number, number] {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return [0, 1]
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const margin = Math.max((high - low) * 0.1, Math.abs(high) * 1e-5, 1e-9)
  return [low - margin, high + margin]
}

/** A price for people: as many decimals as two prices of the size of `like` need to be told apart. */
export function printReference(price: number, like = price): string {
  const size = Math.abs(like)
  const decimals = size >= 1000 ? 2 : size >= 1 ? 4 : 6
  return price.toLocaleString('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
}
