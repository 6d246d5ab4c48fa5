import { POW10, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { rulesOf, type TickRange } from '@priorbook/sdk/backtest'
import type { Observation } from '@priorbook/sdk/tape'

/** The prices that markets allow, as their records say. */
export class TickGrids {
  // Records do not change: a revision is a new object.
  private readonly known = new WeakMap<MarketRecord, readonly TickRange[]>()

  /** Undefined where the record does not give its ticks. */
  of(record: MarketRecord | undefined): readonly TickRange[] | undefined {
    if (record === undefined) return undefined
    let ticks = this.known.get(record)
    if (ticks === undefined) {
      ticks = rulesOf(record)?.ticks ?? NONE
      this.known.set(record, ticks)
    }
    return ticks === NONE ? undefined : ticks
  }
}

const NONE: readonly TickRange[] = []

/** True where a row sets a level at a price that is not on the ticks. */
export function isOffGrid(
  row: Pick<Observation, 'instrument' | 'keys' | 'sizes' | 'priceDecimals'>,
  ticks: readonly TickRange[],
): boolean {
  const { instrument, keys, sizes, priceDecimals } = row
  // Ranges are in ticks of the venue.
  const factor = POW10[VENUES[instrument.venue].priceDecimals - priceDecimals]!
  for (let at = 0; at < keys.length; at++) {
    if (sizes[at] === 0) continue
    const price = (keys[at]! >>> 1) * factor
    if (!ticks.some(({ from, to, step }) => isOn(price, from, to, step))) return true
  }
  return false
}

function isOn(price: number, from: number, to: number, step: number): boolean {
  return price >= from && price <= to && (price - from) % step === 0
}
