// A row that is later than this in real time waited for a slow reader or server, not just for a frame.
const LATE_MS = 150
// How long a late replay must be silent before the market counts as quiet.
const QUIET_MS = 500
// A late replay is on time again once its rows advance at this share of the requested speed.
const NEARLY = 0.9

/**
 * The instant of a replay. It runs at the replay's speed. Where rows come late it goes back to the last
 * row and waits, because the page must not show an instant whose book it does not have.
 */
export class ReplayClock {
  private time: number
  private now: number
  private isLate = false
  private readonly speed: number

  /** Starts at a recorded time in microseconds and a page time in milliseconds. */
  constructor(time: number, now: number, speed: number) {
    this.time = time
    this.now = now
    this.speed = speed
  }

  /** The recorded time at a page time. */
  at(now: number): number {
    return this.time + this.span(now - this.now - (this.isLate ? QUIET_MS : 0))
  }

  /** A row has arrived. */
  noteRow(time: number, now: number): void {
    // A row that is early moves the clock: the page never names an instant before the book that it shows.
    if (!this.isLate && time > this.at(now)) {
      this.time = time
      this.now = now
      return
    }
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
