/** Creates a backoff with waits of at most 0.7 s in the first minute of an outage, and up to 30 s later. */
export function createBackoff(random: () => number = Math.random): {
  /** How long to wait before the next attempt; the outage starts with the first call. */
  next(nowMs: number): number
  /** The upstream is back: ends the outage. */
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
      // Half of it is jitter, so that many recorders do not reconnect at the same time.
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
// Wait and connect together must stay below one second.
const FIRST_MINUTE_MAX_MS = 700
const MAX_MS = 30_000
