import { printScaled } from '@priorbook/sdk/domain'
import { applyRow, Ladder, loadBase, type BookColumns, type BookRun } from '@priorbook/sdk/tape'

/** One row of a page with its whole book as text: bids and asks, best first. */
export type FoldedRow = {
  readonly columns: BookColumns
  readonly row: number
  readonly sequence: number
  readonly book: string
}

/** Folds every row of a page, change by change. */
export function* foldRuns(runs: readonly BookRun[], sizeDecimals: number): Iterable<FoldedRow> {
  for (const { columns, firstSequence, from, to } of runs) {
    const ladder = new Ladder()
    loadBase(ladder, columns)
    for (let row = 0; row < to; row++) {
      applyRow(ladder, columns, row)
      if (row < from) continue
      yield { columns, row, sequence: firstSequence + row, book: textOf(ladder, sizeDecimals) }
    }
  }
}

function textOf(ladder: Ladder, sizeDecimals: number): string {
  const side = ({ price, size }: { price: number[]; size: number[] }): string =>
    price
      .map((p, at) => `${printScaled(p, ladder.decimals)}×${printScaled(size[at]!, sizeDecimals)}`)
      .join(' ')
  return `${side(ladder.bids())} | ${side(ladder.asks())}`
}
