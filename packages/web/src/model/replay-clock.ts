// So late in real time is a row that waited for a slow reader or server, and not just for a frame.
const LATE_MS = 150
// A late replay that says nothing for so long has nothing to say: the market is quiet.
const QUIET_MS = 500
const NEARLY = 0.9

/**
 * The instant of a replay. It runs at the replay's speed; where rows come late it goes back to them and
 * waits for the next: a page must not name an instant whose book it does not have yet.
 */
export class ReplayClock {
  private time: number
  private now: number
  private isLate = false
  private readonly speed: number

  /** Starts at a recorded time, in microseconds, and a time of the page, in milliseconds. */
  constructor(time: number, now: number, speed: number) {
    this.time = time
    this.now = now
    this.speed = speed
  }

  /** The recorded time at a time of the page. */
  at(now: number): number {
    return this.time + this.span(now - this.now - (this.isLate ? QUIET_MS : 0))
  }

  /** A row of a recorded time is here. */
  hear(time: number, now: number): void {
    const isLate = this.isLate
      ? time - this.time < this.span(now - this.now) * NEARLY
      : this.at(now) - time > this.span(LATE_MS)
    if (!isLate && !this.isLate) return
    this.isLate = isLate
    this.time = Math.max(this.time, time)
    this.now = now
  }

  private span(ms: number): number {
    return Math.max(0, ms) * 1000 * this.speed
  }
}
