import { BookColumns, type Ladder } from '@priorbook/sdk/tape'
import { lastAtMost } from './directory.ts'

/** A decoded stretch of a stream: a chunk or the tail. */
export type Stretch = {
  readonly columns: BookColumns
  readonly first: number
  readonly changesBefore: number
  /** A hash of the chunk; absent for the tail. */
  readonly chunk?: string | undefined
}

/**
 * One self-contained row: the book after it, with its changes, which are idempotent. With `depth` the book has at most
 * that many levels per side, and the row has no changes.
 */
export function toSingleRow(
  book: Ladder,
  from: BookColumns,
  row: number,
  depth?: number,
): BookColumns {
  const columns = new BookColumns(from.priceDecimals, 1, 1)
  if (depth === undefined) columns.pushRows(from, row, row + 1)
  else {
    columns.pushHeadOf(from, row)
    columns.changeEnd[0] = 0
  }
  columns.rescale(book.decimals)
  columns.baseKey = book.keys(depth)
  columns.baseSize = columns.baseKey.map((key) => book.sizeAt(key))
  return columns
}

/** The exclusive end of a query, at most just after `knownAt`. */
export function endOf(query: { end?: number | undefined; knownAt?: number | undefined }): number {
  const end = query.end ?? Number.MAX_SAFE_INTEGER
  return query.knownAt === undefined ? end : Math.min(end, query.knownAt + 1)
}

/** The last row received at or before a time, −1 when all are later. */
export function lastReceivedAtMost(
  columns: { readonly count: number; readonly received: Float64Array },
  time: number,
): number {
  return lastAtMost(columns.count, (row) => columns.received[row]!, time)
}
