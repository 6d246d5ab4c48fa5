// Sockets and timers are kept waiting no longer than this.
const TURN_MS = 4

/** Lets the event loop turn now and then during long work that never waits by itself. */
export class Breath {
  private since = performance.now()

  /** Returns at once, or after a turn of the event loop when the last one was long ago. */
  async take(): Promise<void> {
    if (performance.now() - this.since < TURN_MS) return
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.since = performance.now()
  }
}
