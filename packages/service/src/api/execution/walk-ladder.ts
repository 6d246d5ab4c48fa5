import type { LadderSide } from '@priorbook/sdk/tape'
import { divide, type Exact, type Quotient } from './exact.ts'

/** One level that an order of this size would have taken, in ticks and units. */
export type Taken = { readonly price: number; readonly size: number }

/** What a ladder would have given, exactly. */
export type LadderFill = {
  readonly taken: readonly Taken[]
  readonly filled: number
  readonly cost: Exact
  /** Undefined where nothing was filled. */
  readonly vwap: Quotient | undefined
}

/** Takes levels from the best on until a size is filled or the ladder ends. */
export function walkLadder(
  side: LadderSide,
  size: number,
  decimals: { readonly price: number; readonly size: number },
): LadderFill {
  const taken: Taken[] = []
  let filled = 0
  let units = 0n
  for (const [index, price] of side.price.entries()) {
    if (filled === size) break
    const part = Math.min(side.size[index]!, size - filled)
    taken.push({ price, size: part })
    filled += part
    units += BigInt(price) * BigInt(part)
  }
  const cost = { units, scale: decimals.price + decimals.size }
  const amount = { units: BigInt(filled), scale: decimals.size }
  return { taken, filled, cost, vwap: filled === 0 ? undefined : divide(cost, amount) }
}
