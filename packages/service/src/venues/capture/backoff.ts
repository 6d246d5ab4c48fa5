/** How long to wait before the next attempt: at most 1 s in the first minute of an outage, then up to 30 s. */
export function createBackoff(random: () => number = Math.random): {
  /** The wait before the next attempt, counted from the first failure. */
  next(nowMs: number): number
  /** The upstream is back. */
  reset(): void
} {
  let since: number | undefined
  let attempts = 0
  return {
    next(nowMs) {
      since ??= nowMs
      attempts++
      const outage = nowMs - since
      const ceiling =
        outage < FIRST_MINUTE_MS
          ? Math.min(FIRST_MINUTE_MAX_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 10))
          : Math.min(MAX_MS, FIRST_MINUTE_MAX_MS * 2 ** Math.floor(outage / FIRST_MINUTE_MS))
      // Half of it is jitter, so that many recorders do not come back in step.
      return ceiling * (0.5 + random() / 2)
    },
    reset() {
      since = undefined
      attempts = 0
    },
  }
}

const FIRST_MINUTE_MS = 60_000
const FIRST_WAIT_MS = 50
// Below 1 s, so that wait and connect together stay within the promised second.
const FIRST_MINUTE_MAX_MS = 700
const MAX_MS = 30_000
