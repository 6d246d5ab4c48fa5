import { FLAGS, type Instrument } from '@priorbook/sdk/domain'
import { ABSENT, type BookRun, type Ladder } from '@priorbook/sdk/tape'
import type { StoreReader } from '../store/store.ts'
import { bookAfter, bookAt, toMark } from './stored-book.ts'
import type { Mark } from './track.ts'

/** The row of our own tape after which the rows of another recorder's tape go on. */
export type Join = {
  readonly instrument: Instrument
  readonly mark: Mark
  /** The journal record and the sequence of that row. */
  readonly journal: number
  readonly sequence: number
}

/** By how much the clocks of two recorders and of the venue may differ. */
const SKEW_MICROS = 2_000_000
// Rows of one time that are counted, and rows of our own that are searched: pages times rows per page.
const END_ROWS = 256
const OWN_PAGE = 2048
const OWN_PAGES = 500

/** The last row of another recorder's tape. */
type End = {
  readonly book: Ladder
  /** The venue's time of it; ABSENT for a full book without one. */
  readonly source: number
  /** The time from which on it was the newest row for sure. */
  readonly since: number
  /** How many of the last rows have the venue's time of the last one; undefined where that is not sure. */
  readonly count: number | undefined
}

type OwnRow = { readonly run: BookRun; readonly row: number }

/**
 * Finds the row of our own tape that is the last row of another recorder's: the same book, at the same place
 * among the venue's messages. Both tapes must miss nothing; the other one does so up to `complete`. Undefined
 * where the place cannot be proved.
 */
export async function findJoin(
  other: StoreReader,
  own: StoreReader,
  instrument: Instrument,
  complete: number,
): Promise<Join | undefined> {
  const ref = { venue: instrument.venue, key: instrument.key }
  const page = { ...ref, order: 'desc', numbers: true } as const
  const newest = await other.books({ ...page, limit: END_ROWS })
  const end = newest.corrupt.length === 0 ? readEnd(newest.runs) : undefined
  if (end === undefined) return undefined
  const found = await findRow(end, complete - SKEW_MICROS, (after) =>
    own.books({ ...page, limit: OWN_PAGE, ...(after === undefined ? {} : { after }) }),
  )
  if (found === undefined || !isSameBook(bookAt(found.run, found.row), end.book)) return undefined
  const { run, row } = found
  const sequence = run.firstSequence + row
  return { instrument, mark: toMark(run, row), journal: run.columns.journal[row]!, sequence }
}

async function findRow(
  end: End,
  sure: number,
  read: (after: number | undefined) => ReturnType<StoreReader['books']>,
): Promise<OwnRow | undefined> {
  const exact: OwnRow[] = []
  // Nothing came between its last row and that time, so our last row until then has the same book.
  const isQuiet = end.since <= sure
  if (!isQuiet && end.source === ABSENT) return undefined
  let after: number | undefined
  for (let pages = 0; pages < OWN_PAGES; pages++) {
    const { runs, hasMore, corrupt } = await read(after)
    if (corrupt.length > 0) return undefined
    for (const own of rowsBackwards(runs)) {
      const made = latestTimeOf(own)
      if (isQuiet && made <= sure) return own
      if (isQuiet) continue
      // A message with the venue's time is the same one in both tapes. Several may have one time: once there is
      // a row from before it, ours are all of them.
      if (sourceOf(own) === end.source) exact.push(own)
      if (made < end.source) return chooseExact(exact.toReversed(), end)
    }
    const oldest = runs[0]
    if (!hasMore || oldest === undefined) return undefined
    after = oldest.firstSequence + oldest.from
  }
  return undefined
}

function chooseExact(exact: readonly OwnRow[], { book, count }: End): OwnRow | undefined {
  const same = exact.filter(({ run, row }) => isSameBook(bookAt(run, row), book))
  if (same.length === 1) return same[0]
  return count === undefined ? undefined : exact[count - 1]
}

function* rowsBackwards(runs: readonly BookRun[]): Generator<OwnRow> {
  for (const run of runs.toReversed()) {
    for (let row = run.to - 1; row >= run.from; row--) yield { run, row }
  }
}

function readEnd(runs: readonly BookRun[]): End | undefined {
  const book = bookAfter(runs)
  const run = runs.at(-1)
  if (book === undefined || run === undefined) return undefined
  const last = { run, row: run.to - 1 }
  const source = sourceOf(last)
  const count = source === ABSENT ? undefined : countOf(runs, source)
  return { book, source, since: latestTimeOf(last), count }
}

// Undefined where the book was opened within that time, or rows of it may lie before these.
function countOf(runs: readonly BookRun[], source: number): number | undefined {
  let count = 0
  for (const own of rowsBackwards(runs)) {
    // A full book without a time may have been made in between.
    if (sourceOf(own) !== source) return sourceOf(own) === ABSENT ? undefined : count
    if ((own.run.columns.flags[own.row]! & (FLAGS.restart | FLAGS.after_gap)) !== 0) {
      return undefined
    }
    count++
  }
  return undefined
}

function sourceOf({ run, row }: OwnRow): number {
  return run.columns.source[row]!
}

// When the venue made the message at the latest. Some full books have no time but ours.
function latestTimeOf(own: OwnRow): number {
  const source = sourceOf(own)
  return source === ABSENT ? own.run.columns.received[own.row]! + SKEW_MICROS : source
}

function isSameBook(one: Ladder, other: Ladder): boolean {
  if (one.bidLevels !== other.bidLevels || one.askLevels !== other.askLevels) return false
  const decimals = Math.max(one.decimals, other.decimals)
  const [a, b] = [one.clone(), other.clone()]
  a.rescale(decimals)
  b.rescale(decimals)
  return a.keys().every((key) => a.sizeAt(key) === b.sizeAt(key))
}
