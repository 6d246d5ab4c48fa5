import { createHistogram } from 'node:perf_hooks'
import type { Clock } from '../lib/clock.ts'

/** The lag of recent messages, from receiving a message to its rows being durable. */
export type LagSummary = {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** All lags since the start: their number and sum. */
  readonly totalCount: number
  readonly totalMs: number
}

const MINUTE_MS = 60_000
// One microsecond to ten minutes, with two significant digits.
const RANGE = { lowest: 1, highest: 600_000_000, figures: 2 }

/** Measures lags and summarizes those of the current and the previous minute. */
export class LagMeter {
  private current = createHistogram(RANGE)
  private previous = createHistogram(RANGE)
  private readonly clock: Clock
  private turnedMs: number
  private totalCount = 0
  private totalMicros = 0

  constructor(clock: Clock) {
    this.clock = clock
    this.turnedMs = clock.monotonicMs()
  }

  note(micros: number): void {
    this.totalCount++
    this.totalMicros += Math.max(0, micros)
    this.current.record(Math.min(RANGE.highest, Math.max(RANGE.lowest, Math.round(micros))))
  }

  summary(): LagSummary {
    this.turn()
    const both = createHistogram(RANGE)
    both.add(this.current)
    both.add(this.previous)
    const totals = { totalCount: this.totalCount, totalMs: this.totalMicros / 1000 }
    if (both.count === 0) return { count: 0, p50Ms: 0, p99Ms: 0, maxMs: 0, ...totals }
    return {
      ...totals,
      count: both.count,
      p50Ms: both.percentile(50) / 1000,
      p99Ms: both.percentile(99) / 1000,
      maxMs: both.max / 1000,
    }
  }

  private turn(): void {
    const nowMs = this.clock.monotonicMs()
    if (nowMs - this.turnedMs < MINUTE_MS) return
    this.turnedMs = nowMs
    ;[this.previous, this.current] = [this.current, this.previous]
    this.current.reset()
  }
}
