// Longer than one step of work takes, shorter than anybody notices.
const BREATH_MS = 3

/** Lets the event loop turn now and then during long work whose steps resolve at once. */
export class Breath {
  private last = performance.now()

  /** Turns the loop if the last turn is a while ago. */
  async take(): Promise<void> {
    if (performance.now() - this.last < BREATH_MS) return
    await turn()
    this.last = performance.now()
  }
}

/** Lets the event loop turn once. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
