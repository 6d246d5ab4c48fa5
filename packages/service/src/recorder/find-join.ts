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
export const SKEW_MICROS = 2_000_000
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
  if (found === undefined || !isSame(found, end)) return undefined
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
  let last: OwnRow | undefined
  let isOpenBefore = false
  let after: number | undefined
  search: for (let pages = 0; pages < OWN_PAGES; pages++) {
    const { runs, hasMore, corrupt } = await read(after)
    if (corrupt.length > 0) return undefined
    for (const own of rowsBackwards(runs)) {
      const made = latestTimeOf(own)
      if (made <= sure) last ??= own
      if (end.source !== ABSENT && sourceOf(own) === end.source) exact.push(own)
      isOpenBefore = end.source !== ABSENT && made < end.source
      if (last !== undefined && (end.source === ABSENT || isOpenBefore)) break search
    }
    const oldest = runs[0]
    if (!hasMore || oldest === undefined) break
    after = oldest.firstSequence + oldest.from
  }
  // It was the newest row for so long that nothing else of its time can be missing.
  const isQuiet = end.since <= sure
  if (exact.length === 0) return isQuiet ? last : undefined
  // A message with the venue's time is the same one in both tapes. Several may have one time.
  const inOrder = exact.toReversed()
  if (isOpenBefore && !inOrder.some(opensBook)) return chooseExact(inOrder, end)
  // We opened the book within that time, or later.
  return isQuiet && inOrder.every((own) => isSame(own, end)) ? inOrder.at(-1) : undefined
}

function chooseExact(exact: readonly OwnRow[], end: End): OwnRow | undefined {
  const same = exact.filter((own) => isSame(own, end))
  const [first, last] = [same[0], same.at(-1)]
  if (first === undefined || last === undefined) return undefined
  // Answers repeat a book without a change in between.
  if (exact.indexOf(last) - exact.indexOf(first) === same.length - 1) return last
  const counted = end.count === undefined ? undefined : exact[end.count - 1]
  return same.find((own) => own === counted)
}

function isSame({ run, row }: OwnRow, { book }: End): boolean {
  return bookAt(run, row).equals(book)
}

function opensBook({ run, row }: OwnRow): boolean {
  return (run.columns.flags[row]! & (FLAGS.restart | FLAGS.after_gap)) !== 0
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
    if (opensBook(own)) return undefined
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
