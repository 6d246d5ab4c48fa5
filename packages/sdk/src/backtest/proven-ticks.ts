import type { VenueId } from '../domain/index.ts'
import type { MatchBook } from './fills.ts'
import { priceOne } from './money.ts'
import type { TickRange } from './venues/profile.ts'

/**
 * The ticks that the prices of a market's books prove, for markets whose record does not give any. A tick
 * divides every price that was displayed, so it divides their greatest common divisor, and every multiple of
 * that is a valid price. Some venues have finer ticks below 0.10 and above 0.90, so prices there prove
 * nothing for those between.
 */
export class ProvenTicks {
  private readonly one: number
  private middle: number
  private outer: number
  private hasMiddle = false
  private hasOuter = false

  constructor(venue: VenueId) {
    this.one = priceOne(venue)
    this.middle = this.one
    this.outer = this.one
  }

  /** Adds the prices that a book displays now. */
  note({ ladder, factor }: MatchBook): void {
    const { one } = this
    for (const key of ladder.keys()) {
      const price = (key >>> 1) * factor
      if (Math.min(price, one - price) < one / 10) {
        this.hasOuter = true
        this.outer = divisorOf(this.outer, price)
      } else {
        this.hasMiddle = true
        this.middle = divisorOf(this.middle, price)
      }
    }
  }

  /** The prices that are proven so far. */
  ranges(): TickRange[] {
    const { one, middle } = this
    const ranges: TickRange[] = []
    if (this.hasMiddle) ranges.push(multiples(middle, one / 10, (one * 9) / 10))
    if (this.hasOuter) {
      // A tick of the middle is also one of the outer prices, whose ticks are never coarser.
      const outer = this.hasMiddle ? divisorOf(this.outer, middle) : this.outer
      ranges.push(multiples(outer, 1, one / 10), multiples(outer, (one * 9) / 10, one - 1))
    }
    return ranges
  }
}

function multiples(step: number, from: number, to: number): TickRange {
  return { from: Math.ceil(from / step) * step, to: Math.floor(to / step) * step, step }
}

function divisorOf(left: number, right: number): number {
  let [large, small] = [left, right]
  while (small !== 0) [large, small] = [small, large % small]
  return large
}
