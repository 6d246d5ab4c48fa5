import type { VenueId } from '@priorbook/sdk/domain'
import type { RowHead } from '@priorbook/sdk/tape'
import type { Database } from './database.ts'
import { LogWriter, type Maker } from './log.ts'
import { sameMaker, type TailRows } from './tail.ts'
import type { View } from './view.ts'

/** Which streams a pass of packing passes over: their rows stay in the log. */
export type CarryLimits = {
  /** Streams with fewer rows in the log than this. */
  readonly rows: number
  /** Their oldest row is at most this much older than the newest row of all, in microseconds. */
  readonly micros: number
}

/** A stream that is passed over, and the ordinal after its last row in the log when the pass began. */
type Carried = { readonly id: number; readonly tail: TailRows; readonly end: number }

/** Streams of one venue whose rows were made by the same recorder. */
type Group = { readonly venue: VenueId; readonly maker: Maker; readonly streams: Carried[] }

// A body is read and checked as a whole.
const BODY_ROWS = 4096
// What a stream takes beside its rows, in rows.
const ROWS_PER_STREAM = 4

/**
 * The rows of quiet streams, which a pass writes back into the log instead of packing them. To write the part of a stream
 * again takes as long as to write some hundreds of its rows; of tens of thousands of books most change a few times an hour.
 * The bodies take the last places of the batches that the pass removes, so the log has no hole.
 */
export class Carry {
  /** The streams that are to be packed. */
  readonly others: number[] = []
  /** How many rows the quiet streams have. */
  rows = 0
  private readonly groups: Group[] = []
  /** The first journal record of a venue of which the log keeps a row. */
  private readonly floors = new Map<VenueId, number>()
  private readonly log = new LogWriter()
  private readonly bodies: Uint8Array[] = []
  /** The venues of which a body was written. */
  private readonly begun = new Set<VenueId>()
  private readonly view: View
  /** The newest batch that the pass removes. */
  private readonly through: number
  private readonly positions: ReadonlyMap<VenueId, number>

  constructor(
    view: View,
    limits: CarryLimits,
    through: number,
    positions: ReadonlyMap<VenueId, number>,
  ) {
    this.view = view
    this.through = through
    this.positions = positions
    const { streams } = view.tail
    const oldest = newestOf(streams.values()) - limits.micros
    for (const [id, tail] of streams) {
      const { columns, makers } = tail
      const isQuiet = columns.count < limits.rows && columns.received[0]! >= oldest
      if (isQuiet && makers.length === 1) this.add(id, tail)
      else this.others.push(id)
    }
  }

  /** How many bodies were written: as many batches of those that the pass removes stay in the log. */
  get count(): number {
    return this.bodies.length
  }

  /** True while there are rows that `write` has not written. */
  get isWaiting(): boolean {
    return this.groups.length > 0
  }

  /** Writes more of the rows, about as many as given. */
  write(rows: number): void {
    for (let rest = rows; rest > 0;) {
      const group = this.groups.at(-1)
      if (group === undefined) return
      rest -= this.writeBody(group)
      if (group.streams.length === 0) this.groups.pop()
    }
  }

  /** Stores the bodies; the batches of before are removed. */
  store(database: Database): void {
    for (const [index, bytes] of this.bodies.entries()) {
      database.run('INSERT INTO log (id, bytes) VALUES (?, ?)', this.through - index, bytes)
    }
  }

  /** The last journal record of a venue of which every row is in a chunk; others may be in a damaged log. */
  packedOf(venue: VenueId): number {
    const position = this.positions.get(venue)!
    return Math.min(position, (this.floors.get(venue) ?? Infinity) - 1)
  }

  private add(id: number, tail: TailRows): void {
    const { venue } = this.view.streamById(id)
    const { columns, makers } = tail
    const { maker } = makers[0]!
    let group = this.groups.find((one) => one.venue === venue && sameMaker(one.maker, maker))
    if (group === undefined) {
      group = { venue, maker, streams: [] }
      this.groups.push(group)
    }
    group.streams.push({ id, tail, end: tail.first + columns.count })
    this.rows += columns.count
    const first = columns.journal[0]!
    if (first < (this.floors.get(venue) ?? Infinity)) this.floors.set(venue, first)
  }

  // Returns how many rows it took. Bodies are read in the other order: after the last one of a venue all of its rows up
  // to the pass are known; should one before it be damaged, only those that are in chunks.
  private writeBody({ venue, maker, streams }: Group): number {
    const { log } = this
    const isLastRead = !this.begun.has(venue)
    this.begun.add(venue)
    const position = isLastRead ? this.positions.get(venue)! : this.packedOf(venue)
    log.begin({ id: this.through - this.bodies.length, venue, position, maker })
    let work = 0
    while (work < BODY_ROWS) {
      const carried = streams.pop()
      if (carried === undefined) break
      work += ROWS_PER_STREAM + this.writeRows(carried)
    }
    this.bodies.push(log.finish().slice())
    return work
  }

  private writeRows({ id, tail, end }: Carried): number {
    const { log } = this
    const count = end - tail.first
    const head = { ...NO_HEAD }
    for (let row = 0; row < count; row++) {
      const { columns } = tail
      const ordinal = tail.first + row
      head.received = columns.received[row]!
      head.source = columns.source[row]!
      head.venueSeq = columns.venueSeq[row]!
      head.channel = columns.channel[row]!
      head.journal = columns.journal[row]!
      head.flags = columns.flags[row]!
      if (tail.kind === 'book') {
        const { key, size, priceDecimals } = tail.columns
        const [from, to] = [tail.columns.changeStart(row), tail.columns.changeEnd[row]!]
        const keys = Array.from(key.subarray(from, to))
        log.book(id, ordinal, head, priceDecimals, keys, Array.from(size.subarray(from, to)))
      } else if (tail.kind === 'trade') {
        const { tradeId, price, size, taker, native } = tail.columns
        const values = [tradeId[row]!, price[row]!, size[row]!, taker[row]!, native[row]] as const
        log.trade(id, ordinal, head, ...values)
      } else {
        const { value, fine } = tail.columns
        log.sample(id, ordinal, head, { value: value[row]!, fine: fine[row]! })
      }
    }
    return count
  }
}

const NO_HEAD: { -readonly [Name in keyof RowHead]: RowHead[Name] } = {
  received: 0,
  source: 0,
  venueSeq: 0,
  channel: 0,
  journal: 0,
  flags: 0,
}

function newestOf(tails: Iterable<TailRows>): number {
  let newest = 0
  for (const { columns } of tails)
    newest = Math.max(newest, columns.received[columns.count - 1] ?? 0)
  return newest
}
