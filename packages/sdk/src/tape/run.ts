import { FLAGS } from '../domain/index.ts'
import type { BookColumns } from './columns.ts'
import type { Ladder } from './ladder.ts'

/**
 * A stretch of observations as a store hands it out: rows [from, to) of decoded columns, without a
 * copy. The columns are shared with other readers: never write to them.
 */
export type BookRun = {
  readonly columns: BookColumns
  /** The sequence of row 0 of the columns. */
  readonly firstSequence: number
  readonly from: number
  readonly to: number
  /** A hash of the chunk that the columns were decoded from; absent while the rows are in none. */
  readonly chunk?: string | undefined
}

/** The facts of the bucket that an observation stands for. */
export type BucketFacts = {
  readonly start: number
  readonly end: number
  /** How old the book was at the end of the bucket; printed with up to three decimals. */
  readonly ageMs: number
  readonly observations: number
  readonly changes: number
  /** The bucket is still open or cut by the range. */
  readonly partial: boolean
}

/** One observation of shared columns, chosen for a bucket. */
export type BookPick = {
  readonly columns: BookColumns
  readonly row: number
  /** The sequence of that row. */
  readonly sequence: number
  readonly bucket?: BucketFacts | undefined
}

// Below so many rows, counting the levels once costs more than keeping count.
const WORTH_BULK = 16

/** Sets a ladder to the book before row 0 of the columns. */
export function loadBase(ladder: Ladder, columns: BookColumns): void {
  ladder.clear()
  ladder.rescale(columns.priceDecimals)
  const { baseKey, baseSize } = columns
  for (let index = 0; index < baseKey.length; index++) ladder.put(baseKey[index]!, baseSize[index]!)
  ladder.settle()
}

/** Applies one row's changes; a row that restarts the book starts from the empty one. */
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
  const end = columns.changeEnd[to - 1]!
  for (let index = columns.changeStart(Math.max(from, restart)); index < end; index++) {
    ladder.put(key[index]!, size[index]!)
  }
  ladder.settle()
}
