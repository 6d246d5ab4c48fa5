import type { BookRowJson } from '@priorbook/sdk/client'
import type { EventMarketJson } from '@priorbook/sdk/wire'
import type { GapSpan } from './gap.ts'
import { printDecimal } from './decimal.ts'
import { middleOf as middleText } from './exact.ts'
import { microsOf, microsOrAbsent, MINUTE } from './time.ts'

/** Max outcomes on one chart: more lines could not be told apart. */
export const MAX_DRAWN = 12

/** The markets of an event whose lines are drawn: those with the highest prices, the highest first. */
export function chooseDrawn(markets: readonly EventMarketJson[]): readonly EventMarketJson[] {
  return markets
    .filter(({ coverage }) => coverage.observations > 0)
    .map((market) => ({ market, price: priceOf(market) ?? -1 }))
    .sort((a, b) => b.price - a.price)
    .slice(0, MAX_DRAWN)
    .map(({ market }) => market)
}

/** The price that outcomes are compared by: the middle of the book, else the last execution or a side. */
export function priceOf(market: EventMarketJson): number | undefined {
  const { best_bid: bid, best_ask: ask, last_price: last } = market
  if (bid !== null && ask !== null) return (Number(bid) + Number(ask)) / 2
  const known = last ?? bid ?? ask
  return known === null ? undefined : Number(known)
}

/** The name of a market among those of its event. */
export function outcomeName({ outcome, title, market_id: id }: EventMarketJson): string {
  return outcome ?? title ?? id
}

/** The span of all recorded books of some markets; undefined where there is none. */
export function recordedSpan(
  markets: readonly EventMarketJson[],
  now: number,
): { readonly from: number; readonly to: number } | undefined {
  const firsts = markets.flatMap(({ coverage }) => microsOrAbsent(coverage.first_time) ?? [])
  const lasts = markets.flatMap(({ coverage }) => microsOrAbsent(coverage.last_time) ?? [])
  if (firsts.length === 0) return undefined
  const isOpen = markets.some(({ status }) => status === 'open')
  const from = Math.min(...firsts)
  const to = Math.max(...lasts, isOpen ? now : 0)
  return { from, to: Math.max(to, from + MINUTE / 2) }
}

/** The sampled books of one market, with the gaps between them. */
export type SampledBooks = {
  readonly rows: readonly BookRowJson[]
  readonly gaps: readonly GapSpan[]
  /** Up to when its last book is known to be valid. */
  readonly until: number
}

/** The buckets of a chart. */
export type Buckets = { readonly from: number; readonly to: number; readonly step: number }

/** Lines for a chart: seconds, then the middle price of each market by bucket, null where it is not known. */
export function toEventLines(
  books: readonly SampledBooks[],
  { from, to, step }: Buckets,
): [number[], ...(number | null)[][]] {
  const start = Math.floor(from / step) * step
  const count = Math.max(1, Math.ceil((to - start) / step))
  const times = Array.from({ length: count }, (_, index) => (start + index * step) / 1e6)
  return [times, ...books.map((one) => lineOf(one, start, step, count))]
}

function lineOf(
  { rows, gaps, until }: SampledBooks,
  start: number,
  step: number,
  count: number,
): (number | null)[] {
  const prices = new Map<number, { readonly time: number; readonly price: number | null }>()
  for (const row of rows) {
    const time = microsOf(row.received_time)
    prices.set(Math.floor((time - start) / step), { time, price: middleOf(row) })
  }
  // What was received before the first bucket is valid in it.
  let last = [...prices].findLast(([index]) => index < 0)?.[1]
  return Array.from({ length: count }, (_, index) => {
    const here = prices.get(index)
    if (here !== undefined) last = here
    else if (last !== undefined && isBroken(last.time, start + index * step, gaps, until)) {
      last = undefined
    }
    return last?.price ?? null
  })
}

/** The middle price of a market at an instant with every digit; undefined where it is not known. */
export function middleAt({ rows, gaps, until }: SampledBooks, time: number): string | undefined {
  const row = rows.findLast((one) => microsOf(one.received_time) <= time)
  if (row === undefined || isBroken(microsOf(row.received_time), time, gaps, until))
    return undefined
  const { best_bid: bid, best_ask: ask } = row
  return bid === null || ask === null ? undefined : middleText(printDecimal(bid), printDecimal(ask))
}

// A book is valid until the next one; after a gap it is no longer known.
function isBroken(from: number, to: number, gaps: readonly GapSpan[], until: number): boolean {
  return to > until || gaps.some(({ start, end }) => start < to && (end ?? Infinity) > from)
}

function middleOf({ best_bid: bid, best_ask: ask }: BookRowJson): number | null {
  return bid === null || ask === null ? null : (Number(bid) + Number(ask)) / 2
}
