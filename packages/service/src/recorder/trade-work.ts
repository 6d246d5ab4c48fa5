import { POW10 } from '@priorbook/sdk/domain'
import type { Ladder } from '@priorbook/sdk/tape'

/** The levels of a book at a moment, by key, and the decimals of their prices. */
export type LevelsBefore = {
  readonly decimals: number
  readonly sizes: ReadonlyMap<number, number>
}

/** Notes the levels of a book that is about to be replaced. */
export function noteLevels(ladder: Ladder): LevelsBefore {
  const sizes = new Map<number, number>()
  for (const key of ladder.keys()) sizes.set(key, ladder.size[key]!)
  return { decimals: ladder.decimals, sizes }
}

/**
 * Says whether one order that met others can have made the book what it is now. It takes levels of
 * one side from the best on, the last of them perhaps in part. Where it took all that its price met,
 * the rest of it may stand as the best of its own side. Nothing else changes, nothing that was taken
 * from grows. `keys` are the levels that differ.
 */
export function isTradeWork(
  { decimals, sizes }: LevelsBefore,
  ladder: Ladder,
  keys: readonly number[],
): boolean {
  const scale = POW10[ladder.decimals - decimals]!
  const sizeBefore = (key: number): number => {
    const ticks = key >>> 1
    if (scale !== 1 && ticks % scale !== 0) return 0
    return sizes.get((ticks / scale) * 2 + (key & 1)) ?? 0
  }
  const grown = keys.filter((key) => ladder.size[key]! > sizeBefore(key))
  const taken = keys.filter((key) => ladder.size[key]! < sizeBefore(key))
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
      return ladder.size[key] === 0 && (side === 0 ? price <= ticks : price >= ticks)
    })
  )
}
