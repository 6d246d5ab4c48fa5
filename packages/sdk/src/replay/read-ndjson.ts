import {
  parsePrice,
  parseSize,
  POW10,
  PriorbookError,
  REFERENCE_MARKET,
  showValue,
  VENUES,
  type VenueFacts,
} from '../domain/index.ts'
import { withoutCompression, type TapePlatform } from '../tape/index.ts'
import {
  decimalOf,
  fieldsOf,
  fromGapJson,
  parseExactJson,
  HISTORY_METRICS,
  SAMPLE_METRICS,
  type JsonFields,
} from '../wire/index.ts'
import { BookBuilder, type OnChunk, type SideLevels } from './book-builder.ts'
import { Contents, type ChunkFacts, type Span } from './contents.ts'
import { placeError } from './error.ts'
import { concat, type ReplayPlatform, type RunningSum, type Spool } from './source.ts'
import { RowBuilder } from './row-builder.ts'
import { contextOfRow, exactUnits, headOf, idOf, invalid } from './row-json.ts'

const EVERYTHING: Span = { start: 0, end: Infinity }
const LINE_FEED = 10
// Far above what a row of the deepest book takes: a file without line feeds is not collected in memory.
const MAX_LINE_BYTES = 32 << 20

/**
 * Reads an NDJSON download and packs its rows into chunks, which take a fiftieth of the space. When it
 * resolves, the checksum of the receipt has been verified.
 */
export async function readNdjson(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  platform: ReplayPlatform,
  into: Contents,
  openSpool: () => Promise<Spool>,
): Promise<void> {
  const own = new Contents()
  const spool = await openSpool()
  let chunks: { facts: ChunkFacts; bytes: Uint8Array }[] = []
  const reader = new NdjsonReader(platform, own, (facts, packed) => {
    chunks.push({ facts, bytes: packed })
  })
  const lines = new LineSplitter((line) => reader.readLine(line))
  const store = async (): Promise<void> => {
    for (const { facts, bytes: packed } of chunks) {
      own.addChunk(facts, spool, await spool.append(packed), packed.length, EVERYTHING)
    }
    chunks = []
  }
  try {
    for await (const block of bytes) {
      lines.feed(block)
      if (chunks.length > 0) await store()
    }
    if (lines.rest > 0) throw truncated(`its last line is cut after ${lines.rest} bytes`)
    reader.finish()
    await store()
  } catch (error) {
    const read = { chunks: own.chunks, rows: own.rows }
    throw placeError(error, { source: name, offset: lines.offset, read })
  }
  into.addAll(own)
}

/** Splits bytes into lines; a line includes its line feed and is valid until the next bytes are fed. */
class LineSplitter {
  /** The offset of the current line in the stream. */
  offset = 0
  private readonly onLine: (line: Uint8Array) => void
  private partial = new Uint8Array(0)

  constructor(onLine: (line: Uint8Array) => void) {
    this.onLine = onLine
  }

  /** Bytes after the last line feed. */
  get rest(): number {
    return this.partial.length
  }

  feed(bytes: Uint8Array): void {
    let from = 0
    for (;;) {
      const end = bytes.indexOf(LINE_FEED, from) + 1
      if (end === 0) break
      const piece = bytes.subarray(from, end)
      const line = this.partial.length === 0 ? piece : concat(this.partial, piece)
      if (this.partial.length > 0) this.partial = new Uint8Array(0)
      this.onLine(line)
      this.offset += line.length
      from = end
    }
    if (from < bytes.length) this.partial = concat(this.partial, bytes.subarray(from))
    if (this.partial.length > MAX_LINE_BYTES)
      throw truncated('a line of it is too long to be a row')
  }
}

/** Turns lines into chunks, gaps and instruments. */
class NdjsonReader {
  private readonly platform: TapePlatform
  private readonly contents: Contents
  private readonly onChunk: OnChunk
  private readonly checksum: RunningSum
  private readonly books = new Map<string, BookBuilder>()
  private readonly rows = new Map<string, RowBuilder>()
  private hasEnded = false

  constructor(platform: ReplayPlatform, contents: Contents, onChunk: OnChunk) {
    this.platform = withoutCompression(platform)
    this.checksum = platform.createCrc32()
    this.contents = contents
    this.onChunk = onChunk
  }

  readLine(line: Uint8Array): void {
    if (this.hasEnded) throw invalid('lines follow its receipt')
    const text = decode(line)
    const row = parseLine(text, JSON.parse)
    if (row['type'] === 'receipt') return this.readReceipt(row)
    this.checksum.update(line)
    // Books are most of a file and mostly need no exact parser, which is several times slower.
    if (row['type'] !== 'book') this.readOther(parseLine(text, parseExactJson))
    else if (!this.readBook(row)) this.readBook(parseLine(text, parseExactJson))
  }

  finish(): void {
    if (!this.hasEnded) throw truncated('it ends before its receipt and may be incomplete')
    for (const builder of this.books.values()) builder.flush()
    for (const builder of this.rows.values()) builder.flush()
  }

  /** Adds a book; false where a number may have lost digits. */
  private readBook(row: JsonFields): boolean {
    const { venue, key, sequence } = idOf(row)
    const name = `${venue}:${key}`
    let builder = this.books.get(name)
    if (builder === undefined) {
      const context = contextOfRow(row, venue, key)
      this.contents.addContext(context)
      builder = new BookBuilder(context, this.platform, this.onChunk)
      this.books.set(name, builder)
    }
    if (!fillSide(builder.bids, row['bids'], -1, VENUES[venue])) return false
    if (!fillSide(builder.asks, row['asks'], 1, VENUES[venue])) return false
    builder.add({ ...headOf(row), sequence })
    return true
  }

  private readOther(row: JsonFields): void {
    const { type } = row
    if (type === 'gap') return this.contents.addGap(fromGapJson(row))
    if (!ROW_TYPES.has(type)) throw invalid(`${showValue(type)} is not a line type`)
    const id = idOf(row)
    // Behind the last slash is `trade` or a metric; keys may have a slash themselves.
    const key = id.key.slice(0, Math.max(0, id.key.lastIndexOf('/')))
    const name = `${id.venue}:${id.key}`
    let builder = this.rows.get(name)
    if (builder === undefined) {
      const context =
        type === 'reference'
          ? { venue: id.venue, key, marketId: REFERENCE_MARKET }
          : contextOfRow(row, id.venue, key)
      if (type !== 'reference') this.contents.addContext(context)
      const metric = type === 'trade' ? undefined : metricOf(row)
      builder = new RowBuilder(context, this.platform, this.onChunk, metric)
      this.rows.set(name, builder)
    }
    builder.add(row, id.sequence)
  }

  private readReceipt(receipt: JsonFields): void {
    const expected = receipt['crc32']
    const found = this.checksum.finish()
    if (expected !== found) {
      throw new PriorbookError(
        'corrupt_chunk',
        `its checksum is ${found}, its receipt says ${showValue(expected)}`,
      )
    }
    this.hasEnded = true
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(line: Uint8Array): string {
  try {
    return decoder.decode(line)
  } catch (cause) {
    throw new PriorbookError('invalid_line', 'a line is not UTF-8', { cause })
  }
}

function parseLine(text: string, parse: (text: string) => unknown): JsonFields {
  try {
    return fieldsOf(parse(text), 'a line')
  } catch (cause) {
    throw new PriorbookError('invalid_line', 'a line is not a JSON object', { cause })
  }
}

/** Fills a side with a ladder's levels; false where a number may have lost digits. */
function fillSide(
  side: SideLevels,
  value: unknown,
  direction: 1 | -1,
  { priceDecimals, sizeDecimals }: VenueFacts,
): boolean {
  if (value === undefined) {
    throw new PriorbookError(
      'unsupported_format',
      'its rows have no ladders: download it with include_orderbook=true',
    )
  }
  const { price, size } = fieldsOf(value, 'a ladder')
  if (!Array.isArray(price) || !Array.isArray(size) || price.length !== size.length) {
    throw invalid('a ladder has different numbers of prices and sizes')
  }
  side.count = 0
  const one = POW10[priceDecimals]!
  let last = direction === 1 ? 0 : one
  for (let index = 0; index < price.length; index++) {
    const ticks = unitsOf(price[index], priceDecimals, parsePrice)
    const units = unitsOf(size[index], sizeDecimals, parseSize)
    if (ticks === undefined || units === undefined) return false
    if (!((ticks - last) * direction > 0 && ticks > 0 && ticks < one && units > 0)) {
      throw invalid('a ladder is not sorted best first, or a price or size is out of bounds')
    }
    side.push(ticks, units)
    last = ticks
  }
  return true
}

function unitsOf(
  value: unknown,
  decimals: number,
  parse: (text: unknown, decimals: number) => number,
): number | undefined {
  return typeof value === 'number' ? exactUnits(value, decimals) : parse(decimalOf(value), decimals)
}

const ROW_TYPES: ReadonlySet<unknown> = new Set(['trade', 'sample', 'history', 'reference'])

function metricOf(row: JsonFields): string {
  const metric =
    row['type'] === 'history'
      ? HISTORY_METRICS.find((name) => row['metric'] === name)
      : SAMPLE_METRICS.find((name) => row[name] !== undefined)
  if (metric === undefined) throw invalid('a sample has no value')
  return metric
}

function truncated(detail: string): PriorbookError {
  return new PriorbookError('truncated_file', detail)
}
