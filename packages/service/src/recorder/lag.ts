import { createHistogram } from 'node:perf_hooks'

/** Measures the time from receiving a message until its rows are durable. */
export interface LagMeter {
  note(micros: number): void
  /** Percentiles of the present minute and the one before. */
  summary(): {
    readonly count: number
    readonly p50Ms: number
    readonly p99Ms: number
    readonly maxMs: number
  }
}

// Lags above 100 s count as 100 s.
const HIGHEST_MICROS = 100_000_000
const RANGE = { lowest: 1, highest: HIGHEST_MICROS, figures: 3 }
const MINUTE_MS = 60_000

/** Creates a meter. */
export function createLagMeter(): LagMeter {
  let current = createHistogram(RANGE)
  let previous = createHistogram(RANGE)
  let startedMs = performance.now()

  return {
    note(micros) {
      current.record(Math.min(HIGHEST_MICROS, Math.max(1, Math.round(micros))))
    },
    summary() {
      if (performance.now() - startedMs >= MINUTE_MS) {
        startedMs = performance.now()
        previous = current
        current = createHistogram(RANGE)
      }
      const both = createHistogram(RANGE)
      both.add(current)
      both.add(previous)
      const percentileMs = (percent: number): number =>
        both.count === 0 ? 0 : both.percentile(percent) / 1000
      const maxMs = both.count === 0 ? 0 : both.max / 1000
      return { count: both.count, p50Ms: percentileMs(50), p99Ms: percentileMs(99), maxMs }
    },
  }
}
