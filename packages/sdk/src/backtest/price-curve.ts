/** Best prices of a market's first outcome at one time, in ten-thousandths; null for a side without a level. */
export type PricePoint = readonly [at: number, bid: number | null, ask: number | null]

// Max points of one market: enough for a plot of this many pixels, whatever the length of the run.
const MAX_POINTS = 300

/** The best prices of a market, sampled: when the list is full, every second point goes and the step doubles. */
export class PriceCurve {
  points: PricePoint[] = []
  /** When the next point is due. */
  due = -Infinity
  private step = 250_000
  private restarts = false

  /** A gap has ended: the next prices are a point, also where they are those of before. */
  restart(): void {
    this.restarts = true
    this.due = -Infinity
  }

  /** Adds the prices of a time, unless they are those of the last point. */
  add(at: number, bid: number | null, ask: number | null): void {
    this.due = at + this.step
    const last = this.points.at(-1)
    const isSame = last !== undefined && last[1] === bid && last[2] === ask
    if (isSame && !this.restarts) return
    this.restarts = false
    this.points.push([at, bid, ask])
    if (this.points.length <= MAX_POINTS) return
    this.points = this.points.filter((_, index) => index % 2 === 0)
    this.step *= 2
  }
}
