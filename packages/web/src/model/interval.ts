import type { Interval } from '@priorbook/sdk/client'
import { DAY, HOUR, MINUTE, SECOND } from './time.ts'

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
