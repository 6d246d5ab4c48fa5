import { canonicalDecimal, type Gap, type Instrument, type VenueId } from '@priorbook/sdk/domain'
import {
  ABSENT,
  printSampleValue,
  TAKERS,
  type BookRun,
  type HeadColumns,
  type Observation,
  type SampleColumns,
  type TradeColumns,
} from '@priorbook/sdk/tape'
import type { AppendBatch, MarketState, Quarantined } from '../store.ts'

/** The heads of a stream's rows; row `i` has ordinal `i + 1`. */
class HeadRows {
  readonly received: number[] = []
  readonly source: number[] = []
  readonly venueSeq: number[] = []
  readonly channel: number[] = []
  readonly journal: number[] = []
  readonly flags: number[] = []

  get count(): number {
    return this.received.length
  }

  /** How many rows were received before a time. */
  countBefore(time: number): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.received[middle]! < time) low = middle + 1
      else high = middle
    }
    return low
  }

  protected pushHead(row: {
    readonly received: number
    readonly source?: number
    readonly venueSeq?: number
    readonly channel?: number
    readonly journal: number
    readonly flags?: number
  }): void {
    this.received.push(row.received)
    this.source.push(row.source ?? ABSENT)
    this.venueSeq.push(row.venueSeq ?? ABSENT)
    this.channel.push(row.channel ?? ABSENT)
    this.journal.push(row.journal)
    this.flags.push(row.flags ?? 0)
  }

  protected sameHead(columns: HeadColumns, row: number, index: number): boolean {
    return (
      columns.received[row] === this.received[index] &&
      columns.source[row] === this.source[index] &&
      columns.venueSeq[row] === this.venueSeq[index] &&
      columns.channel[row] === this.channel[index] &&
      columns.journal[row] === this.journal[index] &&
      columns.flags[row] === this.flags[index]
    )
  }
}

const RESTART = 64

/** Observations as they were given, and a print of the whole book after each. */
export class BookRows extends HeadRows {
  readonly print: number[] = []
  private readonly keys: (readonly number[])[] = []
  private readonly sizes: (readonly number[])[] = []
  private readonly book = new PrintedBook()

  push(row: Observation): void {
    this.pushHead(row)
    const keys = row.keys.map((key) => toFinest(key, row.priceDecimals))
    this.keys.push(keys)
    this.sizes.push(row.sizes)
    if ((row.flags & RESTART) !== 0) this.book.clear()
    for (const [index, key] of keys.entries()) this.book.apply(key, row.sizes[index]!)
    this.print.push(this.book.print)
  }

  /** The sequences of a run's rows that differ from what was given: head, changes or whole book. */
  wrongIn(run: BookRun): number[] {
    const { columns, firstSequence, from, to } = run
    const wrong: number[] = []
    const book = new PrintedBook()
    for (const [index, key] of columns.baseKey.entries()) {
      book.apply(toFinest(key, columns.priceDecimals), columns.baseSize[index]!)
    }
    for (let row = 0; row < to; row++) {
      const index = firstSequence + row - 1
      const keys = this.keys[index] ?? []
      const start = columns.changeStart(row)
      const end = columns.changeEnd[row]!
      let same = keys.length === end - start
      if ((columns.flags[row]! & RESTART) !== 0) book.clear()
      for (let at = start; at < end; at++) {
        const key = toFinest(columns.key[at]!, columns.priceDecimals)
        same &&= key === keys[at - start] && columns.size[at] === this.sizes[index]![at - start]
        book.apply(key, columns.size[at]!)
      }
      same &&= this.sameHead(columns, row, index) && book.print === this.print[index]
      if (!same && row >= from) wrong.push(firstSequence + row)
    }
    return wrong
  }
}

/** Trades as they were given. */
export class TradeRows extends HeadRows {
  private readonly facts: string[] = []

  push(row: NonNullable<AppendBatch['trades']>[number]): void {
    this.pushHead(row)
    this.facts.push(`${row.tradeId}/${row.price}/${row.size}/${row.taker}`)
  }

  same(rows: TradeColumns, row: number, ordinal: number): boolean {
    const facts = `${rows.tradeId[row]}/${rows.price[row]}/${rows.size[row]}/${TAKERS[rows.taker[row]!]}`
    return this.sameHead(rows, row, ordinal - 1) && facts === this.facts[ordinal - 1]
  }
}

/** Samples as they were given. */
export class SampleRows extends HeadRows {
  private readonly value: string[] = []

  push(row: NonNullable<AppendBatch['samples']>[number]): void {
    this.pushHead(row)
    this.value.push(canonicalDecimal(row.value))
  }

  same(rows: SampleColumns, row: number, ordinal: number): boolean {
    return (
      this.sameHead(rows, row, ordinal - 1) &&
      printSampleValue(rows, row) === this.value[ordinal - 1]
    )
  }
}

/** Everything that a store must hold after some batches, kept apart from it. */
export class Oracle {
  readonly books = new Map<string, { readonly instrument: Instrument; readonly rows: BookRows }>()
  readonly trades = new Map<string, { readonly instrument: Instrument; readonly rows: TradeRows }>()
  readonly samples = new Map<
    string,
    { readonly instrument: Instrument; readonly metric: string; readonly rows: SampleRows }
  >()
  readonly revisions = new Map<string, MarketState[]>()
  readonly quarantined: Quarantined[] = []
  readonly facts = new Map<string, number>()
  readonly positions = new Map<VenueId, number>()
  private readonly gapsByName = new Map<string, Gap>()

  add(batch: AppendBatch): void {
    for (const row of batch.observations ?? []) {
      this.of(this.books, row.instrument, () => new BookRows()).rows.push(row)
    }
    for (const row of batch.trades ?? []) {
      this.of(this.trades, row.instrument, () => new TradeRows()).rows.push(row)
    }
    for (const row of batch.samples ?? []) {
      const { instrument, metric } = row
      const name = `${instrument.venue}:${instrument.key}/${metric}`
      const stream = this.samples.get(name) ?? { instrument, metric, rows: new SampleRows() }
      this.samples.set(name, stream)
      stream.rows.push(row)
    }
    for (const { record, received, journal } of batch.revisions ?? []) {
      const name = `${record.venue}:${record.marketId}`
      const states = this.revisions.get(name) ?? []
      this.revisions.set(name, states)
      const isNew = JSON.stringify(states.at(-1)?.record) !== JSON.stringify(record)
      if (isNew) states.push({ record, knownAt: received, revision: states.length + 1, journal })
    }
    for (const gap of batch.gaps ?? []) this.gapsByName.set(nameOfGap(gap), gap)
    this.quarantined.push(...(batch.quarantine ?? []))
    for (const [name, value] of Object.entries(batch.facts ?? {})) {
      if (value === null) this.facts.delete(name)
      else this.facts.set(name, value)
    }
    this.positions.set(batch.venue, batch.position)
  }

  /** Gaps by start, as the store lists them. */
  get gaps(): Gap[] {
    return [...this.gapsByName.values()].sort(compareGaps)
  }

  private of<Rows>(
    streams: Map<string, { readonly instrument: Instrument; readonly rows: Rows }>,
    instrument: Instrument,
    create: () => Rows,
  ): { readonly instrument: Instrument; readonly rows: Rows } {
    const name = `${instrument.venue}:${instrument.key}`
    let stream = streams.get(name)
    if (stream === undefined) {
      stream = { instrument, rows: create() }
      streams.set(name, stream)
    }
    return stream
  }
}

/** Names a gap by what never changes about it. */
export function nameOfGap(gap: Gap): string {
  return `${gap.venue}/${gap.key}/${gap.start}/${gap.reason}/${gap.scope}`
}

/** The order in which gaps are listed. */
export function compareGaps(a: Gap, b: Gap): number {
  return (
    a.start - b.start ||
    a.afterSequence - b.afterSequence ||
    compareText(a.venue, b.venue) ||
    compareText(a.key, b.key)
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

// Prices are compared in the finest ticks that a venue has, whatever the columns use.
function toFinest(key: number, decimals: number): number {
  return (key >>> 1) * 10 ** (6 - decimals) * 2 + (key & 1)
}

/** A book by level, with a number that changes when any level does; made without the ladder of the tape. */
class PrintedBook {
  print = 0
  private readonly sizes = new Map<number, number>()

  apply(key: number, size: number): void {
    const before = this.sizes.get(key) ?? 0
    if (before !== 0) this.print ^= printOf(key, before)
    if (size === 0) this.sizes.delete(key)
    else {
      this.sizes.set(key, size)
      this.print ^= printOf(key, size)
    }
  }

  clear(): void {
    this.sizes.clear()
    this.print = 0
  }
}

function printOf(key: number, size: number): number {
  let mixed = Math.imul(key + 1, 0x9e3779b1) ^ Math.imul(size % 4294967296, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ Math.floor(size / 4294967296), 0xc2b2ae35)
  return mixed ^ (mixed >>> 13)
}
