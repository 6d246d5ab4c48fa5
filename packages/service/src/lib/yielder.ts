// Long work gives sockets and timers a chance to run after at most this long.
const SLICE_MS = 4

/** Splits long work that never awaits I/O, so that it does not block the event loop. */
export class Yielder {
  private readonly isUrgent: boolean
  private since = performance.now()

  /** Urgent work goes on in the next turn of the event loop, however much other long work there is. */
  constructor(isUrgent = false) {
    this.isUrgent = isUrgent
  }

  /** True when the current slice has used up its time. */
  get isDue(): boolean {
    return performance.now() - this.since >= SLICE_MS
  }

  /** Returns at once, or after one turn of the event loop when the slice is used up. */
  async yieldIfDue(): Promise<void> {
    if (!this.isDue) return
    if (this.isUrgent) await new Promise((resolve) => setImmediate(resolve))
    else await yieldToEventLoop()
    this.since = performance.now()
  }
}

// Max slices of long work in one turn of the event loop: short work waits for these, however much long work there is.
const SLICES_PER_TURN = 2
const waiting: (() => void)[] = []

/** Resolves after pending I/O callbacks have run, and in turn with other long work of the process. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(continueSome)
  })
}

function continueSome(): void {
  for (const resume of waiting.splice(0, SLICES_PER_TURN)) resume()
  if (waiting.length > 0) setImmediate(continueSome)
}
