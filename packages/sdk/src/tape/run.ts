import { FLAGS } from '../domain/index.ts'
import type { BookColumns } from './columns.ts'
import type { Ladder } from './ladder.ts'

/**
 * Consecutive book rows of a store: rows [from, to) of decoded columns, without a copy. The columns are
 * shared with other readers and must not be modified.
 */
export type BookRun = {
  readonly columns: BookColumns
  /** The sequence of row 0 of the columns. */
  readonly firstSequence: number
  readonly from: number
  readonly to: number
  /** The hash of the chunk that the columns come from; absent while the rows are not in a chunk. */
  readonly chunk?: string | undefined
}

/** The bucket that a sampled row represents. */
export type BucketFacts = {
  readonly start: number
  readonly end: number
  /** The age of the book at the end of the bucket, printed with up to three decimals. */
  readonly ageMs: number
  readonly observations: number
  readonly changes: number
  /** True where the bucket is still open or cut by the range. */
  readonly partial: boolean
}

/** One row of shared columns, sampled for a bucket. */
export type BookPick = {
  readonly columns: BookColumns
  readonly row: number
  /** The sequence of that row. */
  readonly sequence: number
  readonly bucket?: BucketFacts | undefined
}

// Below this many rows, updating best prices with every change is cheaper than recomputing them.
const WORTH_BULK = 16

/** Sets a ladder to the book before row 0 of the columns. */
export function loadBase(ladder: Ladder, columns: BookColumns): void {
  ladder.clear()
  ladder.rescale(columns.priceDecimals)
  const { baseKey, baseSize } = columns
  ladder.putLevels(baseKey, baseSize)
  ladder.settle()
}

/** Applies one row's changes; a row with the flag `restart` first empties the book. */
export function applyRow(ladder: Ladder, columns: BookColumns, row: number): void {
  if ((columns.flags[row]! & FLAGS.restart) !== 0) ladder.clear()
  const end = columns.changeEnd[row]!
  for (let index = columns.changeStart(row); index < end; index++) {
    ladder.apply(columns.key[index]!, columns.size[index]!)
  }
}

/** Applies rows [from, to). */
export function applyRows(ladder: Ladder, columns: BookColumns, from: number, to: number): void {
  if (to - from < WORTH_BULK) {
    for (let row = from; row < to; row++) applyRow(ladder, columns, row)
    return
  }
  const { flags, key, size } = columns
  let restart = to - 1
  while (restart >= from && (flags[restart]! & FLAGS.restart) === 0) restart--
  if (restart >= from) ladder.clear()
  const start = columns.changeStart(Math.max(from, restart))
  ladder.putChanges(key, size, start, columns.changeEnd[to - 1]!)
  ladder.settle()
}
