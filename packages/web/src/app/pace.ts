/** Spaces requests as the plan of the key allows, so that a page with many panels is not refused. */
export class Pace {
  private spacingMs: number | undefined
  private nextAt = 0
  private last: Promise<void> = Promise.resolve()

  /** Resolves when the next request may go; until the first answer they go one by one. */
  turn(): Promise<void> {
    const before = this.last
    const { promise, resolve } = Promise.withResolvers<void>()
    // The next in line waits for this one's start, or for its answer while the plan is not known.
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

  /** Learns from an answer, or from its absence. */
  heard(policy: string | null | undefined): void {
    if (policy !== undefined) this.spacingMs = spacingOf(policy)
    if (this.spacingMs !== undefined) {
      this.nextAt = Math.max(this.nextAt, performance.now() + this.spacingMs - LEEWAY_MS)
    }
    this.release?.()
    this.release = undefined
  }
}

// Many requests a second need no spacing: a page does not make so many.
const MANY_A_SECOND = 20
const LEEWAY_MS = 50

/** Milliseconds between requests by `RateLimit-Policy`, such as `"second";q=1;w=1`; 0 for no matter. */
export function spacingOf(policy: string | null): number {
  if (policy === null) return 0
  const rates = [...policy.matchAll(/q=(\d+);w=(\d+)/g)].map(([, quota, seconds]) => ({
    quota: Number(quota),
    seconds: Number(seconds),
  }))
  // A limit over a minute is met by bursts; the one over a second decides.
  const shortest = rates.toSorted((a, b) => a.seconds - b.seconds)[0]
  if (shortest === undefined || shortest.quota / shortest.seconds >= MANY_A_SECOND) return 0
  return ((shortest.seconds * 1000) / shortest.quota) * 1.05 + LEEWAY_MS
}
