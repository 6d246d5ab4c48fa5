/** Lets so many things a second pass, and a burst of them at once. */
export class RateMeter {
  private readonly perSecond: number
  private readonly burst: number
  private left: number
  private atMs = 0

  constructor(perSecond: number, burst: number) {
    this.perSecond = perSecond
    this.burst = burst
    this.left = burst
  }

  /** False when there are too many. */
  take(nowMs: number): boolean {
    this.left = Math.min(this.burst, this.left + ((nowMs - this.atMs) / 1000) * this.perSecond)
    this.atMs = nowMs
    if (this.left < 1) return false
    this.left--
    return true
  }
}
