import { closeSync, openSync, readSync } from 'node:fs'
import { isBackfillKey, type MarketRecord } from '../../domain/index.ts'
import {
  decodeChunk,
  openChunk,
  rowsBetween,
  type SampleColumns,
  type StreamRows,
} from '../../tape/index.ts'
import {
  createBookRenderer,
  toHistoryJson,
  toSampleJson,
  toTradeJson,
  type BookPageOptions,
  type HistoryMetric,
  type SampleMetric,
  type ValueStyle,
} from '../../wire/index.ts'
import type { ReplayPlatform } from '../../replay/index.ts'
import { contextOf } from '../../replay/event.ts'
import type { RowStyle } from './proof-file.ts'
import { seriesOf, type IndexedChunk, type TapeIndex } from './tape-index.ts'

/** A row as the chunks of a tape file give it. */
export type ProofRow = {
  readonly sequence: number
  readonly chunk: IndexedChunk
  /** True for a line of NDJSON that shows the row. */
  matches(line: string): boolean
}

/** Reads the rows of a tape file again as lines of NDJSON, by stream and in order. */
export class ProofRows {
  private readonly file: number
  private readonly index: TapeIndex
  private readonly platform: ReplayPlatform
  private readonly style: RowStyle
  private readonly renderer = createBookRenderer()

  constructor(path: string, index: TapeIndex, platform: ReplayPlatform, style: RowStyle) {
    this.file = openSync(path, 'r')
    this.index = index
    this.platform = platform
    this.style = style
  }

  close(): void {
    closeSync(this.file)
  }

  /** The rows of each stream within the range of the file, by `venue:series`. */
  streams(): Map<string, Generator<ProofRow>> {
    const chunks = new Map<string, IndexedChunk[]>()
    for (const chunk of this.index.chunks) {
      const name = `${chunk.venue}:${seriesOf(chunk)}`
      const list = chunks.get(name)
      if (list === undefined) chunks.set(name, [chunk])
      else list.push(chunk)
    }
    const rows = [...chunks].map(([name, list]) => [name, this.rowsOf(list)] as const)
    return new Map(rows)
  }

  /** How many rows of a chunk lie within the range of the file. */
  countInRange(chunk: IndexedChunk): number {
    const { start, end } = this.index
    if (chunk.firstReceived >= start && chunk.lastReceived < end) return chunk.count
    const { from, to } = rowsBetween(this.decode(chunk).columns, start, end)
    return to - from
  }

  private *rowsOf(chunks: readonly IndexedChunk[]): Generator<ProofRow> {
    for (const chunk of chunks.toSorted((a, b) => a.first - b.first)) {
      const { start, end } = this.index
      const rows = this.decode(chunk)
      const { from, to } = rowsBetween(rows.columns, start, end)
      const shown = this.matchers(chunk, rows, from, to)
      for (let row = from; row < to; row++) {
        const matches = shown[row - from]!
        yield { sequence: chunk.first + row, chunk, matches }
      }
    }
  }

  private matchers(
    chunk: IndexedChunk,
    rows: StreamRows,
    from: number,
    to: number,
  ): ((line: string) => boolean)[] {
    const { venue, market, key, first } = chunk
    const record = this.index.markets.get(`${venue}:${market}`)
    const context = contextOf(venue, market, key, record)
    const { number_format: numberFormat, time_format: timeFormat } = this.style
    const style = { numberFormat, timeFormat }
    if (rows.kind === 'book') {
      const options: BookPageOptions = {
        ladders: this.style.include_orderbook ?? true,
        depth: this.style.depth,
        ...style,
      }
      const run = { columns: rows.columns, firstSequence: first, from, to }
      const text = Buffer.from(this.renderer.renderNdjson([run], context, options)).toString()
      return text.split('\n').map((line) => (given) => given === line)
    }
    const shown: ((line: string) => boolean)[] = []
    for (let row = from; row < to; row++) {
      const expected =
        rows.kind === 'trade'
          ? toTradeJson(rows.columns, row, first + row, context, style)
          : sampleJson(rows.columns, row, first + row, chunk, record, style)
      shown.push((line) => hasSame(JSON.parse(line), expected))
    }
    return shown
  }

  private decode(chunk: IndexedChunk): StreamRows {
    const bytes = Buffer.alloc(chunk.length)
    for (let at = 0; at < bytes.length;) {
      const read = readSync(this.file, bytes, at, bytes.length - at, chunk.offset + at)
      if (read === 0) throw new Error('the tape file became shorter while it was read')
      at += read
    }
    return decodeChunk(openChunk(bytes, this.platform), this.platform)
  }
}

function sampleJson(
  columns: SampleColumns,
  row: number,
  ordinal: number,
  { venue, market, key, metric }: IndexedChunk,
  record: MarketRecord | undefined,
  style: ValueStyle,
): object {
  const context = contextOf(venue, market, key, record)
  return isBackfillKey(key)
    ? toHistoryJson(columns, row, ordinal, { ...context, metric: metric as HistoryMetric }, style)
    : toSampleJson(columns, row, ordinal, { ...context, metric: metric as SampleMetric }, style)
}

// What a chunk holds of a trade or a sample; the other values come from the market record.
const PROVED = [
  'id',
  'venue',
  'market_id',
  'trade_id',
  'price',
  'size',
  'taker_side',
  'source_time',
  'received_time',
  'sequence',
  'flags',
  'chance',
  'last_trade',
  'metric',
  'value',
]

function hasSame(given: unknown, expected: object): boolean {
  const pick = (value: unknown): string =>
    JSON.stringify(PROVED.map((name) => (value as Readonly<Record<string, unknown>>)[name] ?? null))
  return pick(given) === pick(expected)
}
