import { POW10, type MarketRecord } from '@priorbook/sdk/domain'
import { PRICE_DECIMALS, rulesOf, type TickRange } from '@priorbook/sdk/backtest'
import type { Observation } from '@priorbook/sdk/tape'

/** The prices that a market allows. */
export class TickGrid {
  private readonly ticks: readonly TickRange[]
  /** By decimals of a row: true where every price with so few decimals is on the grid. */
  private readonly holdsAll: readonly boolean[]

  constructor(ticks: readonly TickRange[]) {
    this.ticks = ticks
    const [first] = ticks
    this.holdsAll = POW10.map((_, decimals) => {
      const unit = 10 ** (PRICE_DECIMALS - decimals)
      // One range over all prices, in steps that fit: from one step up to one step below 1.
      const isEven = ticks.length === 1 && first!.from === first!.step
      return isEven && first!.to === 10 ** PRICE_DECIMALS - first!.step && unit % first!.step === 0
    })
  }

  /** The grid that a record describes; undefined where it does not give its ticks. */
  static of(record: MarketRecord | undefined): TickGrid | undefined {
    const ticks = record === undefined ? undefined : rulesOf(record)?.ticks
    return ticks === undefined ? undefined : new TickGrid(ticks)
  }

  /** True where a row sets a level at a price that is not on the grid. */
  isLeftBy({ keys, sizes, priceDecimals }: Observation): boolean {
    if (this.holdsAll[priceDecimals]!) return false
    const scale = 10 ** (PRICE_DECIMALS - priceDecimals)
    for (let at = 0; at < keys.length; at++) {
      if (sizes[at] === 0) continue
      const price = (keys[at]! >>> 1) * scale
      if (!this.ticks.some(({ from, to, step }) => isOn(price, from, to, step))) return true
    }
    return false
  }
}

function isOn(price: number, from: number, to: number, step: number): boolean {
  return price >= from && price <= to && (price - from) % step === 0
}
