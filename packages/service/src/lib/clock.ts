import { toMicros, type Micros } from '@priorbook/sdk/domain'

/** Time and timers, passed in so that tests can advance them. */
export interface Clock {
  /** Wall-clock time. */
  now(): Micros
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonicMs(): number
  setTimeout(callback: () => void, ms: number): Timer
  setInterval(callback: () => void, ms: number): Timer
}

/** A running timer. */
export interface Timer {
  cancel(): void
  /** Lets the process exit while the timer is running. */
  unref(): Timer
}

/** The clock and timers of the process. */
export const SYSTEM_CLOCK: Clock = {
  now: () => toMicros(Date.now() * 1000),
  monotonicMs: () => performance.now(),
  setTimeout: (callback, ms) => toTimer(setTimeout(callback, ms)),
  setInterval: (callback, ms) => toTimer(setInterval(callback, ms)),
}

function toTimer(handle: NodeJS.Timeout): Timer {
  const timer: Timer = {
    // Clears intervals as well.
    cancel: () => clearTimeout(handle),
    unref() {
      handle.unref()
      return timer
    },
  }
  return timer
}
