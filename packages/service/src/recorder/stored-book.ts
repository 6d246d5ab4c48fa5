import { applyRows, Ladder, loadBase, type BookRun } from '@priorbook/sdk/tape'
import type { Mark } from './track.ts'

/** The book after a row of a run. */
export function bookAt(run: BookRun, row: number): Ladder {
  const ladder = new Ladder(run.columns.priceDecimals)
  loadBase(ladder, run.columns)
  applyRows(ladder, run.columns, 0, row + 1)
  return ladder
}

/** The book after the last row of some runs; undefined where there is no row. */
export function bookAfter(runs: readonly BookRun[]): Ladder | undefined {
  const run = runs.at(-1)
  return run === undefined ? undefined : bookAt(run, run.to - 1)
}

/** When and over which channel a stored row came. */
export function toMark({ columns }: BookRun, row: number): Mark {
  return {
    received: columns.received[row]!,
    source: columns.source[row]!,
    venueSeq: columns.venueSeq[row]!,
    channel: columns.channel[row]!,
  }
}
