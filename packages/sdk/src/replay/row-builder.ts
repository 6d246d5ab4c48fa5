import { parsePrice, parseScaled, parseSize, VENUES } from '../domain/index.ts'
import {
  encodeSamples,
  encodeTrades,
  NO_HASH,
  SAMPLE_DECIMALS,
  SampleColumns,
  TAKERS,
  TradeColumns,
  type RowHead,
  type TapePlatform,
} from '../tape/index.ts'
import { decimalOf, type BookContext, type JsonFields } from '../wire/index.ts'
import { CHUNK_ROWS, type OnChunk } from './book-builder.ts'
import type { ChunkFacts } from './contents.ts'
import { headOf, invalid } from './row-json.ts'

/** Packs the trades or samples of one stream into chunks. */
abstract class RowBuilder<Columns extends TradeColumns | SampleColumns> {
  protected columns: Columns
  protected readonly context: BookContext
  protected readonly platform: TapePlatform
  private readonly onChunk: OnChunk
  private first = 0

  constructor(context: BookContext, platform: TapePlatform, onChunk: OnChunk) {
    this.context = context
    this.platform = platform
    this.onChunk = onChunk
    this.columns = this.create()
  }

  protected abstract create(): Columns
  protected abstract push(row: JsonFields, head: RowHead): void
  protected abstract encode(first: number): { readonly bytes: Uint8Array; readonly metric: string }

  add(row: JsonFields, sequence: number): void {
    const { count } = this.columns
    if (count > 0 && (count === CHUNK_ROWS || sequence !== this.first + count)) this.flush()
    if (this.columns.count === 0) this.first = sequence
    this.push(row, { ...headOf(row), journal: sequence })
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
    this.onChunk(facts as ChunkFacts, bytes)
  }

  protected identity(first: number) {
    const { venue, marketId: market, key } = this.context
    const maker = { origin: 'import', recorder: 'ndjson', normalizer: 0 } as const
    return { venue, market, key, ...maker, first, previousHash: NO_HASH }
  }
}

/** Packs trades into chunks. */
export class TradeBuilder extends RowBuilder<TradeColumns> {
  protected create(): TradeColumns {
    return new TradeColumns()
  }

  protected push(row: JsonFields, head: RowHead): void {
    const { priceDecimals, sizeDecimals } = VENUES[this.context.venue]
    const taker = TAKERS.indexOf((row['taker_side'] ?? undefined) as 'buy' | 'sell' | undefined)
    const tradeId = row['trade_id']
    if (taker < 0 || typeof tradeId !== 'string')
      throw invalid('a trade has no valid id or taker side')
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

/** Packs the samples of one metric into chunks. */
export class SampleBuilder extends RowBuilder<SampleColumns> {
  private readonly metric: string

  constructor(context: BookContext, platform: TapePlatform, onChunk: OnChunk, metric: string) {
    super(context, platform, onChunk)
    this.metric = metric
  }

  protected create(): SampleColumns {
    return new SampleColumns()
  }

  protected push(row: JsonFields, head: RowHead): void {
    const value = decimalOf(row[this.metric])
    if (value === undefined) throw invalid(`a sample has no ${this.metric}`)
    this.columns.push(head, parseScaled(value, SAMPLE_DECIMALS))
  }

  protected encode(first: number): { bytes: Uint8Array; metric: string } {
    const { columns, metric, platform } = this
    const identity = { ...this.identity(first), metric }
    return { bytes: encodeSamples(columns, 0, columns.count, identity, platform).bytes, metric }
  }
}
