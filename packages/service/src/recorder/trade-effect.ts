import type { Ladder } from '@priorbook/sdk/tape'

/**
 * True when one order that matched others can have made the book what it is now. Such an order takes
 * levels of one side from the best on, the last of them perhaps in part. Where it took everything up to
 * its price, its rest may stand as the best level of its own side. Nothing else changes. `keys` are
 * the levels that differ, `sizesBefore` the sizes that they had.
 */
export function isTradeEffect(
  ladder: Ladder,
  keys: readonly number[],
  sizesBefore: readonly number[],
): boolean {
  const grown = keys.filter((key, at) => ladder.sizeAt(key) > sizesBefore[at]!)
  const taken = keys.filter((key, at) => ladder.sizeAt(key) < sizesBefore[at]!)
  if (grown.length > 1 || taken.length === 0) return false
  const side = taken[0]! & 1
  const best = (of: number): number => (of === 0 ? ladder.bestBid : ladder.bestAsk)
  // Better prices of a side are those nearer to the other one.
  const isBeyond = (ticks: number, of: number): boolean =>
    of === 0 ? ticks < best(0) : ticks > best(1)
  if (taken.some((key) => (key & 1) !== side || isBeyond(key >>> 1, side))) return false
  const rest = grown[0]
  if (rest === undefined) return true
  const price = rest >>> 1
  return (
    (rest & 1) !== side &&
    price === best(rest & 1) &&
    taken.every((key) => {
      const ticks = key >>> 1
      return ladder.sizeAt(key) === 0 && (side === 0 ? price <= ticks : price >= ticks)
    })
  )
}
