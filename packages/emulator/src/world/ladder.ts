import type { Book, Level, WorldEvent } from '../core/upstream.ts'

/** One changed level of an emulated book. */
export type LevelChange = Extract<WorldEvent, { kind: 'book' }>['levels'][number]

/** A side of a book: `bid` best is highest, `ask` best is lowest. */
export type Side = LevelChange['side']

/** The resting orders of one market, by price. */
export interface Ladder {
  /** Best first; a live array that callers must not keep. */
  side(side: Side): readonly Level[]
  best(side: Side): Level | undefined
  sizeAt(side: Side, price: number): number
  /** Gives a level this size (0: removes it); undefined where nothing changes. */
  set(side: Side, price: number, size: number): LevelChange | undefined
  /** Removes every level. */
  clear(): LevelChange[]
  /** A copy to keep; the same object until the next change. */
  book(): Book
}

/** Creates an empty ladder. */
export function createLadder(): Ladder {
  return new SortedLadder()
}

// A class, because a broad world has tens of thousands: closures would double what a small one takes.
class SortedLadder implements Ladder {
  readonly #bids: Level[] = []
  readonly #asks: Level[] = []
  #kept: Book | undefined

  side(side: Side): readonly Level[] {
    return side === 'bid' ? this.#bids : this.#asks
  }

  best(side: Side): Level | undefined {
    return side === 'bid' ? this.#bids[0] : this.#asks[0]
  }

  sizeAt(side: Side, price: number): number {
    const levels = this.side(side)
    const level = levels[find(levels, side, price)]
    return level?.price === price ? level.size : 0
  }

  set(side: Side, price: number, size: number): LevelChange | undefined {
    const levels = side === 'bid' ? this.#bids : this.#asks
    const at = find(levels, side, price)
    const found = levels[at]?.price === price
    const before = found ? levels[at]!.size : 0
    if (before === size) return undefined
    this.#kept = undefined
    if (size === 0) levels.splice(at, 1)
    else if (found) levels[at] = { price, size }
    else levels.splice(at, 0, { price, size })
    return { side, price, size, delta: size - before }
  }

  clear(): LevelChange[] {
    const gone = (side: Side, levels: readonly Level[]): LevelChange[] =>
      levels.map(({ price, size }) => ({ side, price, size: 0, delta: -size }))
    const changes = [...gone('bid', this.#bids), ...gone('ask', this.#asks)]
    this.#bids.length = 0
    this.#asks.length = 0
    this.#kept = undefined
    return changes
  }

  book(): Book {
    return (this.#kept ??= { bids: this.#bids.slice(), asks: this.#asks.slice() })
  }
}

function find(levels: readonly Level[], side: Side, price: number): number {
  let low = 0
  let high = levels.length
  while (low < high) {
    const middle = (low + high) >> 1
    const other = levels[middle]!.price
    if (side === 'bid' ? other > price : other < price) low = middle + 1
    else high = middle
  }
  return low
}
