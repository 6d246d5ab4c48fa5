import { POW10, type Gap } from '@priorbook/sdk/domain'
import {
  ABSENT,
  applyRow,
  applyRows,
  Ladder,
  loadBase,
  type BookColumns,
} from '@priorbook/sdk/tape'
import { Yielder } from '../../lib/yielder.ts'
import { BookLane } from '../../rows/index.ts'
import { ladderOf } from '../markets/quote.ts'
import type { ApiContext } from '../route.ts'
import { darkSpans, gapsOfBook } from './dark-spans.ts'
import type { MemberInstrument } from './member-book.ts'

/** A change of the middle between the best prices, observed after `from` and not later than `at`. */
export type Move = {
  /** In units of 10^−6, of bid and ask together: twice the change of the middle. */
  readonly size: number
  /** The row that shows it. */
  readonly sequence: number
  readonly received: Span
  /** By the venue's clock; undefined where a row has no such time. */
  readonly source: Span | undefined
}

type Span = { readonly from: number; readonly at: number }

/** What was read of one member. */
export type MemberMoves = { readonly moves: readonly Move[]; readonly rows: number }

/** Which moves to read. */
export type MoveQuery = {
  /** Inclusive and exclusive received time. */
  readonly start: number
  readonly end: number
  /** Before this the plan includes nothing. */
  readonly window: number
  readonly signal: AbortSignal
  /** Called where a member has more moves than this; must throw. */
  readonly most: number
  readonly onTooMany: () => never
}

/** The decimals of the sizes of moves. */
export const MOVE_DECIMALS = 6
const PAGE_ROWS = 1024
/** The clocks by which moves are timed: the recorder's, and the venue's own. */
export const MOVE_CLOCKS = ['received', 'source'] as const

/** The name of a clock. */
export type MoveClock = (typeof MOVE_CLOCKS)[number]

/** The resolution of each clock in microseconds: venues write milliseconds. */
export const CLOCK_TICKS: Readonly<Record<MoveClock, number>> = { received: 1, source: 1000 }

/** Reads the moves of the middle price of a member. A move never goes over a gap or a book with one side. */
export async function readMoves(
  context: ApiContext,
  { instrument, isComplement }: MemberInstrument,
  query: MoveQuery,
): Promise<MemberMoves> {
  const { start, end, window, signal } = query
  if (instrument === undefined || end <= start) return { moves: [], rows: 0 }
  const { venue, key } = instrument
  const { store } = context
  const damage: Gap[] = []
  const onDamage = (gaps: readonly Gap[]): void => void damage.push(...gaps)
  const { run: first } = await store.asOf({ venue, key, at: start })
  const isIncluded = first !== undefined && first.columns.received[first.to - 1]! >= window
  const book = new MiddleReader(isComplement, query)
  if (isIncluded) book.begin(ladderOf(first), first.columns, first.to - 1)
  const range = { venue, key, order: 'asc', start: start + 1, end, pageRows: PAGE_ROWS } as const
  const lane = new BookLane(store, range, { onDamage })
  const yielder = new Yielder()
  for (;;) {
    signal.throwIfAborted()
    if (!lane.isReady) await lane.load()
    if (!lane.isReady) break
    const part = lane.shiftBefore(undefined, PAGE_ROWS)
    for (let row = part.from; row < part.to; row++) {
      book.apply(part.columns, row, part.firstSequence + row)
    }
    await yielder.yieldIfDue()
  }
  const moves = book.finish()
  // Read after the rows, so that rows which were removed meanwhile are explained.
  const since = moves[0]?.received.from ?? start
  const gaps = await gapsOfBook(context, instrument, { start: Math.min(start, since), end })
  return { moves: outsideOf(moves, darkSpans([...gaps, ...damage])), rows: book.rows }
}

// Both lists are in the order of time.
function outsideOf(
  moves: readonly Move[],
  spans: readonly { readonly start: number; readonly end: number }[],
): readonly Move[] {
  let next = 0
  return moves.filter(({ received: { from, at } }) => {
    while (next < spans.length && spans[next]!.end <= from) next++
    const span = spans[next]
    return span === undefined || span.start >= at
  })
}

type Observed = {
  readonly received: number
  readonly source: number | undefined
  /** Undefined where a side is empty. */
  readonly middle: number | undefined
  readonly sequence: number
}

/** Follows a book and notes every change of its middle price. */
class MiddleReader {
  rows = 0
  readonly #moves: Move[] = []
  readonly #isComplement: boolean
  readonly #query: Pick<MoveQuery, 'most' | 'onTooMany'>
  #ladder = new Ladder()
  #columns: BookColumns | undefined
  #last: Observed | undefined
  /** The newest row, which another of the same time may replace. */
  #newest: Observed | undefined
  /** The latest time of the venue, which may go back between two messages. */
  #source = 0

  constructor(isComplement: boolean, query: Pick<MoveQuery, 'most' | 'onTooMany'>) {
    this.#isComplement = isComplement
    this.#query = query
  }

  /** Begins with the book before the range. */
  begin(ladder: Ladder, columns: BookColumns, row: number): void {
    this.#ladder = ladder
    this.#newest = this.#observe(columns, row, 0)
  }

  apply(columns: BookColumns, row: number, sequence: number): void {
    if (columns === this.#columns) applyRow(this.#ladder, columns, row)
    else {
      loadBase(this.#ladder, columns)
      applyRows(this.#ladder, columns, 0, row + 1)
      this.#columns = columns
    }
    this.rows++
    const observed = this.#observe(columns, row, sequence)
    if (this.#newest !== undefined && this.#newest.received !== observed.received) this.#settle()
    this.#newest = observed
  }

  finish(): readonly Move[] {
    this.#settle()
    return this.#moves
  }

  #observe(columns: BookColumns, row: number, sequence: number): Observed {
    const { bestBid, bestAsk, one, decimals } = this.#ladder
    const unit = POW10[MOVE_DECIMALS - decimals]!
    const sum = bestBid + bestAsk
    const hasBoth = bestBid > 0 && bestAsk < one
    const source = columns.source[row]!
    if (source !== ABSENT) this.#source = Math.max(this.#source, source)
    return {
      received: columns.received[row]!,
      source: source === ABSENT ? undefined : this.#source,
      middle: hasBoth ? (this.#isComplement ? 2 * one - sum : sum) * unit : undefined,
      sequence,
    }
  }

  #settle(): void {
    const [last, newest] = [this.#last, this.#newest]
    this.#newest = undefined
    if (newest === undefined) return
    this.#last = newest
    if (last?.middle === undefined || newest.middle === undefined) return
    if (newest.middle === last.middle) return
    this.#moves.push({
      size: newest.middle - last.middle,
      sequence: newest.sequence,
      received: { from: last.received, at: newest.received },
      source: sourceSpan(last.source, newest.source),
    })
    if (this.#moves.length > this.#query.most) this.#query.onTooMany()
  }
}

// Two rows may have the same time of the venue; a span holds at least one step of its clock.
function sourceSpan(from: number | undefined, at: number | undefined): Span | undefined {
  if (from === undefined || at === undefined) return undefined
  return { from: Math.min(from, at - CLOCK_TICKS.source), at }
}
