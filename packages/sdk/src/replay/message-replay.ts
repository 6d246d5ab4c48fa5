import type { ReplayMessage } from '../client/index.ts'
import {
  FLAGS,
  instrumentName,
  parsePrice,
  parseSize,
  PriorbookError,
  VENUES,
  type MarketRecord,
  type Micros,
  type SizeUnits,
  type VenueId,
} from '../domain/index.ts'
import { ABSENT, BookColumns, Ladder, levelKey } from '../tape/index.ts'
import {
  decimalOf,
  fieldsOf,
  fromGapJson,
  fromMarketJson,
  timeOf,
  type JsonFields,
} from '../wire/index.ts'
import { ReplayError } from './error.ts'
import type { BookEvent, ReplayBatch, ReplayEvent, ReplayInstrument } from './event.ts'
import { contextOfRow, exactUnits, flagsOf, shownFlags } from './row-json.ts'
import { flatten, type Replay } from './replay.ts'

/**
 * Turns the messages of a socket replay (`client.socketReplay({…})`) into events, one batch per message, in
 * the order of every other replay and at the requested speed. It can be iterated once. Request no
 * `depth`, and `number_format: 'string'` for reference prices and where sizes may have more than 15 digits.
 */
export function replayMessages(messages: AsyncIterable<ReplayMessage>): Replay {
  return new MessageReplay(messages)
}

class MessageReplay implements Replay {
  readonly instruments: ReplayInstrument[] = []
  /** A socket sends every record when it became known. */
  readonly newestOnly: readonly MarketRecord[] = []
  private readonly books = new Map<string, RunningBook>()
  private readonly records = new Map<string, MarketRecord>()
  private readonly messages: AsyncIterable<ReplayMessage>
  private lastAt = 0
  private emitted = 0

  constructor(messages: AsyncIterable<ReplayMessage>) {
    this.messages = messages
  }

  get markets(): readonly MarketRecord[] {
    return [...this.records.values()]
  }

  events(): AsyncIterableIterator<ReplayEvent> {
    return flatten(this)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplayBatch> {
    for await (const message of this.messages) {
      let event: ReplayEvent | undefined
      try {
        event = this.eventOf(message)
      } catch (cause) {
        if (!(cause instanceof PriorbookError)) throw cause
        const error = new ReplayError(cause.code, cause.message, { source: 'socket' }, cause)
        error.emitted = { events: this.emitted, at: this.lastAt }
        throw error
      }
      if (event === undefined) continue
      this.lastAt = event.at
      this.emitted++
      yield [event]
    }
  }

  private eventOf(message: ReplayMessage): ReplayEvent | undefined {
    switch (message.type) {
      case 'snapshot':
      case 'update':
        return this.bookOf(message.row, message.key)
      case 'trade': {
        const { row } = message
        const { instrument } = this.bookFor(row, message.key)
        const { priceDecimals, sizeDecimals } = instrument
        return {
          kind: 'trade',
          at: timeOf(row.received_time)!,
          instrument,
          sequence: row.sequence,
          source: timeOf(row.source_time),
          flags: flagsOf(row.flags),
          tradeId: row.trade_id,
          price: parsePrice(decimalOf(row.price), priceDecimals),
          size: exactSize(row.size, sizeDecimals),
          taker: row.taker_side ?? undefined,
        }
      }
      case 'reference': {
        const { row } = message
        return {
          kind: 'reference',
          at: timeOf(row.received_time)!,
          venue: row.venue,
          feed: row.feed,
          asset: row.asset,
          sequence: row.sequence,
          source: timeOf(row.source_time),
          flags: flagsOf(row.flags),
          price: exactPrice(row.price),
        }
      }
      case 'market': {
        const { record, knownAt } = fromMarketJson(message.row)
        this.records.set(`${record.venue}:${record.marketId}`, record)
        // The recorder's clock may have stepped back between two records; events must not.
        return { kind: 'market', at: Math.max(knownAt, this.lastAt) as Micros, record }
      }
      case 'gap': {
        const gap = fromGapJson(message.gap)
        const edge = gap.end === undefined ? 'open' : 'close'
        const at = Math.max(gap.end ?? gap.start, this.lastAt) as Micros
        return { kind: 'gap', at, edge, gap }
      }
      case 'replay_state':
        if (message.state === 'started' || message.state === 'sought') {
          this.lastAt = timeOf(message.time) ?? 0
        }
        return undefined
    }
  }

  private bookOf(row: JsonFields, key: string): BookEvent {
    const book = this.bookFor(row, key)
    book.apply(row)
    const { instrument, ladder, columns } = book
    return {
      kind: 'book',
      at: columns.received[0]! as Micros,
      instrument,
      sequence: row['sequence'] as number,
      source: columns.source[0] === ABSENT ? undefined : (columns.source[0]! as Micros),
      flags: shownFlags(columns.flags[0]!),
      ladder,
      columns,
      row: 0,
    }
  }

  private bookFor(row: JsonFields, key: string): RunningBook {
    const context = contextOfRow(row, row['venue'] as VenueId, key)
    const name = instrumentName(context)
    let book = this.books.get(name)
    if (book === undefined) {
      const { priceDecimals, sizeDecimals } = VENUES[context.venue]
      const index = this.instruments.length
      book = new RunningBook({ ...context, index, priceDecimals, sizeDecimals })
      this.books.set(name, book)
      this.instruments.push(book.instrument)
    }
    return book
  }
}

/** The book of one instrument and the changes of its last row. */
class RunningBook {
  readonly instrument: ReplayInstrument
  readonly ladder: Ladder
  readonly columns: BookColumns

  constructor(instrument: ReplayInstrument) {
    this.instrument = instrument
    this.ladder = new Ladder(instrument.priceDecimals)
    this.columns = new BookColumns(instrument.priceDecimals, 1)
  }

  apply(row: JsonFields): void {
    const flags = flagsOf(row['flags'])
    const keys: number[] = []
    const sizes: number[] = []
    const { ladder } = this
    if ((flags & FLAGS.restart) !== 0) ladder.clear()
    if (row['changes'] === undefined) this.differences(row, keys, sizes)
    else this.changes(row, keys, sizes)
    for (const [index, key] of keys.entries()) ladder.apply(key, sizes[index]!)
    this.columns.clear()
    const received = timeOf(row['received_time'])
    if (received === undefined)
      throw new PriorbookError('invalid_message', 'a row has no received time')
    const head = { venueSeq: ABSENT, channel: ABSENT, journal: row['sequence'] as number, flags }
    const source = timeOf(row['source_time']) ?? ABSENT
    this.columns.push({ ...head, received, source }, keys, sizes)
  }

  private changes(row: JsonFields, keys: number[], sizes: number[]): void {
    const { side, price, size } = fieldsOf(row['changes'], 'changes') as Record<string, unknown[]>
    for (const [index, each] of (side ?? []).entries()) {
      keys.push(this.keyOf(each === 'ask' ? 'ask' : 'bid', price?.[index]))
      sizes.push(exactSize(size?.[index], this.instrument.sizeDecimals))
    }
  }

  private differences(row: JsonFields, keys: number[], sizes: number[]): void {
    const wanted = new Map<number, number>()
    for (const side of ['bid', 'ask'] as const) {
      const { price, size } = fieldsOf(row[`${side}s`], 'a ladder') as Record<string, unknown[]>
      for (const [index, each] of (price ?? []).entries()) {
        const units = exactSize(size?.[index], this.instrument.sizeDecimals)
        wanted.set(this.keyOf(side, each), units)
      }
    }
    for (const key of this.ladder.keys()) {
      if (wanted.has(key)) continue
      keys.push(key)
      sizes.push(0)
    }
    for (const [key, size] of wanted) {
      if (this.ladder.sizeAt(key) === size) continue
      keys.push(key)
      sizes.push(size)
    }
  }

  private keyOf(side: 'bid' | 'ask', price: unknown): number {
    const { priceDecimals } = this.instrument
    const ticks = parsePrice(decimalOf(price), priceDecimals)
    if (!(ticks > 0 && ticks < this.ladder.one)) {
      throw new PriorbookError('invalid_message', 'a price is out of bounds')
    }
    return levelKey(side, ticks)
  }
}

// Prices have any number of digits, and a JSON number does not show which of them it lost.
function exactPrice(value: unknown): string {
  if (typeof value === 'number') {
    throw new PriorbookError(
      'unrepresentable',
      `the price ${value} may not be exact as a JSON number: request number_format string`,
    )
  }
  return decimalOf(value) ?? ''
}

function exactSize(value: unknown, decimals: number): SizeUnits {
  if (typeof value === 'number' && exactUnits(value, decimals) === undefined) {
    throw new PriorbookError(
      'unrepresentable',
      `the size ${value} is not exact as a JSON number: request number_format string`,
    )
  }
  return parseSize(decimalOf(value), decimals)
}
