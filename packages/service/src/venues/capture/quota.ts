import { SYSTEM_CLOCK, type Clock, type Timer } from '../../lib/clock.ts'

/** An upstream limit: max total cost in any window of this length. */
export type QuotaOptions = {
  readonly limit: number
  readonly windowMs: number
  /** How much longer the window is kept, because clocks differ; 1 % of the window by default. */
  readonly slackMs?: number
}

/**
 * Spends an upstream quota as a sliding window; a token bucket could send its full bucket plus a refill
 * within one window. A request reaches the venue at some time between its sending and its answer, so it
 * counts from its sending until one window after its end. Then no window of the venue's holds more than
 * the limit, however long requests were delayed.
 */
export interface Quota {
  /**
   * Resolves when the cost may be spent, urgent calls first; rejects when the signal aborts. Call the
   * returned function when the request has ended, answered or not.
   */
  acquire(cost: number, urgent: boolean, signal: AbortSignal): Promise<() => void>
  /** Counts cost that another process spent this many milliseconds ago. */
  resume(cost: number, agoMs: number): void
  /** The venue refused a call: nothing is sent for a while, longer with every refusal in a row. */
  refused(): void
  /** The venue answered a call: ends the row of refusals. */
  answered(): void
  /** The cost spent in the current window. */
  readonly used: number
  readonly refusals: number
  readonly limit: number
  readonly windowMs: number
}

/** Creates a quota with an empty window. */
export function createQuota(options: QuotaOptions, clock: Clock = SYSTEM_CLOCK): Quota {
  return new SlidingWindowQuota(options, clock)
}

type Waiter = { readonly cost: number; readonly start: (release: () => void) => void }

const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 30_000

class SlidingWindowQuota implements Quota {
  readonly limit: number
  readonly windowMs: number
  readonly #clock: Clock
  /** The window and its slack. */
  readonly #spanMs: number
  /** Ended requests in the order of their ends; those in flight are only in `#used`. */
  readonly #ended: { readonly atMs: number; readonly cost: number }[] = []
  readonly #urgentWaiters: Waiter[] = []
  readonly #waiters: Waiter[] = []
  #used = 0
  #refusals = 0
  #refusalsInRow = 0
  #closedUntilMs = 0
  #timer: Timer | undefined

  constructor({ limit, windowMs, slackMs = windowMs * 0.01 }: QuotaOptions, clock: Clock) {
    this.limit = limit
    this.windowMs = windowMs
    this.#spanMs = windowMs + slackMs
    this.#clock = clock
  }

  get used(): number {
    this.#expire(this.#clock.monotonicMs())
    return this.#used
  }

  get refusals(): number {
    return this.#refusals
  }

  acquire(cost: number, urgent: boolean, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error)
        return
      }
      const queue = urgent ? this.#urgentWaiters : this.#waiters
      const onAbort = (): void => {
        this.#remove(queue, waiter)
        reject(signal.reason as Error)
      }
      const waiter: Waiter = {
        cost,
        start: (release) => {
          signal.removeEventListener('abort', onAbort)
          resolve(release)
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      queue.push(waiter)
      if (this.#timer === undefined || urgent) {
        this.#timer?.cancel()
        this.#startWaiters()
      }
    })
  }

  resume(cost: number, agoMs: number): void {
    const atMs = this.#clock.monotonicMs() - agoMs
    const place = this.#ended.findLastIndex((one) => one.atMs <= atMs) + 1
    this.#ended.splice(place, 0, { atMs, cost })
    this.#used += cost
  }

  refused(): void {
    this.#refusals++
    const nowMs = this.#clock.monotonicMs()
    // Calls in flight together are refused together: that counts as one refusal, not as a row.
    if (nowMs < this.#closedUntilMs) return
    this.#refusalsInRow++
    const firstMs = Math.max(MIN_PAUSE_MS, this.#spanMs / 2)
    this.#closedUntilMs = nowMs + Math.min(MAX_PAUSE_MS, firstMs * 2 ** (this.#refusalsInRow - 1))
  }

  answered(): void {
    this.#refusalsInRow = 0
  }

  #startWaiters(): void {
    this.#timer = undefined
    for (;;) {
      const nowMs = this.#clock.monotonicMs()
      const queue = this.#urgentWaiters.length > 0 ? this.#urgentWaiters : this.#waiters
      const first = queue[0]
      if (first === undefined) return
      this.#expire(nowMs)
      const cost = Math.min(first.cost, this.limit)
      const isFull = this.#used + cost > this.limit
      if (isFull || nowMs < this.#closedUntilMs) {
        const oldest = isFull ? this.#ended[0] : undefined
        // Everything spent is in flight: the end of one of these requests starts the next.
        if (isFull && oldest === undefined) return
        const freeMs = Math.max(this.#closedUntilMs, oldest ? oldest.atMs + this.#spanMs : 0)
        const waitMs = Math.max(1, freeMs - nowMs)
        this.#timer = this.#clock.setTimeout(() => this.#startWaiters(), waitMs)
        return
      }
      queue.shift()
      this.#used += cost
      first.start(this.#releaseOf(cost))
    }
  }

  #releaseOf(cost: number): () => void {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#ended.push({ atMs: this.#clock.monotonicMs(), cost })
      // While everything was in flight, no timer was set to start the waiters.
      if (this.#timer === undefined) this.#startWaiters()
    }
  }

  #remove(queue: Waiter[], waiter: Waiter): void {
    const index = queue.indexOf(waiter)
    if (index >= 0) queue.splice(index, 1)
    if (this.#urgentWaiters.length > 0 || this.#waiters.length > 0) return
    // Without waiters, a long pause must not keep the process from exiting.
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #expire(nowMs: number): void {
    while (this.#ended.length > 0 && this.#ended[0]!.atMs <= nowMs - this.#spanMs) {
      this.#used -= this.#ended.shift()!.cost
    }
  }
}
