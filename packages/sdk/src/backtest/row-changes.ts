import { POW10 } from '../domain/index.ts'
import type { BookEvent } from '../replay/index.ts'
import { maskOf } from './level-masks.ts'
import type { InstrumentBook, MarketState } from './market-state.ts'

/** The levels that a row changes, read once for all runs before the row is applied. */
export class RowChanges {
  count = 0
  /** The bits of all changed levels, by `maskOf`. */
  mask = 0
  /** Level keys: price × 2 + side in ticks of the venue. */
  keys = new Int32Array(16)
  /** The displayed size of each level before the row, and after it. */
  before = new Float64Array(16)
  after = new Float64Array(16)

  /** Reads the row of an event; `book` does not have it yet. */
  read(book: InstrumentBook, { columns, row }: BookEvent): void {
    const { key, size, changeEnd } = columns
    const factor = factorOf(book.market, columns)
    const start = columns.changeStart(row)
    const count = changeEnd[row]! - start
    if (count > this.keys.length) this.grow(count)
    const { keys, before, after } = this
    let mask = 0
    for (let index = 0; index < count; index++) {
      const level = key[start + index]!
      const price = ((level >>> 1) * factor) | 0
      const side = (level & 1) as 0 | 1
      const levelKey = (price * 2 + side) | 0
      keys[index] = levelKey
      before[index] = book.sizeAt(side, price)
      after[index] = size[start + index]!
      mask |= maskOf(levelKey)
    }
    this.count = count
    this.mask = mask
  }

  private grow(count: number): void {
    this.keys = new Int32Array(count)
    this.before = new Float64Array(count)
    this.after = new Float64Array(count)
  }
}

/** Ticks of the venue per tick of the columns; a small integer, which is faster than a double. */
export function factorOf(
  { priceDecimals }: Pick<MarketState, 'priceDecimals'>,
  columns: BookEvent['columns'],
): number {
  return POW10[priceDecimals - columns.priceDecimals]! | 0
}
