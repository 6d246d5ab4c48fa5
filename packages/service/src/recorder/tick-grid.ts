import { POW10, VENUES, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import { rulesOf, type TickRange } from '@priorbook/sdk/backtest'
import type { Observation } from '@priorbook/sdk/tape'

/** The prices that a market allows. */
export class TickGrid {
  private readonly ticks: readonly TickRange[]
  /** The price 1.0 in ticks of the venue, in which the ranges are. */
  private readonly one: number
  /** By decimals of a row: true where every price with so few decimals is on the grid. */
  private readonly holdsAll: readonly boolean[]

  constructor(venue: VenueId, ticks: readonly TickRange[]) {
    const one = POW10[VENUES[venue].priceDecimals]!
    this.ticks = ticks
    this.one = one
    const [first] = ticks
    this.holdsAll = POW10.map((_, decimals) => {
      const unit = one / 10 ** decimals
      // One range over all prices, in steps that fit: from one step up to one step below 1.
      const isEven = ticks.length === 1 && first!.from === first!.step
      return isEven && first!.to === one - first!.step && unit % first!.step === 0
    })
  }

  /** The grid that a record describes; undefined where it does not give its ticks. */
  static of(record: MarketRecord | undefined): TickGrid | undefined {
    const ticks = record === undefined ? undefined : rulesOf(record)?.ticks
    if (record === undefined || ticks === undefined) return undefined
    const finest = ticks.map((range) => refine(range, VENUES[record.venue].tickRefinement ?? 1))
    // Finer than prices are stored: every price is on it.
    return finest.some(({ step }) => step < 1) ? undefined : new TickGrid(record.venue, finest)
  }

  /** True where a row sets a level at a price that is not on the grid. */
  isLeftBy({ keys, sizes, priceDecimals }: Observation): boolean {
    if (this.holdsAll[priceDecimals]!) return false
    const scale = this.one / POW10[priceDecimals]!
    for (let at = 0; at < keys.length; at++) {
      if (sizes[at] === 0) continue
      const price = (keys[at]! >>> 1) * scale
      if (!this.ticks.some(({ from, to, step }) => isOn(price, from, to, step))) return true
    }
    return false
  }
}

// A market may use its finer tick before its record says so: only prices off both are off the grid.
function refine({ from, to, step }: TickRange, times: number): TickRange {
  const finer = step / times
  return { from: from - step + finer, to: to + step - finer, step: finer }
}

function isOn(price: number, from: number, to: number, step: number): boolean {
  return price >= from && price <= to && (price - from) % step === 0
}
