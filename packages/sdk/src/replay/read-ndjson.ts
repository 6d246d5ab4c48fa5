import {
  isVenueId,
  parseScaled,
  parsePrice,
  parseSize,
  PriorbookError,
  showValue,
  VENUES,
  type VenueId,
} from '../domain/index.ts'
import {
  ABSENT,
  encodeSamples,
  encodeTrades,
  NO_HASH,
  SAMPLE_DECIMALS,
  SampleColumns,
  TAKERS,
  TradeColumns,
  withoutCompression,
  type RowHead,
  type TapePlatform,
} from '../tape/index.ts'
import {
  decimalOf,
  fieldsOf,
  fromGapJson,
  parseExactJson,
  SAMPLE_METRICS,
  timeOf,
  type BookContext,
  type JsonFields,
} from '../wire/index.ts'
import { BookBuilder, createHead, type SideLevels, type TakeChunk } from './book-builder.ts'
import { BOOK_START, BookLineParser } from './book-line.ts'
import { Contents, type ChunkFacts, type Span } from './contents.ts'
import { placeError } from './error.ts'
import { flagsOf } from './flags.ts'
import { LineCutter, type LineTaker } from './ndjson-lines.ts'
import type { ReplayPlatform, Spool } from './platform.ts'

const EVERYTHING: Span = { start: 0, end: Infinity }
const CHUNK_ROWS = 1024
const SUBSCRIPTIONS = 65_536

/**
 * Reads an NDJSON download from its first byte to its last and packs its rows into chunks, which take a
 * fiftieth of the room. When it resolves, the checksum of the receipt has been compared.
 */
export async function readNdjson(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  platform: ReplayPlatform,
  into: Contents,
  openSpool: () => Promise<Spool>,
): Promise<void> {
  const own = new Contents()
  const lines = new LineCutter()
  const spool = await openSpool()
  let made: { facts: ChunkFacts; bytes: Uint8Array }[] = []
  const reader = new NdjsonReader(platform, own, (facts, packed) => {
    made.push({ facts, bytes: packed })
  })
  const keep = async (): Promise<void> => {
    for (const { facts, bytes: packed } of made) {
      own.addChunk(facts, spool, await spool.append(packed), packed.length, EVERYTHING)
    }
    made = []
  }
  try {
    for await (const block of bytes) {
      lines.feed(block, reader)
      if (made.length > 0) await keep()
    }
    if (lines.left > 0) throw cut(`its last line is cut after ${lines.left} bytes`)
    reader.finish()
    await keep()
  } catch (error) {
    const { chunks, rows } = own
    throw placeError(error, { source: name, offset: lines.offset, read: { chunks, rows } })
  }
  into.addAll(own)
}

/** Takes lines and gives chunks. */
class NdjsonReader implements LineTaker {
  private readonly platform: TapePlatform
  private readonly contents: Contents
  private readonly take: TakeChunk
  private readonly check: { update(bytes: Uint8Array): void; finish(): string }
  private readonly books = new Map<string, BookBuilder>()
  private readonly rows = new Map<string, TradeBuilder | SampleBuilder>()
  private readonly parser = new BookLineParser(flagsOf)
  private readonly head = createHead()
  /** The builders of the last two lines and how their lines begin: tokens of one market take turns. */
  private recent: { start: Uint8Array; builder: BookBuilder; sizeDecimals: number }[] = []
  private hasEnded = false

  constructor(platform: ReplayPlatform, contents: Contents, take: TakeChunk) {
    this.platform = withoutCompression(platform)
    this.check = platform.createCrc32()
    this.contents = contents
    this.take = take
  }

  takeLine(bytes: Uint8Array, from: number, to: number): void {
    if (this.hasEnded) throw invalid('lines follow its receipt')
    for (let index = 0; index < 9; index++) {
      if (bytes[from + index] !== BOOK_START[index]) throw invalid('a line has no type')
    }
    switch (bytes[from + 9]) {
      case 98: // b
        this.takeBook(bytes, from, to)
        break
      case 114: // r
        this.takeReceipt(parseLine(bytes, from, to))
        break
      default:
        this.takeOther(parseLine(bytes, from, to))
    }
  }

  passed(bytes: Uint8Array): void {
    if (!this.hasEnded) this.check.update(bytes)
  }

  finish(): void {
    if (!this.hasEnded) {
      throw cut('it ends before its receipt: what it holds cannot be trusted to be all')
    }
    for (const builder of this.books.values()) builder.flush()
    for (const builder of this.rows.values()) builder.flush()
  }

  private takeBook(bytes: Uint8Array, from: number, to: number): void {
    for (const { start, builder, sizeDecimals } of this.recent) {
      let index = BOOK_START.length
      while (index < start.length && bytes[from + index] === start[index]) index++
      if (index < start.length) continue
      const { parser, head } = this
      if (!parser.read(bytes, from + start.length, to, builder, sizeDecimals, head)) break
      builder.add(head)
      return
    }
    this.takeBookSlowly(bytes, from, to)
  }

  private takeBookSlowly(bytes: Uint8Array, from: number, to: number): void {
    const row = parseLine(bytes, from, to)
    const { venue, key, sequence } = idOf(row)
    const name = `${venue}:${key}`
    let builder = this.books.get(name)
    if (builder === undefined) {
      const context = rowContext(row, venue, key)
      this.contents.addContext(context)
      builder = new BookBuilder(context, this.platform, this.take)
      this.books.set(name, builder)
    }
    const { sizeDecimals } = VENUES[venue]
    fillSide(builder.bids, row['bids'], -1, sizeDecimals)
    fillSide(builder.asks, row['asks'], 1, sizeDecimals)
    const { head } = this
    const native = fieldsOf(row['native'], 'native')
    head.sequence = sequence
    head.received = needTime(row['received_time'])
    head.source = timeOf(row['source_time']) ?? ABSENT
    head.flags = flagsOf(row['flags'])
    head.venueSeq = countOf(native['seq'])
    head.channel = channelOf(native)
    builder.add(head)
    // The next line of this instrument is read the fast way.
    this.parser.learn(builder, bytes, from, to)
    const start = new TextEncoder().encode(`{"type":"book","id":"${name}:`)
    this.recent = [
      { start, builder, sizeDecimals },
      ...this.recent.filter((one) => one.builder !== builder).slice(0, 1),
    ]
  }

  private takeOther(row: JsonFields): void {
    const { type } = row
    switch (type) {
      case 'gap':
        this.contents.addGap(fromGapJson(row))
        break
      case 'trade':
      case 'sample': {
        const id = idOf(row)
        const [key = '', part = ''] = id.key.split('/')
        const name = `${id.venue}:${key}/${part}`
        let builder = this.rows.get(name)
        if (builder === undefined) {
          const context = rowContext(row, id.venue, key)
          this.contents.addContext(context)
          builder =
            type === 'trade'
              ? new TradeBuilder(context, this.platform, this.take)
              : new SampleBuilder(context, this.platform, this.take, metricOf(row))
          this.rows.set(name, builder)
        }
        builder.add(row, id.sequence)
        break
      }
      default:
        throw invalid(`${showValue(type)} is no type of a line`)
    }
  }

  private takeReceipt(receipt: JsonFields): void {
    const wanted = receipt['crc32']
    const found = this.check.finish()
    if (wanted !== found) {
      throw new PriorbookError(
        'corrupt_chunk',
        `its checksum is ${found}, not the ${showValue(wanted)} of its receipt`,
      )
    }
    this.hasEnded = true
  }
}

/** Trades or samples of one stream, packed 1,024 at a time. */
abstract class RowBuilder<Columns extends TradeColumns | SampleColumns> {
  protected columns: Columns
  protected readonly context: BookContext
  protected readonly platform: TapePlatform
  private readonly take: TakeChunk
  private first = 0

  constructor(context: BookContext, platform: TapePlatform, take: TakeChunk) {
    this.context = context
    this.platform = platform
    this.take = take
    this.columns = this.create()
  }

  protected abstract create(): Columns
  protected abstract push(row: JsonFields, head: RowHead): void
  protected abstract encode(first: number): { readonly bytes: Uint8Array; readonly metric: string }

  add(row: JsonFields, sequence: number): void {
    const { count } = this.columns
    if (count > 0 && (count === CHUNK_ROWS || sequence !== this.first + count)) this.flush()
    if (this.columns.count === 0) this.first = sequence
    const native = fieldsOf(row['native'] ?? {}, 'native')
    this.push(row, {
      received: needTime(row['received_time']),
      source: timeOf(row['source_time']) ?? ABSENT,
      venueSeq: countOf(native['seq']),
      channel: channelOf(native),
      journal: sequence,
      flags: flagsOf(row['flags']),
    })
  }

  flush(): void {
    const { columns, first, context } = this
    const { count } = columns
    if (count === 0) return
    const { bytes, metric } = this.encode(first)
    const { venue, marketId: market, key } = context
    const kind = columns instanceof TradeColumns ? 'trade' : 'sample'
    const [firstReceived, lastReceived] = [columns.received[0]!, columns.received[count - 1]!]
    this.columns = this.create()
    const facts = { kind, venue, market, key, metric, first, count, firstReceived, lastReceived }
    this.take(facts as ChunkFacts, bytes)
  }

  protected identity(first: number) {
    const { venue, marketId: market, key } = this.context
    const maker = { origin: 'import', recorder: 'ndjson', normalizer: 0 } as const
    return { venue, market, key, ...maker, first, previousHash: NO_HASH }
  }
}

class TradeBuilder extends RowBuilder<TradeColumns> {
  protected create(): TradeColumns {
    return new TradeColumns()
  }

  protected push(row: JsonFields, head: RowHead): void {
    const { priceDecimals, sizeDecimals } = VENUES[this.context.venue]
    const taker = TAKERS.indexOf((row['taker_side'] ?? undefined) as 'buy' | 'sell' | undefined)
    const tradeId = row['trade_id']
    if (taker < 0 || typeof tradeId !== 'string') throw invalid('a trade lacks its id or its side')
    const price = parsePrice(decimalOf(row['price']), priceDecimals)
    const size = parseSize(decimalOf(row['size']), sizeDecimals)
    this.columns.push(head, tradeId, price, size, taker)
  }

  protected encode(first: number): { bytes: Uint8Array; metric: string } {
    const { columns, platform } = this
    const { bytes } = encodeTrades(columns, 0, columns.count, this.identity(first), platform)
    return { bytes, metric: '' }
  }
}

class SampleBuilder extends RowBuilder<SampleColumns> {
  private readonly metric: string

  constructor(context: BookContext, platform: TapePlatform, take: TakeChunk, metric: string) {
    super(context, platform, take)
    this.metric = metric
  }

  protected create(): SampleColumns {
    return new SampleColumns()
  }

  protected push(row: JsonFields, head: RowHead): void {
    const value = decimalOf(row[this.metric])
    if (value === undefined) throw invalid(`a sample lacks its ${this.metric}`)
    this.columns.push(head, parseScaled(value, SAMPLE_DECIMALS))
  }

  protected encode(first: number): { bytes: Uint8Array; metric: string } {
    const { columns, metric, platform } = this
    const identity = { ...this.identity(first), metric }
    return { bytes: encodeSamples(columns, 0, columns.count, identity, platform).bytes, metric }
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parseLine(bytes: Uint8Array, from: number, to: number): JsonFields {
  try {
    return fieldsOf(parseExactJson(decoder.decode(bytes.subarray(from, to))), 'a line')
  } catch (cause) {
    throw new PriorbookError('invalid_line', 'a line is not a JSON object', { cause })
  }
}

function idOf(row: JsonFields): { venue: VenueId; key: string; sequence: number } {
  const { id, sequence } = row
  const [venue, key, digits, ...rest] = typeof id === 'string' ? id.split(':') : []
  if (
    !isVenueId(venue) ||
    key === undefined ||
    rest.length > 0 ||
    !Number.isSafeInteger(sequence) ||
    String(sequence) !== digits
  ) {
    throw invalid(`${showValue(id)} is no row id`)
  }
  return { venue, key, sequence: sequence as number }
}

function rowContext(row: JsonFields, venue: VenueId, key: string): BookContext {
  const text = (name: string): string | undefined => (row[name] ?? undefined) as string | undefined
  const marketId = text('market_id')
  if (marketId === undefined) throw invalid('a row lacks its market')
  return {
    venue,
    key,
    marketId,
    conditionId: text('condition_id'),
    // Samples name their topic, which is what books call the event.
    eventId: text('event_id') ?? text('topic_id'),
    seriesTicker: text('series_ticker'),
    outcome: text('outcome'),
    tokenId: text('token_id'),
  }
}

function fillSide(side: SideLevels, value: unknown, direction: 1 | -1, sizeDecimals: number): void {
  if (value === undefined) {
    throw new PriorbookError(
      'unsupported_format',
      'its rows have no ladders: download it with include_orderbook=true',
    )
  }
  const { price, size } = fieldsOf(value, 'a ladder')
  if (!Array.isArray(price) || !Array.isArray(size) || price.length !== size.length) {
    throw invalid('a ladder has prices and sizes of different number')
  }
  side.count = 0
  side.isSame = false
  let last = direction === 1 ? 0 : 10_000
  for (let index = 0; index < price.length; index++) {
    if (side.count === side.price.length) side.grow()
    const ticks = parsePrice(decimalOf(price[index]), 4)
    const units = parseSize(decimalOf(size[index]), sizeDecimals)
    if (!((ticks - last) * direction > 0 && ticks > 0 && ticks < 10_000 && units > 0)) {
      throw invalid('a ladder is not best first, or has a price or size out of bounds')
    }
    side.price[side.count] = ticks
    side.size[side.count++] = units
    last = ticks
  }
}

function channelOf(native: JsonFields): number {
  const { sid, connection } = native
  if ((sid ?? undefined) === undefined && connection === undefined) return ABSENT
  return Math.max(0, countOf(connection)) * SUBSCRIPTIONS + Math.max(0, countOf(sid))
}

function countOf(value: unknown): number {
  if (value === undefined || value === null) return ABSENT
  if (!Number.isSafeInteger(value)) throw invalid(`${showValue(value)} is no number of a message`)
  return value as number
}

function metricOf(row: JsonFields): string {
  const metric = SAMPLE_METRICS.find((name) => row[name] !== undefined)
  if (metric === undefined) throw invalid('a sample has no value')
  return metric
}

function needTime(value: unknown): number {
  const time = timeOf(value)
  if (time === undefined) throw invalid('a row has no received time')
  return time
}

function invalid(detail: string): PriorbookError {
  return new PriorbookError('invalid_line', detail)
}

function cut(detail: string): PriorbookError {
  return new PriorbookError('truncated_file', detail)
}
