import { POW10, type Gap } from '@priorbook/sdk/domain'
import {
  applyRow,
  applyRows,
  Ladder,
  loadBase,
  type BookRun,
  type RowHead,
} from '@priorbook/sdk/tape'
import type { InstrumentRef, Store } from '../store/store.ts'
import { endOf } from './merge-recorders-spans.ts'

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
  private readonly store: Store
  private readonly ref: InstrumentRef
  private readonly bound: number
  private runs: readonly BookRun[] = []
  private run = 0
  private row = 0
  private isLast = false
  // Which row of which columns the ladder is ready to take.
  private ready: { readonly columns: BookRun['columns']; readonly row: number } | undefined

  /** Rows after the journal record `bound` are not looked at. */
  constructor(store: Store, ref: InstrumentRef, bound: number) {
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
    const after = last === undefined ? {} : { after: last.firstSequence + last.to - 1 }
    const query = { ...this.ref, order: 'asc', limit: PAGE_ROWS, numbers: true, ...after } as const
    const page = await this.store.books(query)
    this.runs = page.runs
    this.isLast = !page.hasMore
    this.enter(0)
  }

  /** Takes the row ahead: the ladder is its book then. */
  take(): void {
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
    const sizes = keys.map((key) => this.ladder.size[key]!)
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

/** Tells which of a recorder's own observations lie in its gaps; asked in the order of the rows. */
export class OwnGaps {
  private readonly gaps: readonly Gap[]
  private open: Gap[] = []
  private next = 0

  /** Gaps by start. */
  constructor(gaps: readonly Gap[]) {
    this.gaps = gaps
  }

  /** True for a row that came after the last good one and before the first good one. */
  has(sequence: number, received: number): boolean {
    while (this.next < this.gaps.length && this.gaps[this.next]!.start <= received) {
      this.open.push(this.gaps[this.next++]!)
    }
    if (this.open.length === 0) return false
    this.open = this.open.filter((gap) => endOf(gap) > received)
    return this.open.some(({ scope, start, afterSequence }) =>
      // Only a gap of the instrument itself knows its sequences.
      scope === 'instrument' ? sequence > afterSequence : received > start,
    )
  }
}

/** True when two books have the same levels, whatever their ticks. */
export function isSameBook(a: Ladder, b: Ladder): boolean {
  if (a.bidLevels !== b.bidLevels || a.askLevels !== b.askLevels) return false
  const [coarse, fine] = a.decimals <= b.decimals ? [a, b] : [b, a]
  const factor = POW10[fine.decimals - coarse.decimals]!
  return coarse
    .keys()
    .every((key) => fine.size[(key >>> 1) * factor * 2 + (key & 1)] === coarse.size[key])
}
