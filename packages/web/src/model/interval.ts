import type { Interval } from '@priorbook/sdk/client'
import { DAY, HOUR, MINUTE, SECOND } from './time.ts'

/** The lengths of buckets that the interface offers, in microseconds. */
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

/** One answer holds at most 1,000 rows; below that a picture has a column for every pixel or two. */
export const MOST_BUCKETS = 960

/** The finest interval that covers a span with one answer. */
export function chooseInterval(span: number): Interval {
  const names = Object.keys(INTERVAL_MICROS) as Interval[]
  return names.find((name) => span / INTERVAL_MICROS[name] <= MOST_BUCKETS) ?? '1d'
}

/** Levels a side that a picture of so many buckets asks for: all together stay below a few MB. */
export function chooseDepth(buckets: number): number {
  return Math.max(25, Math.min(200, Math.floor(60_000 / Math.max(1, buckets))))
}
