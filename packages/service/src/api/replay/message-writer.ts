import type { BookRun } from '@priorbook/sdk/tape'
import {
  timeJson,
  toGapJson,
  toMarketJson,
  toTradeJson,
  type BookContext,
  type BookPart,
} from '@priorbook/sdk/wire'
import { MessageBatch } from './message-batch.ts'
import type { ReplayOrder } from './request.ts'
import {
  renderChanged,
  renderWhole,
  type ChangedPart,
  type Lines,
  type Parts,
} from './row-lines.ts'
import type { ReplayStream } from './scope.ts'
import type { TimelineItem } from './timeline.ts'

/** What messages of one instrument begin with, and the last rows that they told of. */
type StreamText = {
  readonly snapshot: Buffer
  readonly update: Buffer
  readonly bookPrefix: string
  readonly tradePrefix: string
  /** The last book of this instrument; absent before the first, or after a seek. */
  book: number | undefined
  trade: number | undefined
}

const PREVIOUS = Buffer.from(',"previous_sequence":')
const NO_PREVIOUS = Buffer.from(',"previous_sequence":null')
const ROW = Buffer.from(',"row":{')
const END = Buffer.from('}')
// The digits of two sequences and the fixed text between them.
const NUMBERS_ROOM = 100

/** Turns items into messages; remembers what was told of every instrument. */
export class MessageWriter {
  private readonly order: ReplayOrder
  private readonly texts: (StreamText | undefined)[] = []
  private readonly idText: string
  // Learned from the messages before: rows of deep books are ten times longer than those of thin ones.
  private bytesPerRow = 2048

  constructor(order: ReplayOrder) {
    this.order = order
    this.idText = JSON.stringify(order.id)
  }

  /** After a seek the first row of every instrument is a whole book again. */
  restart(): void {
    this.texts.length = 0
  }

  /** How many rows make a step of about so many bytes. */
  rowsFor(bytes: number): number {
    return Math.max(1, Math.min(1024, Math.floor(bytes / this.bytesPerRow)))
  }

  write(items: readonly TimelineItem[]): MessageBatch {
    const { style, mode } = this.order
    const parts = this.split(items)
    const whole = renderWhole(parts, this.order)
    const changed = renderChanged(parts, this.order)
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
      replay: this.order.id,
      state,
      time: timeJson(time, this.order.style),
      ...more,
    })
  }

  private wrap(type: string, name: string, value: unknown): string {
    return `{"type":"${type}","replay":${this.idText},"${name}":${JSON.stringify(value)}}`
  }

  // Which rows are rendered as whole books and which as changes: the books before them decide.
  private split(items: readonly TimelineItem[]): Parts {
    const contexts: BookContext[] = []
    const sources = new Map<ReplayStream, number>()
    const whole: BookPart[] = []
    const changed: ChangedPart[] = []
    const lasts = new Map<ReplayStream, number | undefined>()
    const isFull = this.order.mode === 'full'
    let rows = 0
    for (const item of items) {
      if (item.kind !== 'book') continue
      const { stream, run } = item
      let source = sources.get(stream)
      if (source === undefined) {
        source = contexts.length
        sources.set(stream, source)
        contexts.push(stream.instrument)
        lasts.set(stream, this.textOf(stream).book)
      }
      rows += run.to - run.from
      const isSnapshot = !follows(lasts.get(stream), run.firstSequence + run.from)
      lasts.set(stream, run.firstSequence + run.to - 1)
      if (isFull) whole.push({ ...run, source })
      else {
        const from = isSnapshot ? run.from + 1 : run.from
        if (isSnapshot) whole.push({ ...run, to: from, source })
        if (from < run.to) changed.push({ ...run, from, source })
      }
    }
    return { contexts, whole, changed, rows }
  }

  private writeBooks(
    batch: MessageBatch,
    stream: ReplayStream,
    { columns, firstSequence, from, to }: BookRun,
    whole: Lines,
    others: Lines,
  ): void {
    const text = this.textOf(stream)
    for (let row = from; row < to; row++) {
      const sequence = firstSequence + row
      const isSnapshot = !follows(text.book, sequence)
      const lines = isSnapshot ? whole : others
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
    const json = toTradeJson(columns, row, ordinal, stream.instrument, this.order.style)
    batch.begin(columns.received[row]!, text.tradePrefix, ordinal)
    const key = JSON.stringify(stream.instrument.key)
    batch.text(
      `{"type":"trade","replay":${this.idText},"key":${key},"sequence":${ordinal},` +
        `"previous_sequence":${text.trade ?? null},"row":${JSON.stringify(json)}}`,
    )
    text.trade = ordinal
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

// After a hole in the numbers (damage on disk) changes would be applied to another book.
function follows(last: number | undefined, sequence: number): boolean {
  return last !== undefined && sequence === last + 1
}
