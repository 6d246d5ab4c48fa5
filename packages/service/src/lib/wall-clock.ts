import { toMicros, type Micros } from '@priorbook/sdk/domain'

// A larger difference means that the wall clock was set.
const STEP_MS = 2
const MAX_READ_MS = 0.2

/** Where a clock reads the time, in milliseconds. */
type Sources = {
  /** The wall clock in whole milliseconds, rounded down, as `Date.now` does. */
  readonly wall: () => number
  /** A clock that never goes back and has fractions. */
  readonly monotonic: () => number
}

/**
 * The wall clock in microseconds: the monotonic clock, kept within the millisecond that the wall clock shows.
 * Each time that the wall clock moves on by a millisecond narrows the error, to the time between two calls.
 * It goes back only where the wall clock was set back.
 */
export function createWallClock(
  { wall, monotonic }: Sources = { wall: Date.now, monotonic: () => performance.now() },
): () => Micros {
  let offset = -Infinity
  let last = 0
  return () => {
    let before = monotonic()
    let shown = wall()
    let passed = monotonic()
    // The process may stand still between the two clocks.
    for (let tries = 0; passed - before > MAX_READ_MS && tries < 10; tries++) {
      before = passed
      shown = wall()
      passed = monotonic()
    }
    let now = offset + passed
    if (now < shown - STEP_MS || now > shown + 1 + STEP_MS) {
      now = shown
      last = 0
    } else if (now < shown) now = shown
    else if (now >= shown + 1) now = shown + 0.999
    offset = now - passed
    last = Math.max(last, Math.round(now * 1000))
    return toMicros(last)
  }
}
