import { FLAGS, type Gap, type Instrument } from '@priorbook/sdk/domain'
import { ABSENT, type Ladder, type Observation } from '@priorbook/sdk/tape'
import type { Maker } from '../store/embedded/log.ts'
import type { Numbers } from './merge-recorders-numbers.ts'
import type { MergeSink } from './merge-recorders-sink.ts'
import { endOf, findCommonGaps, type Sight } from './merge-recorders-spans.ts'
import { isSameBook, type BookWalk, type OwnGaps } from './merge-recorders-walk.ts'

/** What one recorder has of an instrument's books. */
export type BookSide = {
  readonly walk: BookWalk
  readonly sight: Sight
  readonly own: OwnGaps
  readonly numbers: Numbers
  readonly makerAt: (sequence: number) => Maker
}

/** How the books of an instrument came together. */
export type BookCounts = {
  observations: number
  /** Observations of another than the first recorder. */
  filled: number
  /** Left out at a change of recorder: the other one had delivered the same message or a newer one. */
  repeated: number
  gaps: number
}

// The same message reaches two recorders at different times; beyond this it is another message.
const SKEW_MICROS = 2_000_000

/** An instrument as several recorders know it, by recorder id: the first one's rows come first. */
export type BookParts = {
  readonly instrument: Instrument
  readonly sides: readonly BookSide[]
  /** What all could see that knew of the instrument, also those without a row. */
  readonly sights: readonly Sight[]
  /** In whose name gaps are written. */
  readonly maker: Maker
}

/** Weaves the books of one instrument into the sink. */
export async function weaveBooks(
  parts: BookParts,
  sink: MergeSink,
  counts: BookCounts,
): Promise<void> {
  await new BookWeave(parts, sink, counts).run()
}

type Last = {
  readonly side: number
  readonly sequence: number
  readonly received: number
  readonly source: number
}

class BookWeave {
  private readonly instrument: Instrument
  private readonly sides: readonly BookSide[]
  private readonly maker: Maker
  private readonly gaps: readonly Gap[]
  private readonly sink: MergeSink
  private readonly counts: BookCounts
  // Where a recorder goes blind: another one takes over with the book that it has then.
  private readonly starts: readonly number[]
  private nextStart = 0
  private nextGap = 0
  private openGaps: Gap[] = []
  private sequence = 0
  private last: Last | undefined
  // The book of the last row, where its recorder's own walk has gone on since.
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
    // Where nobody saw well, the first recorder's rows stay as they are, inside the gap.
    const isWanted = isBlind
      ? side === 0 && this.sides.slice(1).every(isBlindAt)
      : this.sides.slice(0, side).every(isBlindAt)
    const { last } = this
    if (last?.side === side && walk.sequence === last.sequence && !isWanted) {
      this.lastBook = walk.ladder.clone()
    }
    walk.take()
    if (!isWanted) return
    if (!isBlind && this.isRepeated(side, received)) this.counts.repeated++
    else this.give(side, isBlind)
  }

  // At a change of recorder the next message may be one that the other had delivered.
  private isRepeated(side: number, received: number): boolean {
    const { last } = this
    if (last === undefined || last.side === side) return false
    if (received - last.received > SKEW_MICROS || this.hasGapBefore(received)) return false
    const { walk } = this.sides[side]!
    const source = walk.head!.source
    if (source === ABSENT || last.source === ABSENT || source > last.source) return false
    return source < last.source || isSameBook(walk.ladder, this.bookOf(last))
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

  // From this time on another recorder is needed. It may be ahead of the one that went blind: then its
  // book counts at once, not only from its next message on.
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
    if (isAhead && !isSameBook(walk.ladder, this.bookOf(last))) this.give(side, false)
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

  // Gaps are written when the last good row before them has its number: before the first row that is
  // received later, or at the same instant and in the gap, or behind it where it had no length.
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
