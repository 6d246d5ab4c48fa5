import type { VenueId } from '@priorbook/sdk/domain'
import type { Database } from './database.ts'
import { createHead, LogWriter, type Maker } from './log.ts'
import { sameMaker, type TailRows } from './tail.ts'
import type { View } from './view.ts'

/** Which streams a pass of packing passes over: their rows stay in the log. */
export type CarryLimits = {
  /** Streams with fewer rows in the log than this. */
  readonly rows: number
  /** Their rows are at most this far from the time of the newest commit, in microseconds. */
  readonly micros: number
  /** Max rows of all of them; streams with more rows are packed first. */
  readonly total: number
  /** About how many rows one body has: it is read and checked as a whole. */
  readonly body: number
}

/** Where the log is when a pass begins. */
export type LogState = {
  /** The newest batch, the last one that the pass removes. */
  readonly through: number
  /** How many batches the pass removes. */
  readonly batches: number
  /** The newest journal record of each venue. */
  readonly positions: ReadonlyMap<VenueId, number>
  /** The time of the newest commit: after a step of the clock, rows may be of a later one. */
  readonly now: number
}

/** A stream that is passed over, and the ordinal after its last row in the log when the pass began. */
type Carried = { readonly id: number; readonly tail: TailRows; readonly end: number }

/** Streams of one venue whose rows were made by the same recorder. */
type Group = { readonly venue: VenueId; readonly maker: Maker; readonly streams: Carried[] }

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
  private readonly writer = new LogWriter()
  private readonly bodies: Uint8Array[] = []
  /** The venues of which a body was written. */
  private readonly begun = new Set<VenueId>()
  private readonly view: View
  private readonly limits: CarryLimits
  private readonly log: LogState

  constructor(view: View, limits: CarryLimits, log: LogState) {
    this.view = view
    this.limits = limits
    this.log = log
    const { streams } = view.tail
    const fewer = this.countBelow(streams.values())
    for (const [id, tail] of streams) {
      if (tail.columns.count < fewer && this.isQuiet(tail)) this.add(id, tail)
      else this.others.push(id)
    }
  }

  /** How many bodies were written: as many batches of those that the pass removes stay in the log. */
  get count(): number {
    return this.bodies.length
  }

  /** True while there are rows that `write` has not written. */
  get isWaiting(): boolean {
    return this.fits && this.groups.length > 0
  }

  /** False where the rows were in fewer batches than they take now, so there is no place for them. */
  get fits(): boolean {
    return this.bodies.length + this.groups.length <= this.log.batches
  }

  /** Writes more of the rows, about as many as given. */
  write(rows: number): void {
    for (let rest = rows; rest > 0;) {
      const group = this.groups.at(-1)
      if (group === undefined || !this.fits) return
      rest -= this.writeBody(group)
      if (group.streams.length === 0) this.groups.pop()
    }
  }

  /** Stores the bodies; the batches of before are removed. */
  store(database: Database): void {
    for (const [index, bytes] of this.bodies.entries()) {
      database.run('INSERT INTO log (id, bytes) VALUES (?, ?)', this.log.through - index, bytes)
    }
  }

  /** The last journal record of a venue of which every row is in a chunk; others may be in a damaged log. */
  packedOf(venue: VenueId): number {
    const position = this.log.positions.get(venue)!
    return Math.min(position, (this.floors.get(venue) ?? Infinity) - 1)
  }

  // Streams with fewer rows than this have together not more than allowed.
  private countBelow(tails: Iterable<TailRows>): number {
    const { rows, total } = this.limits
    const counts = new Uint32Array(rows)
    for (const tail of tails) {
      const { count } = tail.columns
      if (count < rows && this.isQuiet(tail)) counts[count]!++
    }
    let sum = 0
    for (let count = 0; count < rows; count++) {
      sum += counts[count]! * count
      if (sum > total) return count
    }
    return rows
  }

  private isQuiet({ columns, makers }: TailRows): boolean {
    const { count, received } = columns
    const { now } = this.log
    const { micros } = this.limits
    if (count === 0 || makers.length !== 1) return false
    return received[0]! >= now - micros && received[count - 1]! <= now + micros
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
    const { through, positions } = this.log
    const isLastRead = !this.begun.has(venue)
    this.begun.add(venue)
    const position = isLastRead ? positions.get(venue)! : this.packedOf(venue)
    this.writer.begin({ id: through - this.bodies.length, venue, position, maker })
    let work = 0
    while (work < this.limits.body) {
      const carried = streams.pop()
      if (carried === undefined) break
      work += ROWS_PER_STREAM + this.writeRows(carried)
    }
    this.bodies.push(this.writer.finish().slice())
    return work
  }

  private writeRows({ id, tail, end }: Carried): number {
    const { writer } = this
    const count = end - tail.first
    const head = createHead()
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
        writer.book(id, ordinal, head, priceDecimals, keys, Array.from(size.subarray(from, to)))
      } else if (tail.kind === 'trade') {
        const { tradeId, price, size, taker, native } = tail.columns
        const values = [tradeId[row]!, price[row]!, size[row]!, taker[row]!, native[row]] as const
        writer.trade(id, ordinal, head, ...values)
      } else {
        const { value, fine } = tail.columns
        writer.sample(id, ordinal, head, { value: value[row]!, fine: fine[row]! })
      }
    }
    return count
  }
}
