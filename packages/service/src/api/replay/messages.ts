import type { BookRun } from '@priorbook/sdk/tape'
import {
  renderChanges,
  timeJson,
  toGapJson,
  toMarketJson,
  toReferenceJson,
  toTradeJson,
  type BookContext,
  type BookPart,
} from '@priorbook/sdk/wire'
import { RENDERER } from '../books/book-page.ts'
import type { ReplayRequest } from './request.ts'
import type { ReplayStream } from './scope.ts'
import type { TimelineItem } from './timeline.ts'

/** The constant text of an instrument's messages, and the last rows that were written. */
type StreamText = {
  readonly snapshot: Buffer
  readonly update: Buffer
  readonly bookPrefix: string
  readonly tradePrefix: string
  /** The last written book; undefined before the first and after a seek. */
  book: number | undefined
  trade: number | undefined
}

const PREVIOUS = Buffer.from(',"previous_sequence":')
const NO_PREVIOUS = Buffer.from(',"previous_sequence":null')
const ROW = Buffer.from(',"row":{')
const END = Buffer.from('}')
// Bytes for the digits of two sequences and the constant text between them.
const NUMBERS_ROOM = 100

const LINE_FEED = 10
// The type at the start of a rendered line; messages have their own.
const BOOK_LINE = '{"type":"book",'.length
const CHANGES_LINE = '{"type":"changes",'.length
const NOTHING = Buffer.alloc(0)

type ChangedPart = BookRun & { readonly lane: number }

/** The rows of one batch by how they are rendered, each in order. */
type Parts = {
  readonly contexts: readonly BookContext[]
  readonly whole: readonly BookPart[]
  readonly changed: readonly ChangedPart[]
  readonly rows: number
}

/** Encodes the items of a replay as messages. */
export class MessageWriter {
  private readonly request: ReplayRequest
  private readonly texts: (StreamText | undefined)[] = []
  /** The last written price of each series. */
  private readonly prices = new Map<number, number>()
  private readonly idText: string
  // Measured on the last batch: rows of deep books are ten times longer than those of thin ones.
  private bytesPerRow = 2048

  constructor(request: ReplayRequest) {
    this.request = request
    this.idText = JSON.stringify(request.id)
  }

  /** Starts over after a seek: the first row of each instrument is a snapshot again. */
  restart(): void {
    this.texts.length = 0
    this.prices.clear()
  }

  /** How many rows encode to about this many bytes. */
  rowsFor(bytes: number): number {
    return Math.max(1, Math.min(1024, Math.floor(bytes / this.bytesPerRow)))
  }

  /** Encodes items as messages, in order. */
  write(items: readonly TimelineItem[]): MessageBatch {
    const { style, mode } = this.request
    const parts = this.split(items)
    const whole = renderWhole(parts, this.request)
    const changed = renderChanged(parts, this.request)
    const rows = parts.rows
    const room = whole.length + changed.length + rows * (NUMBERS_ROOM + 300) + 1024
    const batch = new MessageBatch(room)
    for (const item of items) {
      switch (item.kind) {
        case 'book':
          this.writeBooks(batch, item.stream, item.run, whole, mode === 'full' ? whole : changed)
          break
        case 'trade':
          this.writeTrade(batch, item)
          break
        case 'reference':
          this.writeReference(batch, item)
          break
        case 'market':
          batch.begin(item.at)
          batch.text(this.wrap('market', 'row', toMarketJson(item.state, style)))
          break
        case 'gap':
          batch.begin(item.at)
          batch.text(this.wrap('gap', 'gap', toGapJson(item.gap, style)))
          break
      }
    }
    if (rows > 0) this.bytesPerRow = Math.max(64, batch.length / rows)
    return batch
  }

  /** A message about the replay itself. */
  state(state: string, time: number, more: Readonly<Record<string, unknown>> = {}): string {
    return JSON.stringify({
      type: 'replay_state',
      replay: this.request.id,
      state,
      time: timeJson(time, this.request.style),
      ...more,
    })
  }

  private wrap(type: string, name: string, value: unknown): string {
    return `{"type":"${type}","replay":${this.idText},"${name}":${JSON.stringify(value)}}`
  }

  // Splits rows into whole books and changes: a row without its predecessor is a snapshot.
  private split(items: readonly TimelineItem[]): Parts {
    const contexts: BookContext[] = []
    const lanes = new Map<ReplayStream, number>()
    const whole: BookPart[] = []
    const changed: ChangedPart[] = []
    const lasts = new Map<ReplayStream, number | undefined>()
    const isFull = this.request.mode === 'full'
    let rows = 0
    for (const item of items) {
      if (item.kind !== 'book') continue
      const { stream, run } = item
      let lane = lanes.get(stream)
      if (lane === undefined) {
        lane = contexts.length
        lanes.set(stream, lane)
        contexts.push(stream.instrument)
        lasts.set(stream, this.textOf(stream).book)
      }
      rows += run.to - run.from
      const isSnapshot = !follows(lasts.get(stream), run.firstSequence + run.from)
      lasts.set(stream, run.firstSequence + run.to - 1)
      if (isFull) whole.push({ ...run, lane })
      else {
        const from = isSnapshot ? run.from + 1 : run.from
        if (isSnapshot) whole.push({ ...run, to: from, lane })
        if (from < run.to) changed.push({ ...run, from, lane })
      }
    }
    return { contexts, whole, changed, rows }
  }

  private writeBooks(
    batch: MessageBatch,
    stream: ReplayStream,
    { columns, firstSequence, from, to }: BookRun,
    whole: Lines,
    updates: Lines,
  ): void {
    const text = this.textOf(stream)
    for (let row = from; row < to; row++) {
      const sequence = firstSequence + row
      const isSnapshot = !follows(text.book, sequence)
      const lines = isSnapshot ? whole : updates
      lines.next()
      const head = isSnapshot ? text.snapshot : text.update
      batch.reserve(head.length + NUMBERS_ROOM + lines.end - lines.start)
      batch.begin(columns.received[row]!, text.bookPrefix, sequence)
      batch.copy(head, 0, head.length)
      batch.digits(sequence)
      if (text.book === undefined) batch.copy(NO_PREVIOUS, 0, NO_PREVIOUS.length)
      else {
        batch.copy(PREVIOUS, 0, PREVIOUS.length)
        batch.digits(text.book)
      }
      batch.copy(ROW, 0, ROW.length)
      batch.copy(lines.bytes, lines.start, lines.end)
      batch.copy(END, 0, END.length)
      text.book = sequence
    }
  }

  private writeTrade(
    batch: MessageBatch,
    { stream, trade }: Extract<TimelineItem, { kind: 'trade' }>,
  ): void {
    const text = this.textOf(stream)
    const { columns, row, ordinal } = trade
    const json = toTradeJson(columns, row, ordinal, stream.instrument, this.request.style)
    batch.begin(columns.received[row]!, text.tradePrefix, ordinal)
    const key = JSON.stringify(stream.instrument.key)
    batch.text(
      `{"type":"trade","replay":${this.idText},"key":${key},"sequence":${ordinal},` +
        `"previous_sequence":${text.trade ?? null},"row":${JSON.stringify(json)}}`,
    )
    text.trade = ordinal
  }

  private writeReference(
    batch: MessageBatch,
    { stream, price }: Extract<TimelineItem, { kind: 'reference' }>,
  ): void {
    const { venue, key } = stream.instrument
    const { columns, row, ordinal } = price
    const json = toReferenceJson(columns, row, ordinal, stream.instrument, this.request.style)
    batch.begin(columns.received[row]!, `${venue}:${key}/price:`, ordinal)
    batch.text(
      `{"type":"reference","replay":${this.idText},"key":${JSON.stringify(key)},` +
        `"sequence":${ordinal},"previous_sequence":${this.prices.get(stream.index) ?? null},` +
        `"row":${JSON.stringify(json)}}`,
    )
    this.prices.set(stream.index, ordinal)
  }

  private textOf({ instrument, index }: ReplayStream): StreamText {
    const { venue, key } = instrument
    const head = (type: string): Buffer =>
      Buffer.from(
        `{"type":"${type}","replay":${this.idText},"key":${JSON.stringify(key)},"sequence":`,
      )
    return (this.texts[index] ??= {
      snapshot: head('snapshot'),
      update: head('update'),
      bookPrefix: `${venue}:${key}:`,
      tradePrefix: `${venue}:${key}/trade:`,
      book: undefined,
      trade: undefined,
    })
  }
}

// Across missing sequences (damage on disk) changes would be applied to the wrong book.
function follows(last: number | undefined, sequence: number): boolean {
  return last !== undefined && sequence === last + 1
}

/** Renders whole books; the bytes are valid until the next await. */
function renderWhole({ whole, contexts }: Parts, { options }: ReplayRequest): Lines {
  if (whole.length === 0) return new Lines(NOTHING, BOOK_LINE)
  const bytes = RENDERER.renderNdjson(whole, contexts, options)
  return new Lines(toBuffer(bytes), BOOK_LINE)
}

function renderChanged({ changed, contexts }: Parts, { style }: ReplayRequest): Lines {
  if (changed.length === 0) return new Lines(NOTHING, CHANGES_LINE)
  const bytes = renderChanges(changed, contexts, { ...style, format: 'ndjson' })
  return new Lines(toBuffer(bytes), CHANGES_LINE)
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}

/** Iterates over rendered lines, without the type at the start of each. */
class Lines {
  readonly bytes: Buffer
  start = 0
  end = -1
  private readonly skipped: number

  constructor(bytes: Buffer, skipped: number) {
    this.bytes = bytes
    this.skipped = skipped
  }

  get length(): number {
    return this.bytes.length
  }

  next(): void {
    const begin = this.end + 1
    this.start = begin + this.skipped
    this.end = this.bytes.indexOf(LINE_FEED, this.start)
  }
}

/** Encoded messages in sending order, in one buffer. */
export class MessageBatch {
  count = 0
  /** Per message: when its item was received, and the row that it contains, if any. */
  readonly at: number[] = []
  readonly rowPrefix: (string | undefined)[] = []
  readonly rowSequence: number[] = []
  private readonly starts: number[] = []
  private bytes: Buffer
  private end = 0

  constructor(room: number) {
    this.bytes = Buffer.allocUnsafeSlow(room)
  }

  /** The bytes of a message; they are never changed afterwards. */
  message(index: number): Uint8Array {
    return this.bytes.subarray(this.starts[index], this.starts[index + 1] ?? this.end)
  }

  get length(): number {
    return this.end
  }

  /** Begins a message. */
  begin(at: number, rowPrefix?: string, rowSequence = 0): void {
    this.starts[this.count] = this.end
    this.at[this.count] = at
    this.rowPrefix[this.count] = rowPrefix
    this.rowSequence[this.count++] = rowSequence
  }

  /** Makes room for `length` more bytes. */
  reserve(length: number): void {
    if (this.end + length <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.end + length, this.bytes.length * 2))
    this.bytes.copy(grown, 0, 0, this.end)
    this.bytes = grown
  }

  /** Appends text of any characters. */
  text(text: string): void {
    this.reserve(text.length * 3)
    this.end += this.bytes.write(text, this.end)
  }

  /** Appends bytes; the room must be reserved. */
  copy(from: Buffer, start: number, end: number): void {
    from.copy(this.bytes, this.end, start, end)
    this.end += end - start
  }

  /** Appends a number; the room must be reserved. */
  digits(value: number): void {
    let digits = 1
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++
    let rest = value
    for (let at = this.end + digits - 1; at >= this.end; at--) {
      const next = Math.floor(rest / 10)
      this.bytes[at] = 48 + rest - next * 10
      rest = next
    }
    this.end += digits
  }
}
