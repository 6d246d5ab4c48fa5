import { flagNames, parseScaled, POW10, VENUES } from '@priorbook/sdk/domain'
import {
  ABSENT,
  applyRow,
  applyRows,
  type BookColumns,
  Ladder,
  loadBase,
} from '@priorbook/sdk/tape'
import {
  type BookContext,
  connectionOf,
  LADDER_COLUMNS,
  subscriptionOf,
  toHistoryJson,
  toReferenceJson,
  toSampleJson,
  toTradeJson,
  TRUNCATED,
} from '@priorbook/sdk/wire'
import type { RunPart } from '../../rows/index.ts'
import {
  ColumnBatch,
  columnsOf,
  type ColumnSpec,
  type NumberColumn,
  RowShape,
  TextColumn,
  UniqueColumn,
  type Words,
} from './columns.ts'
import type { BulkScope } from './scope.ts'
import { type BulkWriter, NOTHING } from './stream.ts'
import { cutPieces } from './text.ts'
import type { WalkItem } from './bulk-walk.ts'

/** Writes batches of rows as the bytes of one column format. */
export interface ColumnSink {
  begin(): Iterable<Uint8Array>
  /** Writes the rows of a batch, which the caller reuses afterwards. */
  write(batch: ColumnBatch): Iterable<Uint8Array>
  /** Formats with room for it keep the receipt as JSON. */
  end(receipt: object): Iterable<Uint8Array>
}

// Max rows and ladder values per batch: about a megabyte, a few milliseconds to fill and to write.
const BATCH_ROWS = 2048
const BATCH_VALUES = 32_768
// Max rows filled per step.
const STEP_ROWS = 256

/** Fills batches from a walk and writes them to a sink. */
export function createColumnWriter(
  scope: BulkScope,
  createSink: (specs: readonly ColumnSpec[]) => ColumnSink,
): BulkWriter {
  const specs = columnsOf(scope)
  const batch = new ColumnBatch(specs)
  const sink = createSink(specs)
  const books = scope.dataset === 'books' ? new BookFiller(scope, batch) : undefined

  function* flush(): Generator<Uint8Array> {
    yield* sink.write(batch)
    batch.clear()
  }
  function* flushIfFull(): Generator<Uint8Array> {
    if (batch.rows >= BATCH_ROWS || batch.values >= BATCH_VALUES) yield* flush()
    else yield NOTHING
  }
  return {
    begin: () => sink.begin(),
    *write(item) {
      switch (item.kind) {
        case 'book':
          for (const pieces of cutPieces(item.pieces, () => STEP_ROWS)) {
            for (const piece of pieces) books!.fill(item.contexts, piece)
            yield* flushIfFull()
          }
          break
        case 'trade':
        case 'sample':
        case 'history':
        case 'reference':
          for (let from = 0; from < item.rows.length; from += STEP_ROWS) {
            fillRows(batch, item, from, Math.min(from + STEP_ROWS, item.rows.length))
            yield* flushIfFull()
          }
          break
        case 'market':
        case 'gap':
          yield NOTHING
          break
      }
    },
    *end(receipt) {
      if (batch.rows > 0) yield* flush()
      yield* sink.end(receipt)
    },
  }
}

/** Fills columns with observations; each instrument of a market has its own running ladder. */
class BookFiller {
  private readonly scope: BulkScope
  private readonly batch: ColumnBatch
  private readonly limit: number
  private readonly cutAt: number
  private lanes: LaneLadder[] = []
  private contexts: readonly BookContext[] = []
  private readonly ids: UniqueColumn
  private readonly belongings: readonly TextColumn[]
  private readonly flags: TextColumn
  private readonly numbers: Readonly<Record<NumberName, NumberColumn>>
  private readonly sides: { readonly bids: Side; readonly asks: Side } | undefined
  /** Prices of the no ladder, where the venue has one. */
  private readonly noPrices: Words | undefined
  /** The shape of yes and no ladders where the venue has none: all rows are null. */
  private readonly nulls: RowShape | undefined

  constructor(scope: BulkScope, batch: ColumnBatch) {
    this.scope = scope
    this.batch = batch
    const depth = scope.depth ?? Infinity
    this.limit = Math.min(depth, VENUES[scope.venue].levelsMax ?? Infinity)
    this.cutAt = scope.ladders && this.limit < depth ? this.limit : Infinity
    const find = (name: string): ColumnBatch['columns'][number] =>
      batch.columns.find(({ spec }) => spec.name === name)!
    this.ids = find('id') as UniqueColumn
    this.belongings = BELONGINGS.map(([name]) => find(name) as TextColumn)
    this.flags = find('flags') as TextColumn
    this.numbers = Object.fromEntries(
      NUMBERS.map((name) => [name, find(name) as NumberColumn]),
    ) as Record<NumberName, NumberColumn>
    if (!scope.ladders) return
    const [bidsPrice, bidsSize, asksPrice, asksSize, yesPrice, yesSize, noPrice, noSize] =
      LADDER_COLUMNS.map((name) => find(name) as NumberColumn) as Eight<NumberColumn>
    this.sides = { bids: joinSide(bidsPrice, bidsSize), asks: joinSide(asksPrice, asksSize) }
    if (VENUES[scope.venue].hasYesNoLadders) {
      // The yes ladder is the bids; the no ladder is the asks at 1 − price.
      for (const column of [yesPrice, yesSize]) column.shape = bidsPrice.shape
      for (const column of [noPrice, noSize]) column.shape = asksPrice.shape
      yesPrice.values = bidsPrice.values
      yesSize.values = bidsSize.values
      noSize.values = asksSize.values
      this.noPrices = noPrice.values
    } else {
      this.nulls = new RowShape()
      for (const column of [yesPrice, yesSize, noPrice, noSize]) column.shape = this.nulls
    }
  }

  /** Appends the rows of a piece. */
  fill(contexts: readonly BookContext[], piece: RunPart): void {
    if (contexts !== this.contexts) {
      this.contexts = contexts
      this.lanes = contexts.map((context) => new LaneLadder(context))
    }
    const { columns, from, to, firstSequence } = piece
    const lane = this.lanes[piece.lane]!
    lane.seek(columns, from)
    const codes = this.belongings.map((column, index) =>
      column.codeOf(lane.context[BELONGINGS[index]![1]]),
    )
    for (let row = from; row < to; row++) {
      applyRow(lane.ladder, columns, row)
      this.row(lane, columns, row, firstSequence + row)
      for (let index = 0; index < codes.length; index++) {
        this.belongings[index]!.pushCode(codes[index]!)
      }
    }
    lane.next = to
    this.batch.rows += to - from
  }

  private row(lane: LaneLadder, columns: BookColumns, row: number, sequence: number): void {
    const { numbers } = this
    const { ladder } = lane
    this.ids.pushNumbered(lane.prefix, sequence)
    pushOrNull(numbers.source_time, columns.source[row]!)
    numbers.received_time.push(columns.received[row]!)
    numbers.sequence.push(sequence)
    const factor = POW10[VENUES[this.scope.venue].priceDecimals - ladder.decimals]!
    const { bestBid, bestAsk, one, bidLevels, askLevels } = ladder
    const hasBid = bestBid !== 0
    const hasAsk = bestAsk !== one
    pushOrNull(numbers.best_bid, hasBid ? bestBid * factor : ABSENT)
    pushOrNull(numbers.best_ask, hasAsk ? bestAsk * factor : ABSENT)
    if (hasBid && hasAsk) {
      numbers.mid.push((bestBid + bestAsk) * 5 * factor)
      numbers.spread.push((bestAsk - bestBid) * factor)
    } else {
      numbers.mid.pushNull()
      numbers.spread.pushNull()
    }
    numbers.bid_levels.push(bidLevels)
    numbers.ask_levels.push(askLevels)
    const isCut = bidLevels > this.cutAt || askLevels > this.cutAt
    this.flags.pushCode(this.flagCode(columns.flags[row]! | (isCut ? TRUNCATED : 0)))
    const channel = columns.channel[row]!
    pushOrNull(numbers.native_sid, subscriptionOf(channel) || ABSENT)
    pushOrNull(numbers.native_connection, connectionOf(channel) || ABSENT)
    pushOrNull(numbers.native_seq, columns.venueSeq[row]!)
    if (this.sides !== undefined) this.pushLadders(this.sides, ladder, factor)
  }

  private flagCode(bits: number): number {
    const names: string[] = flagNames(bits & 0xffff)
    if ((bits & TRUNCATED) !== 0) names.push('truncated')
    return this.flags.codeOf(names.join('|'))
  }

  private pushLadders(sides: { bids: Side; asks: Side }, ladder: Ladder, factor: number): void {
    const { limit, noPrices } = this
    const { one } = ladder
    const { bids, asks } = sides
    let place = bids.reserve(Math.min(limit, ladder.bidLevels))
    for (let at = ladder.bestBid, left = limit; at !== 0 && left > 0; left--) {
      bids.put(place++, at * factor, ladder.sizeAt(at * 2))
      at = ladder.nextBid(at)
    }
    bids.end(place)
    noPrices?.reserve(Math.min(limit, ladder.askLevels))
    place = asks.reserve(Math.min(limit, ladder.askLevels))
    for (let at = ladder.bestAsk, left = limit; at !== one && left > 0; left--) {
      asks.put(place, at * factor, ladder.sizeAt(at * 2 + 1))
      if (noPrices !== undefined) noPrices.words[place] = (one - at) * factor
      place++
      at = ladder.nextAsk(at)
    }
    asks.end(place)
    if (noPrices !== undefined) noPrices.count = place
    this.nulls?.end(0, false)
  }
}

type Eight<T> = [T, T, T, T, T, T, T, T]

/** Prices and sizes of one side of a book. */
class Side {
  private readonly price: Words
  private readonly size: Words
  private readonly shape: RowShape

  constructor(price: NumberColumn, size: NumberColumn) {
    this.price = price.values
    this.size = size.values
    this.shape = price.shape
  }

  /** Allocates memory for levels and returns the index of the first. */
  reserve(levels: number): number {
    this.price.reserve(levels)
    this.size.reserve(levels)
    return this.price.count
  }

  put(place: number, price: number, size: number): void {
    this.price.words[place] = price
    this.size.words[2 * place] = size | 0
    this.size.words[2 * place + 1] = Math.floor(size / 4_294_967_296)
  }

  /** Ends a row; `place` is the index after its last level. */
  end(place: number): void {
    this.price.count = place
    this.size.count = place
    this.shape.end(place, true)
  }
}

function joinSide(price: NumberColumn, size: NumberColumn): Side {
  size.shape = price.shape
  return new Side(price, size)
}

/** One instrument: its ladder and the row that it was applied up to. */
class LaneLadder {
  readonly context: BookContext
  readonly prefix: Uint8Array
  ladder = new Ladder()
  next = 0
  private columns: BookColumns | undefined

  constructor(context: BookContext) {
    this.context = context
    this.prefix = Buffer.from(`${context.venue}:${context.key}:`)
  }

  /** Sets the ladder to the book before a row. */
  seek(columns: BookColumns, row: number): void {
    if (columns !== this.columns || row < this.next) {
      this.columns = columns
      this.next = 0
      if (this.ladder.decimals !== columns.priceDecimals) {
        this.ladder = new Ladder(columns.priceDecimals)
      }
      loadBase(this.ladder, columns)
    }
    if (this.next < row) applyRows(this.ladder, columns, this.next, row)
    this.next = row
  }
}

const BELONGINGS = [
  ['venue', 'venue'],
  ['market_id', 'marketId'],
  ['condition_id', 'conditionId'],
  ['event_id', 'eventId'],
  ['series_ticker', 'seriesTicker'],
  ['outcome', 'outcome'],
  ['token_id', 'tokenId'],
] as const

const NUMBERS = [
  'source_time',
  'received_time',
  'sequence',
  'best_bid',
  'best_ask',
  'mid',
  'spread',
  'bid_levels',
  'ask_levels',
  'native_sid',
  'native_connection',
  'native_seq',
] as const

type NumberName = (typeof NUMBERS)[number]

function pushOrNull(column: NumberColumn, value: number): void {
  if (value === ABSENT) column.pushNull()
  else column.push(value)
}

type RowsItem = Extract<WalkItem, { readonly kind: 'trade' | 'sample' | 'history' | 'reference' }>

/** Fills columns with rows [from, to) of all datasets but books, from their JSON values. */
function fillRows(batch: ColumnBatch, item: RowsItem, from: number, to: number): void {
  for (let index = from; index < to; index++) push(batch, valuesOf(item, index))
  batch.rows += to - from
}

/** A row as JSON values, with decimals as text, times as numbers and `native` flattened. */
function valuesOf(item: RowsItem, index: number): Readonly<Record<string, unknown>> {
  const style = { numberFormat: 'string', timeFormat: 'epoch_us' } as const
  if (item.kind === 'sample') {
    const { columns, row, ordinal, lane } = item.rows[index]!
    return { ...toSampleJson(columns, row, ordinal, item.contexts[lane]!, style) }
  }
  if (item.kind === 'history') {
    const { columns, row, ordinal, lane } = item.rows[index]!
    return { ...toHistoryJson(columns, row, ordinal, item.contexts[lane]!, style) }
  }
  if (item.kind === 'reference') {
    const { columns, row, ordinal, lane } = item.rows[index]!
    return { ...toReferenceJson(columns, row, ordinal, item.contexts[lane]!, style) }
  }
  const { columns, row, ordinal, lane } = item.rows[index]!
  const { native, ...rest } = toTradeJson(columns, row, ordinal, item.contexts[lane]!, style)
  return {
    ...rest,
    native_taker_side: native.taker_side,
    native_sid: native.sid,
    native_seq: native.seq,
    native: columns.native[row],
  }
}

function push(batch: ColumnBatch, values: Readonly<Record<string, unknown>>): void {
  for (const column of batch.columns) {
    const { name, type } = column.spec
    const value = values[name] ?? undefined
    if (column instanceof UniqueColumn) column.push(value as string)
    else if (column instanceof TextColumn) {
      const text = Array.isArray(value) ? value.join('|') : (value as string | undefined)
      column.pushCode(column.codeOf(text))
    } else if (value === undefined) column.pushNull()
    else if (type.kind === 'decimal') column.push(parseScaled(value as string, type.scale))
    else column.push(value as number)
  }
}
