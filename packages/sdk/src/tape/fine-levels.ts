/**
 * The levels of a book with very fine ticks, sorted by price. A slot per tick would take 16 MB at six
 * decimals; here memory follows the number of levels, and a change costs a binary search.
 */
export class FineLevels {
  /** Of each side, best first: ascending ticks of asks, and of bids negative ones; side 0 is the bids. */
  private readonly ranks: readonly [number[], number[]] = [[], []]
  /** The sizes at the same places. */
  private readonly sizes: readonly [number[], number[]] = [[], []]

  /** The number of levels of a side. */
  count(side: 0 | 1): number {
    return this.ranks[side].length
  }

  /** The size of a level; 0 where there is none. */
  sizeAt(key: number): number {
    const side = (key & 1) as 0 | 1
    const rank = rankOf(key)
    const at = placeOf(this.ranks[side], rank)
    return this.ranks[side][at] === rank ? this.sizes[side][at]! : 0
  }

  /** Sets one level to a size; 0 removes it. */
  apply(key: number, size: number): void {
    const side = (key & 1) as 0 | 1
    const rank = rankOf(key)
    const ranks = this.ranks[side]
    const sizes = this.sizes[side]
    // Venues send whole books best first, so that most levels come at the end.
    const isLast = ranks.length === 0 || ranks.at(-1)! < rank
    const at = isLast ? ranks.length : placeOf(ranks, rank)
    if (ranks[at] === rank) {
      if (size !== 0) sizes[at] = size
      else {
        ranks.splice(at, 1)
        sizes.splice(at, 1)
      }
    } else if (size !== 0) {
      ranks.splice(at, 0, rank)
      sizes.splice(at, 0, size)
    }
  }

  /** The next bid below a price, 0 at the end. */
  nextBid(below: number): number {
    const [bids] = this.ranks
    const found = bids[placeOf(bids, 1 - below)]
    return found === undefined ? 0 : -found
  }

  /** The next ask above a price, `one` at the end. */
  nextAsk(above: number, one: number): number {
    const [, asks] = this.ranks
    return asks[placeOf(asks, above + 1)] ?? one
  }

  /** Removes every level. */
  clear(): void {
    for (const column of [...this.ranks, ...this.sizes]) column.length = 0
  }
}

function rankOf(key: number): number {
  return (key & 1) === 0 ? -(key >> 1) : key >> 1
}

// The place of the first value that is not below `wanted`.
function placeOf(values: readonly number[], wanted: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (values[middle]! < wanted) low = middle + 1
    else high = middle
  }
  return low
}
