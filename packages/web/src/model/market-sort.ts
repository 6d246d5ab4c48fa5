import type { ListedMarketJson } from '@priorbook/sdk/client'
import { hasTradingEnded } from '@priorbook/sdk/domain'
import { microsOrAbsent, MINUTE, SECOND } from './time.ts'

/** The orders of the list of markets. */
export type ListSort = 'activity' | 'close_time' | 'volume' | 'open_time'

/** Book rows per minute of recorded time. */
export function activityOf({ coverage }: Pick<ListedMarketJson, 'coverage'>): number {
  const first = microsOrAbsent(coverage.first_time)
  const last = microsOrAbsent(coverage.last_time)
  if (first === undefined || last === undefined) return 0
  // At least ten seconds, because two rows in the first second do not make a busy market.
  return (coverage.observations * 60 * SECOND) / Math.max(last - first, 10 * SECOND)
}

// A market without a book for this long is not one of the present, such as those of an import.
const PAST_AFTER = 10 * MINUTE

/** True where a market trades now, as far as its record and its newest book say. */
export function isTrading(
  row: Pick<ListedMarketJson, 'status' | 'coverage'>,
  now: number,
): boolean {
  const last = microsOrAbsent(row.coverage.last_time)
  return !hasTradingEnded(row.status) && last !== undefined && now - last < PAST_AFTER
}

/** Sorts rows that are all loaded. */
export function sortLoaded(
  rows: readonly ListedMarketJson[],
  sort: ListSort,
): readonly ListedMarketJson[] {
  if (sort !== 'activity') return rows
  return rows.toSorted((a, b) => activityOf(b) - activityOf(a))
}

/** The recorded part of a market's lifetime, as fractions. */
export function coverageBar(
  row: Pick<ListedMarketJson, 'coverage' | 'open_time' | 'close_time'>,
  now: number,
): { readonly from: number; readonly to: number } | undefined {
  const first = microsOrAbsent(row.coverage.first_time)
  const last = microsOrAbsent(row.coverage.last_time)
  if (first === undefined || last === undefined) return undefined
  const open = Math.min(microsOrAbsent(row.open_time) ?? first, first)
  const close = Math.max(microsOrAbsent(row.close_time) ?? Math.max(now, last), last)
  const span = Math.max(1, close - open)
  return { from: (first - open) / span, to: (last - open) / span }
}
