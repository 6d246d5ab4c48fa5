/** Limits a rate: `perSecond` on average, and up to `burst` at once. */
export class TokenBucket {
  private readonly perSecond: number
  private readonly burst: number
  private tokens: number
  private updatedMs = 0

  constructor(perSecond: number, burst: number) {
    this.perSecond = perSecond
    this.burst = burst
    this.tokens = burst
  }

  /** Acquires one token; false when there is none. */
  acquire(nowMs: number): boolean {
    const refill = ((nowMs - this.updatedMs) / 1000) * this.perSecond
    this.tokens = Math.min(this.burst, this.tokens + refill)
    this.updatedMs = nowMs
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }
}
