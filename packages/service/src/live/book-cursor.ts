import {
  applyRow,
  applyRows,
  BookColumns,
  Ladder,
  loadBase,
  type BookRun,
} from '@priorbook/sdk/tape'

/** A position among the rows of an instrument, with the book after the last row. */
export class BookCursor {
  readonly ladder = new Ladder()
  /** The sequence of the last row; 0 before the first. */
  sequence = 0
  private last: BookColumns | undefined

  /** Moves to a row from anywhere. */
  jump({ columns, firstSequence }: BookRun, row: number): void {
    this.jumpBefore({ columns, firstSequence, from: row, to: row + 1 }, row)
    this.step({ columns, firstSequence, from: row, to: row + 1 }, row)
  }

  /** Moves from anywhere to just before a row; `row` and `whole` are not available until the next step. */
  jumpBefore({ columns, firstSequence }: BookRun, row: number): void {
    loadBase(this.ladder, columns)
    applyRows(this.ladder, columns, 0, row)
    this.sequence = firstSequence + row - 1
  }

  /** Moves to the next row and returns it as columns of one row, in the ladder's ticks. */
  step({ columns, firstSequence }: BookRun, row: number): BookColumns {
    const { ladder } = this
    const changes = columns.changeEnd[row]! - columns.changeStart(row)
    const single = new BookColumns(columns.priceDecimals, 1, changes)
    single.pushRows(columns, row, row + 1)
    if (single.priceDecimals > ladder.decimals) ladder.rescale(single.priceDecimals)
    else single.rescale(ladder.decimals)
    applyRow(ladder, single, 0)
    this.sequence = firstSequence + row
    this.last = single
    return single
  }

  /** True when a row directly follows the last one. */
  precedes({ firstSequence }: BookRun, row: number): boolean {
    return firstSequence + row === this.sequence + 1
  }

  /** The last row, with the whole book after it as its base. */
  whole(): BookColumns {
    const { ladder } = this
    const last = this.last!
    const columns = new BookColumns(ladder.decimals, 1, 1)
    columns.pushRows(last, 0, 1)
    columns.baseKey = ladder.keys()
    columns.baseSize = columns.baseKey.map((key) => ladder.sizeAt(key))
    return columns
  }

  /** The last row with all changes between an older book and this one. */
  since(before: Ladder): BookColumns {
    const last = this.last!
    const columns = new BookColumns(this.ladder.decimals, 1, 1)
    const head = {
      received: last.received[0]!,
      source: last.source[0]!,
      venueSeq: last.venueSeq[0]!,
      channel: last.channel[0]!,
      journal: last.journal[0]!,
      flags: last.flags[0]!,
    }
    const { keys, sizes } = differenceOf(before, this.ladder)
    columns.push(head, keys, sizes)
    return columns
  }

  /** The last row as recorded. */
  row(): BookColumns {
    return this.last!
  }
}

/** The changes from one book to another: bids best first, then asks best first; size 0 removes a level. */
export function differenceOf(
  before: Ladder,
  after: Ladder,
): { readonly keys: readonly number[]; readonly sizes: readonly number[] } {
  before.rescale(Math.max(before.decimals, after.decimals))
  after.rescale(before.decimals)
  const changed = after.keys().filter((key) => before.sizeAt(key) !== after.sizeAt(key))
  const gone = before.keys().filter((key) => after.sizeAt(key) === 0)
  const keys = [...changed, ...gone].sort(byBest)
  return { keys, sizes: keys.map((key) => after.sizeAt(key)) }
}

function byBest(left: number, right: number): number {
  const side = (left & 1) - (right & 1)
  if (side !== 0) return side
  return (left & 1) === 0 ? right - left : left - right
}
