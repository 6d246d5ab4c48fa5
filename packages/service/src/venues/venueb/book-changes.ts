import type { BookSnapshot, Level } from '@priorbook/sdk/domain'

/** How many levels differ between two books: the measure of activity between two polls. */
export function countChanges(before: BookSnapshot, after: BookSnapshot): number {
  return differing(before.bids, after.bids) + differing(before.asks, after.asks)
}

function differing(before: readonly Level[], after: readonly Level[]): number {
  const sizes = new Map<number, number>(before.map(({ price, size }) => [price, size]))
  let count = 0
  for (const { price, size } of after) {
    if (sizes.get(price) !== size) count++
    sizes.delete(price)
  }
  return count + sizes.size
}
