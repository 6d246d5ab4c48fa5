import type { BookUpdate, OwnLevel } from './book-update.ts'

/** The best levels of a book, as text that is equal for equal books. */
export type TopText = {
  readonly bid: string
  readonly ask: string
  /** Prices and sizes of all compared levels. */
  readonly depth: string
}

/** The book of one instrument as a capture tells it. */
export class OwnBook {
  private readonly bids = new Map<number, number>()
  private readonly asks = new Map<number, number>()
  /** False before the first whole book. */
  isKnown = false

  apply(update: BookUpdate): void {
    if (update.kind === 'full') {
      this.bids.clear()
      this.asks.clear()
      for (const { price, size } of update.bids) set(this.bids, price, size)
      for (const { price, size } of update.asks) set(this.asks, price, size)
      this.isKnown = true
      return
    }
    for (const { side, price, size } of update.changes) {
      const levels = side === 'bid' ? this.bids : this.asks
      set(levels, price, update.isSigned ? (levels.get(price) ?? 0) + size : size)
    }
  }

  top(depth: number): TopText {
    return topOf(best(this.bids, -1, depth), best(this.asks, 1, depth))
  }
}

/** The text of levels, best first. */
export function topOf(bids: readonly OwnLevel[], asks: readonly OwnLevel[]): TopText {
  const text = (levels: readonly OwnLevel[]): string =>
    levels.map(({ price, size }) => `${price}x${size}`).join(' ')
  return {
    bid: bids[0] === undefined ? '' : String(bids[0].price),
    ask: asks[0] === undefined ? '' : String(asks[0].price),
    depth: `${text(bids)}|${text(asks)}`,
  }
}

function best(levels: ReadonlyMap<number, number>, direction: 1 | -1, depth: number): OwnLevel[] {
  return [...levels]
    .sort(([a], [b]) => (a - b) * direction)
    .slice(0, depth)
    .map(([price, size]) => ({ price, size }))
}

function set(levels: Map<number, number>, price: number, size: number): void {
  if (size <= 0) levels.delete(price)
  else levels.set(price, size)
}
