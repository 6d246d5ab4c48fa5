/** An upstream limit: so much cost in any window of this length. */
export type QuotaOptions = {
  readonly limit: number
  readonly windowMs: number
  /** The window is kept this much longer, as clocks run differently; 1 % of the window by default. */
  readonly slackMs?: number
}

/**
 * Spends an upstream quota. Counted as a sliding window: a full bucket plus its refill would exceed it.
 * A request reaches the venue somewhere between its sending and its answer. It therefore counts from its
 * sending until a window after its end; then no window of the venue's can hold more than the limit,
 * whichever requests were delayed on the way.
 */
export interface Quota {
  /**
   * Resolves when the cost may be spent now, urgent ones first; rejects when the signal aborts. What it
   * gives is to be called when the request is over, answered or not.
   */
  take(cost: number, urgent: boolean, signal: AbortSignal): Promise<() => void>
  /** Takes up what somebody else spent, until so many milliseconds ago. */
  resume(cost: number, agoMs: number): void
  /** The venue refused: nothing is sent for a while, longer with every refusal in a row. */
  refused(): void
  /** The venue answered: refusals in a row end. */
  answered(): void
  /** What was spent in the current window. */
  readonly used: number
  readonly refusals: number
  readonly limit: number
  readonly windowMs: number
}

type Waiter = { readonly cost: number; readonly start: (end: () => void) => void }

/** Creates a quota with an empty window. */
export function createQuota(options: QuotaOptions): Quota {
  const { limit, windowMs } = options
  const span = windowMs + (options.slackMs ?? windowMs * 0.01)
  /** Requests that are over, in the order of their ends; those under way count in `used` alone. */
  const ended: { readonly at: number; readonly cost: number }[] = []
  const urgentWaiters: Waiter[] = []
  const waiters: Waiter[] = []
  let used = 0
  let refusals = 0
  let inRow = 0
  let closedUntil = 0
  let timer: NodeJS.Timeout | undefined

  function forget(now: number): void {
    while (ended.length > 0 && ended[0]!.at <= now - span) used -= ended.shift()!.cost
  }

  function endOf(cost: number): () => void {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      ended.push({ at: performance.now(), cost })
      // Where all was under way, nothing told those who wait when to look again.
      if (timer === undefined) pump()
    }
  }

  function pump(): void {
    timer = undefined
    for (;;) {
      const now = performance.now()
      const queue = urgentWaiters.length > 0 ? urgentWaiters : waiters
      const first = queue[0]
      if (first === undefined) return
      forget(now)
      const cost = Math.min(first.cost, limit)
      if (now < closedUntil || used + cost > limit) {
        const oldest = used + cost > limit ? ended[0] : undefined
        // All that is spent is under way: the end of one of them goes on.
        if (used + cost > limit && oldest === undefined) return
        const freeAt = Math.max(closedUntil, oldest === undefined ? 0 : oldest.at + span)
        timer = setTimeout(pump, Math.max(1, freeAt - now))
        return
      }
      queue.shift()
      used += cost
      first.start(endOf(cost))
    }
  }

  return {
    limit,
    windowMs,
    get used() {
      forget(performance.now())
      return used
    },
    get refusals() {
      return refusals
    },
    take(cost, urgent, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason as Error)
          return
        }
        const queue = urgent ? urgentWaiters : waiters
        const onAbort = (): void => {
          const index = queue.indexOf(waiter)
          if (index >= 0) queue.splice(index, 1)
          // Nobody waits: a long pause must not keep the process from ending.
          if (urgentWaiters.length === 0 && waiters.length === 0) {
            clearTimeout(timer)
            timer = undefined
          }
          reject(signal.reason as Error)
        }
        const waiter: Waiter = {
          cost,
          start: (end) => {
            signal.removeEventListener('abort', onAbort)
            resolve(end)
          },
        }
        signal.addEventListener('abort', onAbort, { once: true })
        queue.push(waiter)
        if (timer === undefined || urgent) {
          clearTimeout(timer)
          pump()
        }
      })
    },
    resume(cost, agoMs) {
      const at = performance.now() - agoMs
      const place = ended.findLastIndex((one) => one.at <= at) + 1
      ended.splice(place, 0, { at, cost })
      used += cost
    },
    refused() {
      refusals++
      const now = performance.now()
      // Calls that were under way together are refused together: that is one refusal, not a row.
      if (now < closedUntil) return
      inRow++
      const pause = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, span / 2) * 2 ** (inRow - 1))
      closedUntil = now + pause
    },
    answered() {
      inRow = 0
    },
  }
}

const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 30_000
