import {
  DOUBLE_ZERO,
  type Micros,
  type PriceTicks,
  type Reference,
  type SizeUnits,
  type VenueId,
} from '../domain/index.ts'
import {
  ABSENT,
  applyRows,
  BookColumns,
  BookDecoder,
  decodeSamples,
  decodeTrades,
  Ladder,
  loadBase,
  openChunk,
  printSampleValue,
  SampleColumns,
  TAKERS,
  TradeColumns,
  type Chunk,
  type HeadColumns,
} from '../tape/index.ts'
import { byFirstEmitted, type Piece, type Span, type StreamContents } from './contents.ts'
import { placeError, ReplayError } from './error.ts'
import type {
  BookEvent,
  EventSink,
  ReferenceEvent,
  ReplayEvent,
  ReplayInstrument,
  SampleEvent,
  TradeEvent,
} from './event.ts'
import { shownFlags } from './row-json.ts'
import type { ReplayPlatform } from './source.ts'

/** What the lanes of one replay share. */
export type LaneOptions = {
  readonly platform: ReplayPlatform
  /** The range of the replay. */
  readonly span: Span
  /** Whether columns include venue numbers, channels and journal positions. */
  readonly numbers: boolean
  /** Max bytes that a lane reads ahead. */
  readonly readAhead: number
}

/** A sorted stream of events, to be merged with others. */
export interface Lane {
  /** The received time of the next event, or a lower bound while its rows are not loaded; Infinity at the end. */
  at: number
  /** Decodes the next rows; false where bytes must be loaded first. */
  prepare(): boolean
  load(): Promise<void>
  /** Whether `shift` may be called. */
  isReady: boolean
  /** Returns the next event and moves on: `at` and `isReady` change. */
  shift(): ReplayEvent
  /** Hands the next event to a sink, and up to `most` in all of those before a time; returns how many. */
  feed(sink: EventSink, before: number, most: number): number
  /** The received time of the last event that `feed` handed over. */
  fedAt: number
}

/** The rows of one stream, read piece by piece. Subclasses decode them and build events. */
abstract class RowLane<Columns extends HeadColumns> implements Lane {
  // A number from the start: a field that was undefined once allocates a number with every store.
  at = Infinity
  fedAt = DOUBLE_ZERO
  isReady = false
  protected columns: Columns | undefined
  protected received: Float64Array = NOTHING
  protected row = 0
  protected to = 0
  /** The sequence of row 0 of the columns. */
  protected first = 0
  protected readonly options: LaneOptions
  private readonly pieces: readonly Piece[]
  private readonly name: string
  private next = 0
  private block = new Uint8Array(0)
  private blockStore: unknown
  private blockStart = 0
  private lastNumber = 0
  private lastAt = DOUBLE_ZERO

  constructor(stream: StreamContents, options: LaneOptions) {
    this.options = options
    this.name = `${stream.venue}:${stream.key}`
    const { start, end } = options.span
    this.pieces = stream.pieces
      .filter((piece) => piece.lastReceived >= start && piece.firstReceived < end)
      .sort(byFirstEmitted)
    this.at = this.boundOf(this.pieces[0])
  }

  protected abstract decode(chunk: Chunk): Columns
  abstract shift(): ReplayEvent

  feed(sink: EventSink, _before: number, _most: number): number {
    this.fedAt = this.at
    sink.apply(this.shift())
    return 1
  }

  /** Moves to the next row; `shift` calls it at its end. */
  protected advance(): void {
    const row = ++this.row
    if (row < this.to) {
      this.at = this.received[row]!
      return
    }
    this.lastNumber = this.first + row - 1
    this.lastAt = this.received[row - 1]!
    this.isReady = false
    this.at = this.boundOf(this.pieces[this.next])
    if (this.next === this.pieces.length) this.release()
  }

  /** Frees the memory of an ended lane: thousands of markets may end in one replay. */
  protected release(): void {
    this.columns = undefined
    this.received = NOTHING
    this.block = new Uint8Array(0)
    this.blockStore = undefined
  }

  prepare(): boolean {
    for (; this.next < this.pieces.length; this.next++) {
      const piece = this.pieces[this.next]!
      const bytes = this.bytesOf(piece)
      if (bytes === undefined) return false
      try {
        if (this.open(piece, bytes)) {
          this.next++
          return true
        }
      } catch (error) {
        throw placeError(error, { source: piece.store.name, offset: piece.offset })
      }
    }
    this.at = Infinity
    this.release()
    return true
  }

  async load(): Promise<void> {
    const piece = this.pieces[this.next]!
    let end = piece.offset + piece.length
    // Read consecutive chunks at once; a frame header lies between them.
    for (let index = this.next + 1; index < this.pieces.length; index++) {
      const other = this.pieces[index]!
      if (other.store !== piece.store || other.offset < end || other.offset > end + 64) break
      if (other.offset + other.length - piece.offset > this.options.readAhead) break
      end = other.offset + other.length
    }
    this.block = (await piece.store.read(
      piece.offset,
      end - piece.offset,
    )) as Uint8Array<ArrayBuffer>
    this.blockStore = piece.store
    this.blockStart = piece.offset
  }

  private bytesOf({ store, offset, length }: Piece): Uint8Array | undefined {
    const from = offset - this.blockStart
    if (store !== this.blockStore || from < 0 || from + length > this.block.length) return undefined
    return this.block.subarray(from, from + length)
  }

  private open(piece: Piece, bytes: Uint8Array): boolean {
    const chunk = openChunk(bytes, this.options.platform)
    const { header } = chunk
    if (header.first !== piece.first || header.count !== piece.count) {
      throw new ReplayError('corrupt_chunk', 'the file changed while it was replayed', {
        source: piece.store.name,
        offset: piece.offset,
      })
    }
    const columns = this.decode(chunk)
    const { received, count } = columns
    const start = Math.max(piece.start, this.options.span.start)
    const end = Math.min(piece.end, this.options.span.end)
    const from = Math.max(lowerBound(received, count, start), this.lastNumber + 1 - header.first)
    const to = lowerBound(received, count, end)
    if (from >= to) return false
    if (received[from]! < this.lastAt) {
      throw new ReplayError(
        'corrupt_chunk',
        `${this.name} goes back in time at row ${header.first + from}: the files are not of one history`,
        { source: piece.store.name, offset: piece.offset },
      )
    }
    this.columns = columns
    this.received = received
    this.first = header.first
    this.row = from
    this.to = to
    this.at = received[from]!
    this.isReady = true
    return true
  }

  private boundOf(piece: Piece | undefined): number {
    if (piece === undefined) return Infinity
    const start = Math.max(piece.firstReceived, piece.start, this.options.span.start)
    return Math.max(start, this.lastAt)
  }
}

const bookDecoder = new BookDecoder()

/**
 * The book rows of one instrument. They are applied to the ladder when it is read: a backtest keeps its own
 * books and reads only the changes.
 */
export class BookLane extends RowLane<BookColumns> {
  private readonly instrument: ReplayInstrument
  /** Created with the first row, because most markets of a day are not open at the same time. */
  private current: LaneBookEvent | undefined
  private spare: BookColumns | undefined
  private emitted: BookColumns | undefined

  constructor(stream: StreamContents, options: LaneOptions, instrument: ReplayInstrument) {
    super(stream, options)
    this.instrument = instrument
  }

  protected decode(chunk: Chunk): BookColumns {
    // The columns of the last event stay valid until the next one, so two sets take turns.
    const into = (this.spare ??= BookColumns.forChunk(chunk.header))
    bookDecoder.decode(chunk, this.options.platform, into, { numbers: this.options.numbers })
    return into
  }

  shift(): BookEvent {
    const { row } = this
    const own = this.columns!
    if (this.emitted !== own) this.begin(own)
    const event = this.current!
    event.at = this.at as Micros
    event.sequence = this.first + row
    event.flags = shownFlags(own.flags[row]!)
    event.row = row
    this.advance()
    return event
  }

  override feed(sink: EventSink, before: number, most: number): number {
    const own = this.columns!
    if (this.emitted !== own) this.begin(own)
    const event = this.current!
    const { received, first, row: from } = this
    const { flags } = own
    const to = Math.min(this.to, from + most)
    let row = from
    do {
      event.at = received[row]! as Micros
      event.sequence = first + row
      event.flags = shownFlags(flags[row]!)
      event.row = row
      sink.applyRow(event)
      row++
    } while (row < to && received[row]! < before)
    this.fedAt = received[row - 1]!
    this.row = row - 1
    this.advance()
    return row - from
  }

  private begin(columns: BookColumns): void {
    this.spare = this.emitted
    this.emitted = columns
    this.current ??= new LaneBookEvent(this.instrument, columns)
    this.current.columns = columns
    this.current.chunk++
  }

  protected override release(): void {
    super.release()
    this.current = undefined
    this.spare = undefined
    this.emitted = undefined
  }
}

// Read from the columns: a field that may be undefined would allocate a number for every row. It belongs to the event
// itself, so that a copy of the event has it.
const SOURCE = {
  enumerable: true,
  get(this: LaneBookEvent): Micros | undefined {
    const source = this.columns.source[this.row]!
    return source === ABSENT ? undefined : (source as Micros)
  },
}

/** The event of a lane, reused for every row. */
class LaneBookEvent implements BookEvent {
  readonly kind = 'book'
  at = DOUBLE_ZERO as Micros
  readonly instrument: ReplayInstrument
  sequence = 0
  flags = 0
  columns: BookColumns
  row = 0
  /** The number of the chunk that `columns` hold now. */
  chunk = 0
  declare readonly source: Micros | undefined
  private readonly own: Ladder = new Ladder()
  private folded = -1
  private foldedRow = -1

  constructor(instrument: ReplayInstrument, columns: BookColumns) {
    this.instrument = instrument
    this.columns = columns
    Object.defineProperty(this, 'source', SOURCE)
  }

  get ladder(): Ladder {
    const { own, columns, row } = this
    if (this.folded !== this.chunk) {
      this.folded = this.chunk
      this.foldedRow = -1
      loadBase(own, columns)
    }
    if (this.foldedRow < row) applyRows(own, columns, this.foldedRow + 1, row + 1)
    this.foldedRow = row
    return own
  }
}

/** The trades of one instrument. */
export class TradeLane extends RowLane<TradeColumns> {
  private readonly event: Mutable<TradeEvent>

  constructor(stream: StreamContents, options: LaneOptions, instrument: ReplayInstrument) {
    super(stream, options)
    this.event = {
      kind: 'trade',
      at: DOUBLE_ZERO as Micros,
      instrument,
      sequence: 0,
      source: undefined,
      flags: 0,
      tradeId: '',
      price: 0 as PriceTicks,
      size: 0 as SizeUnits,
      taker: undefined,
    }
  }

  protected decode(chunk: Chunk): TradeColumns {
    const columns = new TradeColumns(chunk.header.count)
    decodeTrades(chunk, this.options.platform, columns)
    return columns
  }

  shift(): TradeEvent {
    const { row, event } = this
    const columns = this.columns!
    event.at = this.at as Micros
    event.sequence = this.first + row
    const source = columns.source[row]!
    event.source = source === ABSENT ? undefined : (source as Micros)
    event.flags = columns.flags[row]!
    event.tradeId = columns.tradeId[row]!
    event.price = columns.price[row]! as PriceTicks
    event.size = columns.size[row]! as SizeUnits
    event.taker = TAKERS[columns.taker[row]!]
    this.advance()
    return event
  }
}

/** Rows of samples, whatever they are samples of. */
abstract class SampleRows extends RowLane<SampleColumns> {
  protected decode(chunk: Chunk): SampleColumns {
    const columns = new SampleColumns(chunk.header.count)
    decodeSamples(chunk, this.options.platform, columns)
    return columns
  }
}

/** The samples of one metric of one outcome. */
export class SampleLane extends SampleRows {
  private readonly instrument: ReplayInstrument
  private readonly metric: string

  constructor(stream: StreamContents, options: LaneOptions, instrument: ReplayInstrument) {
    super(stream, options)
    this.instrument = instrument
    this.metric = stream.metric
  }

  shift(): SampleEvent {
    const { row, instrument, metric } = this
    const event: SampleEvent = {
      kind: 'sample',
      at: this.at as Micros,
      instrument,
      sequence: this.first + row,
      metric,
      value: printSampleValue(this.columns!, row),
    }
    this.advance()
    return event
  }
}

/** The reference prices of one series. */
export class ReferenceLane extends SampleRows {
  private readonly venue: VenueId
  private readonly reference: Reference

  constructor(stream: StreamContents, options: LaneOptions, reference: Reference) {
    super(stream, options)
    this.venue = stream.venue
    this.reference = reference
  }

  shift(): ReferenceEvent {
    const { row, venue, reference } = this
    const columns = this.columns!
    const source = columns.source[row]!
    const event: ReferenceEvent = {
      kind: 'reference',
      at: this.at as Micros,
      venue,
      ...reference,
      sequence: this.first + row,
      source: source === ABSENT ? undefined : (source as Micros),
      flags: columns.flags[row]!,
      price: printSampleValue(columns, row),
    }
    this.advance()
    return event
  }
}

/** A sorted list of events in memory: market records and edges of gaps. */
export class ListLane implements Lane {
  at = Infinity
  fedAt = DOUBLE_ZERO
  isReady = false
  private readonly events: readonly ReplayEvent[]
  private next = 0

  constructor(events: readonly ReplayEvent[]) {
    this.events = events
    this.isReady = events.length > 0
    this.at = events[0]?.at ?? Infinity
  }

  prepare(): boolean {
    return true
  }

  async load(): Promise<void> {
    // Everything is in memory.
  }

  shift(): ReplayEvent {
    const event = this.events[this.next++]!
    this.at = this.events[this.next]?.at ?? Infinity
    this.isReady = this.next < this.events.length
    return event
  }

  feed(sink: EventSink, _before: number, _most: number): number {
    this.fedAt = this.at
    sink.apply(this.shift())
    return 1
  }
}

type Mutable<Event> = { -readonly [Key in keyof Event]: Event[Key] }

const NOTHING = new Float64Array(0)

/** The first row received at or after a time. */
function lowerBound(received: Float64Array, count: number, time: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (received[middle]! < time) low = middle + 1
    else high = middle
  }
  return low
}
