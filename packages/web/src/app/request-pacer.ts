/** Spaces requests as the key's plan allows, so that a page with many panels is not rate-limited. */
export class RequestPacer {
  private spacingMs: number | undefined
  private nextAt = 0
  private last: Promise<void> = Promise.resolve()

  /** Resolves when the next request may start; until the first answer, requests go one by one. */
  acquire(): Promise<void> {
    const before = this.last
    const { promise, resolve } = Promise.withResolvers<void>()
    // The next request waits for this one to start, or for its answer while the plan is not known.
    this.last = promise
    return before.then(async () => {
      const wait = this.nextAt - performance.now()
      if (wait > 0) await new Promise((done) => setTimeout(done, wait))
      this.nextAt = performance.now() + (this.spacingMs ?? 0)
      if (this.spacingMs === undefined) this.release = resolve
      else resolve()
    })
  }

  private release: (() => void) | undefined

  /** Notes an answer's rate limit policy; undefined where no answer came. */
  noteAnswer(policy: string | null | undefined): void {
    if (policy !== undefined) this.spacingMs = spacingOf(policy)
    if (this.spacingMs !== undefined) {
      this.nextAt = Math.max(this.nextAt, performance.now() + this.spacingMs - LEEWAY_MS)
    }
    this.release?.()
    this.release = undefined
  }
}

// Plans with this many requests per second need no spacing: no page makes more.
const UNSPACED_RATE = 20
const LEEWAY_MS = 50

/** Milliseconds between requests by `RateLimit-Policy`, such as `"second";q=1;w=1`; 0 for no spacing. */
export function spacingOf(policy: string | null): number {
  if (policy === null) return 0
  const rates = [...policy.matchAll(/q=(\d+);w=(\d+)/g)].map(([, quota, seconds]) => ({
    quota: Number(quota),
    seconds: Number(seconds),
  }))
  // Bursts may use up a limit per minute; the limit per second decides.
  const shortest = rates.toSorted((a, b) => a.seconds - b.seconds)[0]
  if (shortest === undefined || shortest.quota / shortest.seconds >= UNSPACED_RATE) return 0
  return ((shortest.seconds * 1000) / shortest.quota) * 1.05 + LEEWAY_MS
}
