/** How often and how fast a failed request is retried. */
export type RetryPolicy = {
  /** Max retries after the first attempt; 0 never retries. */
  readonly retries: number
  /** The span of the first wait; it doubles each time, up to `maxDelayMs`. */
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** A `Retry-After` longer than this fails the request instead of waiting. */
  readonly maxRetryAfterMs: number
}

/** The policy where none is given: five retries within about eight seconds. */
export const DEFAULT_RETRY: RetryPolicy = {
  retries: 5,
  baseDelayMs: 250,
  maxDelayMs: 10_000,
  maxRetryAfterMs: 60_000,
}

/**
 * The wait before a retry (`attempt` from 1): somewhere in the upper half of the span, so that clients
 * that failed together do not retry together. Never less than the server requested.
 */
export function delayOf(policy: RetryPolicy, attempt: number, retryAfterMs = 0): number {
  const span = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(attempt - 1, 30))
  const jittered = span * (0.5 + Math.random() / 2)
  return retryAfterMs > 0 ? retryAfterMs + jittered / 4 : jittered
}

/** Reads `Retry-After`: seconds or a date; undefined where it is absent or malformed. */
export function parseRetryAfter(text: string | null, now: number): number | undefined {
  if (text === null) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}

/** Waits; rejects with the signal's reason as soon as it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error)
      return
    }
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
