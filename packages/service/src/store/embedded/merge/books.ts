import { FLAGS, type Gap, type Instrument } from '@priorbook/sdk/domain'
import {
  ABSENT,
  Ladder,
  type Observation,
  applyRow,
  applyRows,
  loadBase,
  type BookRun,
  type RowHead,
} from '@priorbook/sdk/tape'
import type { Maker } from '../log.ts'
import type { Numbers } from './source.ts'
import type { MergeSink } from './target.ts'
import { endOf, findCommonGaps, type Sight } from './blind-spans.ts'
import type { InstrumentRef, StoreReader } from '../../store.ts'

/** One recorder's books of an instrument. */
export type BookSide = {
  readonly walk: BookWalk
  readonly sight: Sight
  readonly own: OwnGaps
  readonly numbers: Numbers
  readonly makerAt: (sequence: number) => Maker
}

/** How the books of an instrument were merged. */
export type BookCounts = {
  observations: number
  /** Observations of recorders other than the first. */
  filled: number
  /** Dropped at a change of recorder: the previous one had delivered the same or a newer message. */
  repeated: number
  gaps: number
}

// Max difference in received time between two recorders' copies of the same message.
const SKEW_MICROS = 2_000_000

/** An instrument's recorders in order of recorder id; the first one's rows take precedence. */
export type BookParts = {
  readonly instrument: Instrument
  readonly sides: readonly BookSide[]
  /** The sights of all recorders that know the instrument, including those without a row. */
  readonly sights: readonly Sight[]
  /** The maker of merged gaps. */
  readonly maker: Maker
}

/** Merges the books of one instrument into the sink. */
export async function mergeBooks(
  parts: BookParts,
  sink: MergeSink,
  counts: BookCounts,
): Promise<void> {
  await new BookMerge(parts, sink, counts).run()
}

type Last = {
  readonly side: number
  readonly sequence: number
  readonly received: number
  readonly source: number
}

class BookMerge {
  private readonly instrument: Instrument
  private readonly sides: readonly BookSide[]
  private readonly maker: Maker
  private readonly gaps: readonly Gap[]
  private readonly sink: MergeSink
  private readonly counts: BookCounts
  // The times when a recorder goes blind and another one takes over with its current book.
  private readonly starts: readonly number[]
  private nextStart = 0
  private nextGap = 0
  private openGaps: Gap[] = []
  private sequence = 0
  private last: Last | undefined
  // The book of the last row, once its recorder's walk has moved on.
  private lastBook: Ladder | undefined
  private readonly given: number[]

  constructor(parts: BookParts, sink: MergeSink, counts: BookCounts) {
    this.instrument = parts.instrument
    this.sides = parts.sides
    this.maker = parts.maker
    this.gaps = findCommonGaps(parts.sights)
    this.sink = sink
    this.counts = counts
    this.given = this.sides.map(() => 0)
    const starts = this.sides.flatMap(({ sight }) => sight.united.map(({ start }) => start))
    this.starts = [...new Set(starts)].sort((a, b) => a - b)
  }

  async run(): Promise<void> {
    for (;;) {
      for (const { walk } of this.sides) while (walk.needsPage) await walk.load()
      const side = this.nextSide()
      if (side === undefined) break
      this.enterBefore(this.sides[side]!.walk.nextReceived)
      this.step(side)
      if (this.sink.isFull) await this.sink.flush()
    }
    this.enterBefore(Infinity)
    this.writeGaps(Infinity, false)
  }

  private nextSide(): number | undefined {
    let best: number | undefined
    for (const [index, { walk }] of this.sides.entries()) {
      if (!walk.hasNext) continue
      if (best === undefined || walk.nextReceived < this.sides[best]!.walk.nextReceived)
        best = index
    }
    return best
  }

  private step(side: number): void {
    const { walk, own } = this.sides[side]!
    const { nextReceived: received, nextSequence } = walk
    const isBlind = own.has(nextSequence, received)
    const isBlindAt = ({ sight }: BookSide): boolean => sight.isBlindAt(received)
    // Where all recorders were blind, the first one's rows stay unchanged, inside the gap.
    const isWanted = isBlind
      ? side === 0 && this.sides.slice(1).every(isBlindAt)
      : this.sides.slice(0, side).every(isBlindAt)
    const { last } = this
    if (last?.side === side && walk.sequence === last.sequence && !isWanted) {
      this.lastBook = walk.ladder.clone()
    }
    walk.advance()
    if (!isWanted) return
    if (!isBlind && this.isRepeated(side, received)) this.counts.repeated++
    else this.give(side, isBlind)
  }

  // At a change of recorder the next message may repeat one that the previous recorder delivered.
  private isRepeated(side: number, received: number): boolean {
    const { last } = this
    if (last === undefined || last.side === side) return false
    if (received - last.received > SKEW_MICROS || this.hasGapBefore(received)) return false
    const { walk } = this.sides[side]!
    const source = walk.head!.source
    if (source === ABSENT || last.source === ABSENT || source > last.source) return false
    return source < last.source || walk.ladder.equals(this.bookOf(last))
  }

  private hasGapBefore(received: number): boolean {
    const next = this.gaps[this.nextGap]
    return this.openGaps.length > 0 || (next !== undefined && next.start < received)
  }

  private bookOf({ side, sequence }: Last): Ladder {
    const { walk } = this.sides[side]!
    return walk.sequence === sequence ? walk.ladder : this.lastBook!
  }

  private enterBefore(time: number): void {
    while (this.nextStart < this.starts.length && this.starts[this.nextStart]! < time) {
      this.enter(this.starts[this.nextStart++]!)
    }
  }

  // From this time on another recorder is needed. If it is ahead of the one that went blind, its book
  // applies at once, not only from its next message on.
  private enter(time: number): void {
    const side = this.sides.findIndex(({ sight }) => !sight.isBlindAfter(time))
    const { last } = this
    if (side < 0 || last === undefined) return
    const { walk } = this.sides[side]!
    const { head } = walk
    if (head === undefined || walk.sequence === this.given[side]) return
    const isKnown = head.source !== ABSENT && last.source !== ABSENT && head.source !== last.source
    const isAhead = isKnown
      ? head.source > last.source
      : head.received >= last.received - SKEW_MICROS
    if (isAhead && !walk.ladder.equals(this.bookOf(last))) this.give(side, false)
  }

  private give(side: number, isBlind: boolean): void {
    const { walk, numbers, makerAt } = this.sides[side]!
    const head = numbers.headOf(walk.head!)
    const { last } = this
    const isNext = last?.side === side && last.sequence === walk.sequence - 1
    const isWhole = (head.flags & FLAGS.restart) !== 0
    let { received, flags } = head
    const startsAnew = isWhole || (flags & FLAGS.after_gap) !== 0
    this.writeGaps(received, isBlind, startsAnew)
    const closes = !isBlind && this.closeGaps(received)
    if (!isNext && !isWhole) flags |= FLAGS.restart
    if (last !== undefined && (!isNext || (flags & FLAGS.after_gap) !== 0)) {
      flags = closes ? flags | FLAGS.after_gap : flags & ~FLAGS.after_gap
    }
    if (last !== undefined && received < last.received) {
      received = last.received + 1
      flags |= FLAGS.clock_step
    }
    const levels = isNext || isWhole ? walk.changes() : walk.book()
    const { instrument } = this
    const row: Observation = { ...head, ...levels, instrument, received, flags }
    this.sink.rowsOf(instrument.venue, makerAt(walk.sequence)).observations.push(row)
    this.sequence++
    this.counts.observations++
    if (side > 0) this.counts.filled++
    this.last = { side, sequence: walk.sequence, received, source: head.source }
    this.lastBook = undefined
    this.given[side] = walk.sequence
  }

  // A gap is written once the last good row before it has its number: before the first row that is
  // received later, or at the same instant inside the gap, or after a gap without length.
  private writeGaps(received: number, isBlind: boolean, startsAnew = false): void {
    for (let gap = this.gaps[this.nextGap]; gap !== undefined; gap = this.gaps[this.nextGap]) {
      const isTied = gap.start === received
      const isBehind = isBlind || (startsAnew && gap.end === received)
      if (gap.start > received || (isTied && !isBehind)) return
      const { key } = this.instrument
      const placed: Gap = { ...gap, scope: 'instrument', key, afterSequence: this.sequence }
      this.sink.rowsOf(gap.venue, this.maker).gaps.push(placed)
      this.openGaps.push(placed)
      this.counts.gaps++
      this.nextGap++
    }
  }

  private closeGaps(received: number): boolean {
    const before = this.openGaps.length
    if (before === 0) return false
    this.openGaps = this.openGaps.filter((gap) => endOf(gap) > received)
    return this.openGaps.length < before
  }
}

const PAGE_ROWS = 4096

/** Which levels an observation names. */
export type Levels = {
  readonly priceDecimals: number
  readonly keys: readonly number[]
  readonly sizes: readonly number[]
}

/**
 * Walks the observations of one instrument on one tape, page by page, and holds the book of the one
 * that was taken last. The one ahead can be looked at before it is taken.
 */
export class BookWalk {
  /** The book after the row that was taken last. */
  readonly ladder = new Ladder()
  /** The row that was taken last, and its sequence; 0 before the first. */
  head: RowHead | undefined
  sequence = 0
  private changed: Levels | undefined
  private readonly store: StoreReader
  private readonly ref: InstrumentRef
  private readonly bound: number
  private runs: readonly BookRun[] = []
  private run = 0
  private row = 0
  private isLast = false
  // Which row of which columns the ladder is ready to take.
  private ready: { readonly columns: BookRun['columns']; readonly row: number } | undefined

  /** Rows after the journal record `bound` are not looked at. */
  constructor(store: StoreReader, ref: InstrumentRef, bound: number) {
    this.store = store
    this.ref = { venue: ref.venue, key: ref.key }
    this.bound = bound
  }

  /** True when `load` must be awaited to know what is ahead. */
  get needsPage(): boolean {
    return this.run === this.runs.length && !this.isLast
  }

  /** True while a row is ahead. */
  get hasNext(): boolean {
    return this.run < this.runs.length
  }

  get nextReceived(): number {
    return this.runs[this.run]!.columns.received[this.row]!
  }

  get nextSequence(): number {
    return this.runs[this.run]!.firstSequence + this.row
  }

  /** Reads the next page. */
  async load(): Promise<void> {
    const last = this.runs.at(-1)
    const after = last === undefined ? undefined : last.firstSequence + last.to - 1
    const query = { order: 'asc', limit: PAGE_ROWS, numbers: true, after } as const
    const page = await this.store.books({ ...this.ref, ...query })
    this.runs = page.runs
    this.isLast = !page.hasMore
    this.enter(0)
  }

  /** Takes the row ahead: the ladder is its book then. */
  advance(): void {
    const { columns, firstSequence, to } = this.runs[this.run]!
    const { row } = this
    if (this.ready?.columns !== columns || this.ready.row !== row) {
      loadBase(this.ladder, columns)
      applyRows(this.ladder, columns, 0, row)
    }
    applyRow(this.ladder, columns, row)
    this.ready = { columns, row: row + 1 }
    this.sequence = firstSequence + row
    this.head = {
      received: columns.received[row]!,
      source: columns.source[row]!,
      venueSeq: columns.venueSeq[row]!,
      channel: columns.channel[row]!,
      journal: columns.journal[row]!,
      flags: columns.flags[row]!,
    }
    const [start, end] = [columns.changeStart(row), columns.changeEnd[row]!]
    this.changed = {
      priceDecimals: columns.priceDecimals,
      keys: [...columns.key.subarray(start, end)],
      sizes: [...columns.size.subarray(start, end)],
    }
    if (row + 1 < to) {
      this.row++
      this.stopAtBound()
    } else this.enter(this.run + 1)
  }

  /** The levels that the row taken last changed. */
  changes(): Levels {
    return this.changed!
  }

  /** The whole book after the row taken last. */
  book(): Levels {
    const keys = this.ladder.keys()
    const sizes = keys.map((key) => this.ladder.sizeAt(key))
    return { priceDecimals: this.ladder.decimals, keys, sizes }
  }

  private enter(run: number): void {
    this.run = run
    this.row = this.runs[run]?.from ?? 0
    this.stopAtBound()
  }

  private stopAtBound(): void {
    const run = this.runs[this.run]
    if (run === undefined || run.columns.journal[this.row]! <= this.bound) return
    this.runs = []
    this.run = 0
    this.isLast = true
  }
}

/** Decides which of a recorder's observations lie in its gaps; must be called in row order. */
export class OwnGaps {
  private readonly gaps: readonly Gap[]
  private open: Gap[] = []
  private next = 0

  /** Gaps by start. */
  constructor(gaps: readonly Gap[]) {
    this.gaps = gaps
  }

  /** True for a row after the last good one before a gap and before the first good one after it. */
  has(sequence: number, received: number): boolean {
    while (this.next < this.gaps.length && this.gaps[this.next]!.start <= received) {
      this.open.push(this.gaps[this.next++]!)
    }
    if (this.open.length === 0) return false
    this.open = this.open.filter((gap) => endOf(gap) > received)
    return this.open.some(({ scope, start, afterSequence }) =>
      // Only gaps of the instrument itself have sequences.
      scope === 'instrument' ? sequence > afterSequence : received > start,
    )
  }
}
