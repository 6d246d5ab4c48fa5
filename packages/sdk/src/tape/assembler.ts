import {
  FLAGS,
  LATE_MICROS,
  POW10,
  PriorbookError,
  VENUES,
  type BookChange,
  type BookSnapshot,
  type Instrument,
  type Level,
  type VenueFacts,
  type Violation,
} from '../domain/index.ts'
import { ABSENT, type RowHead } from './columns.ts'
import { Ladder } from './ladder.ts'

/** One checked row: its changed levels with their new sizes, and its head. */
export type Observation = RowHead & {
  readonly instrument: Instrument
  readonly priceDecimals: number
  readonly keys: readonly number[]
  readonly sizes: readonly number[]
}

// What one event changes, gathered before it is known whether it becomes a row: rows then get arrays of their exact
// length. Arrays that grow by `push` have room for 17 numbers, and a recorder of whole venues keeps thousands of
// rows until they are stored.
const KEYS: number[] = []
const SIZES: number[] = []
const BEFORE: number[] = []

/** Why an event did not become a row. */
export type Refusal = { readonly violation: Violation; readonly detail: string }

/**
 * Turns the book events of one instrument into checked rows. It keeps the current book, so that a full
 * book is reduced to the levels that differ and a change is checked by the book it leads to. After a
 * violation the book is closed: changes are rejected until the next full book.
 */
export class BookAssembler {
  readonly instrument: Instrument
  readonly ladder: Ladder
  /** False before the first full book, and after a violation or a reset. */
  open = false
  /** The last received time; it never decreases within an instrument. */
  lastReceived = 0
  private readonly venue: VenueFacts
  private afterGap = false

  constructor(instrument: Instrument, ladder: Ladder = new Ladder(2)) {
    this.instrument = instrument
    this.ladder = ladder
    this.venue = VENUES[instrument.venue]
    if (ladder.decimals > this.venue.priceDecimals) {
      throw new PriorbookError(
        'unrepresentable',
        `${instrument.venue} does not have prices of that precision`,
      )
    }
  }

  /** Closes the book until the next full one. */
  close(): void {
    this.open = false
    this.ladder.clear()
  }

  /** Marks the next row as the first after a gap. */
  markGap(): void {
    this.afterGap = true
  }

  /**
   * The sizes that the levels of the last row had before it, in the order of its keys. All books share the array:
   * read it before another event is taken.
   */
  get sizesBefore(): readonly number[] {
    return BEFORE
  }

  /**
   * Applies a book event, or returns why it cannot. A change requires an open book. `channel` is stored
   * with the row; default: the venue's own channel.
   */
  take(event: BookSnapshot | BookChange, channel = event.channel ?? ABSENT): Observation | Refusal {
    return event.kind === 'snapshot'
      ? this.takeFull(event, channel)
      : this.takeChange(event, channel)
  }

  private takeChange(event: BookChange, channel: number): Observation | Refusal {
    if (!this.open) throw new PriorbookError('invalid_message', 'a change without an open book')
    let count = 0
    for (const change of event.changes) {
      if (!this.inBounds(change.price)) return this.refuse('price_out_of_bounds', change)
      const key = this.keyOf(change.price, change.side === 'ask' ? 1 : 0, count)
      const sizeBefore = this.ladder.sizeAt(key)
      const size = event.signed ? sizeBefore + change.size : change.size
      if (!(size >= 0 && size <= Number.MAX_SAFE_INTEGER)) return this.refuse('bad_size', change)
      this.ladder.apply(key, size)
      // A level that changes twice in one message is one change of the row.
      let place = 0
      while (place < count && KEYS[place] !== key) place++
      SIZES[place] = size
      if (place < count) continue
      KEYS[place] = key
      BEFORE[place] = sizeBefore
      count++
    }
    if (this.isCrossed()) return this.refuse('crossed_book')
    return this.observe(event, channel, count, event.flags ?? 0)
  }

  private takeFull(event: BookSnapshot, channel: number): Observation | Refusal {
    const wanted = new Map<number, number>()
    for (const side of [0, 1] as const) {
      for (const level of side === 0 ? event.bids : event.asks) {
        if (!this.inBounds(level.price)) return this.refuse('price_out_of_bounds', level)
        if (!(level.size > 0 && Number.isSafeInteger(level.size))) {
          return this.refuse('bad_size', level)
        }
        this.fit(level.price)
        const key = level.price * 2 + side
        if (wanted.has(key)) return this.refuse('duplicate_price', level)
        wanted.set(key, level.size)
      }
    }
    const restarts = !this.open
    if (restarts) this.ladder.clear()
    let count = 0
    for (const key of this.ladder.keys()) {
      if (wanted.has(this.venueKey(key))) continue
      KEYS[count] = key
      SIZES[count++] = 0
    }
    for (const [venueKey, size] of wanted) {
      const key = this.keyOf(venueKey >>> 1, venueKey & 1, count)
      if (this.ladder.sizeAt(key) === size) continue
      KEYS[count] = key
      SIZES[count++] = size
    }
    for (let index = 0; index < count; index++) {
      const key = KEYS[index]!
      BEFORE[index] = this.ladder.sizeAt(key)
      this.ladder.apply(key, SIZES[index]!)
    }
    if (this.isCrossed()) return this.refuse('crossed_book')
    this.open = true
    const flags = FLAGS.full_book | (restarts ? FLAGS.restart : 0) | (event.flags ?? 0)
    return this.observe(event, channel, count, flags)
  }

  private observe(
    event: BookSnapshot | BookChange,
    channel: number,
    count: number,
    baseFlags: number,
  ): Observation {
    let flags = baseFlags
    let received: number = event.received
    if (received < this.lastReceived) {
      received = this.lastReceived + 1
      flags |= FLAGS.clock_step
    }
    this.lastReceived = received
    const source = event.source ?? ABSENT
    if (source !== ABSENT && received - source > LATE_MICROS) flags |= FLAGS.late
    if (this.ladder.bestBid === this.ladder.bestAsk) flags |= FLAGS.locked
    if (this.afterGap) flags |= FLAGS.after_gap
    this.afterGap = false
    return {
      instrument: this.instrument,
      received,
      source,
      venueSeq: event.venueSeq ?? ABSENT,
      channel,
      journal: event.journal,
      flags,
      priceDecimals: this.ladder.decimals,
      // Nearly all changes have one level.
      keys: count === 1 ? [KEYS[0]!] : KEYS.slice(0, count),
      sizes: count === 1 ? [SIZES[0]!] : SIZES.slice(0, count),
    }
  }

  private refuse(violation: Violation, level?: Level): Refusal {
    const { bestBid, bestAsk, one } = this.ladder
    const detail =
      level === undefined
        ? `best bid ${bestBid / one} above best ask ${bestAsk / one}`
        : `price ${level.price} size ${level.size} (in venue units)`
    this.close()
    return { violation, detail }
  }

  private isCrossed(): boolean {
    return this.ladder.bestBid > this.ladder.bestAsk
  }

  private inBounds(price: number): boolean {
    return price > 0 && price < POW10[this.venue.priceDecimals]!
  }

  // The ladder starts with cents and switches to finer ticks when the venue uses them; keys collected
  // for this row are converted too.
  private fit(price: number): void {
    let decimals = this.ladder.decimals
    while (!isWhole(price, POW10[this.venue.priceDecimals - decimals]!)) decimals++
    this.ladder.rescale(decimals)
  }

  private keyOf(price: number, side: number, collected: number): number {
    const before = this.ladder.decimals
    this.fit(price)
    const grown = this.ladder.decimals - before
    if (grown > 0) {
      for (let index = 0; index < collected; index++) {
        const key = KEYS[index]!
        KEYS[index] = (key >>> 1) * POW10[grown]! * 2 + (key & 1)
      }
    }
    return (price / POW10[this.venue.priceDecimals - this.ladder.decimals]!) * 2 + side
  }

  private venueKey(key: number): number {
    return (key >>> 1) * POW10[this.venue.priceDecimals - this.ladder.decimals]! * 2 + (key & 1)
  }
}

// Not `%`: a remainder of doubles costs 20 ns.
function isWhole(price: number, unit: number): boolean {
  return Math.floor(price / unit) * unit === price
}
