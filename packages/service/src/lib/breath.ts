// Sockets and timers are kept waiting no longer than this.
const TURN_MS = 4

/** Lets the event loop turn now and then during long work that never waits by itself. */
export class Breath {
  private since = performance.now()

  /** True when the last turn was long ago. */
  get isDue(): boolean {
    return performance.now() - this.since >= TURN_MS
  }

  /** Returns at once, or after a turn of the event loop when the last one was long ago. */
  async take(): Promise<void> {
    if (!this.isDue) return
    await turn()
    this.since = performance.now()
  }
}

/** Lets the event loop turn once. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
