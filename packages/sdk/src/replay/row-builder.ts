import { isBackfillKey, parsePrice, parseSize, VENUES } from '../domain/index.ts'
import {
  encodeSamples,
  encodeTrades,
  NO_HASH,
  parseSampleValue,
  SampleColumns,
  TAKERS,
  TradeColumns,
  type RowHead,
  type TapePlatform,
} from '../tape/index.ts'
import {
  decimalOf,
  fieldsOf,
  saidOfTrade,
  type BookContext,
  type JsonFields,
} from '../wire/index.ts'
import { CHUNK_ROWS, type OnChunk } from './book-builder.ts'
import { headOf, invalid } from './row-json.ts'

/** Packs the trades of an instrument, or its samples of one metric, into chunks. */
export class RowBuilder {
  private readonly context: BookContext
  private readonly platform: TapePlatform
  private readonly onChunk: OnChunk
  /** The metric of samples; undefined for trades. */
  private readonly metric: string | undefined
  private columns: TradeColumns | SampleColumns
  private first = 0

  constructor(context: BookContext, platform: TapePlatform, onChunk: OnChunk, metric?: string) {
    this.context = context
    this.platform = platform
    this.onChunk = onChunk
    this.metric = metric
    this.columns = this.create()
  }

  add(row: JsonFields, sequence: number): void {
    const { count } = this.columns
    if (count > 0 && (count === CHUNK_ROWS || sequence !== this.first + count)) this.flush()
    if (this.columns.count === 0) this.first = sequence
    const { columns } = this
    const head = { ...inOrder(headOf(row), this.context.key), journal: sequence }
    if (columns instanceof TradeColumns) pushTrade(columns, row, head, this.context)
    else pushSample(columns, row, head, this.metric!)
  }

  flush(): void {
    const { columns, first, context, metric = '', platform } = this
    const { count } = columns
    if (count === 0) return
    const { venue, marketId: market, key } = context
    const maker = { origin: 'import', recorder: 'ndjson', normalizer: 0 } as const
    const identity = { venue, market, key, ...maker, first, previousHash: NO_HASH }
    const { bytes } =
      columns instanceof TradeColumns
        ? encodeTrades(columns, 0, count, identity, platform)
        : encodeSamples(columns, 0, count, { ...identity, metric }, platform)
    const kind = columns instanceof TradeColumns ? 'trade' : 'sample'
    const [firstReceived, lastReceived] = [columns.received[0]!, columns.received[count - 1]!]
    this.columns = this.create()
    const facts = { venue, market, key, metric, first, count, firstReceived, lastReceived }
    this.onChunk({ kind, ...facts }, bytes)
  }

  private create(): TradeColumns | SampleColumns {
    return this.metric === undefined ? new TradeColumns() : new SampleColumns()
  }
}

// Rows of a venue's history are in the order of its clock, and stored by it.
function inOrder<Head extends { received: number; source: number }>(head: Head, key: string): Head {
  if (!isBackfillKey(key)) return head
  return { ...head, received: head.source, source: head.received }
}

function pushTrade(
  columns: TradeColumns,
  row: JsonFields,
  head: RowHead,
  { venue }: BookContext,
): void {
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const taker = TAKERS.indexOf((row['taker_side'] ?? undefined) as 'buy' | 'sell' | undefined)
  const tradeId = row['trade_id']
  if (taker < 0 || typeof tradeId !== 'string') {
    throw invalid('a trade has no valid id or taker side')
  }
  const price = parsePrice(decimalOf(row['price']), priceDecimals)
  const size = parseSize(decimalOf(row['size']), sizeDecimals)
  const { native } = row
  const said = native === undefined ? undefined : saidOfTrade(fieldsOf(native, 'native'))
  columns.push(head, tradeId, price, size, taker, said)
}

function pushSample(columns: SampleColumns, row: JsonFields, head: RowHead, metric: string): void {
  // A value of the price history names its metric beside it.
  const value = decimalOf(row['metric'] === metric ? row['value'] : row[metric])
  if (value === undefined) throw invalid(`a sample has no ${metric}`)
  const { value: units, fine } = parseSampleValue(value)
  columns.push(head, units, fine)
}
