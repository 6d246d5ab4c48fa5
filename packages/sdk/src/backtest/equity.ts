/** One point of the equity curve: money units. */
export type EquityPoint = { readonly at: number; readonly equity: number; readonly capital: number }

const MOST_POINTS = 2000

/** A curve of bounded length: when it is full, every second point goes and the step doubles. */
export class EquityCurve {
  points: EquityPoint[] = []
  /** When the next point is due. */
  due = -Infinity
  peak: number
  drawdown = 0
  private step = 2_000_000

  constructor(start: number) {
    this.peak = start
  }

  add(at: number, equity: number, capital: number): void {
    if (equity > this.peak) this.peak = equity
    if (this.peak - equity > this.drawdown) this.drawdown = this.peak - equity
    const last = this.points.at(-1)
    if (last !== undefined && last.equity === equity && last.capital === capital) {
      this.due = at + this.step
      return
    }
    this.points.push({ at, equity, capital })
    if (this.points.length > MOST_POINTS) {
      this.points = this.points.filter((_, index) => index % 2 === 0)
      this.step *= 2
    }
    this.due = at + this.step
  }
}
