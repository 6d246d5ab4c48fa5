import { flagNames, POW10, VENUES } from '@priorbook/sdk/domain'
import {
  ABSENT,
  applyRow,
  applyRows,
  Ladder,
  loadBase,
  type BookColumns,
} from '@priorbook/sdk/tape'
import { NATIVE_LEVELS_MAX, subscriptionOf, type BookContext } from '@priorbook/sdk/wire'
import { NumberColumn, TextColumn, type ColumnBatch } from './column-batch.ts'
import { LADDER_COLUMNS } from './columns.ts'
import type { BulkScope } from './scope.ts'
import type { BookPiece } from './walk-item.ts'

/** The flag of a row whose ladder was cut at the venue's served depth. */
const TRUNCATED = 1 << 16

/** Fills columns with observations; each instrument of a market has its own running ladder. */
export class BookFiller {
  private readonly scope: BulkScope
  private readonly batch: ColumnBatch
  private readonly limit: number
  private readonly cutAt: number
  private lanes: Lane[] = []
  private contexts: readonly BookContext[] = []
  private readonly ids: TextColumn
  private readonly belongings: readonly TextColumn[]
  private readonly flags: TextColumn
  private readonly numbers: Readonly<Record<NumberName, NumberColumn>>
  private readonly ladders: readonly NumberColumn[]

  constructor(scope: BulkScope, batch: ColumnBatch) {
    this.scope = scope
    this.batch = batch
    const depth = scope.depth ?? Infinity
    this.limit = scope.venue === 'venueb' ? Math.min(depth, NATIVE_LEVELS_MAX) : depth
    this.cutAt = scope.ladders && this.limit < depth ? this.limit : Infinity
    const find = (name: string): TextColumn | NumberColumn =>
      batch.columns.find(({ spec }) => spec.name === name)!
    this.ids = find('id') as TextColumn
    this.belongings = BELONGINGS.map(([name]) => find(name) as TextColumn)
    this.flags = find('flags') as TextColumn
    this.numbers = Object.fromEntries(
      NUMBERS.map((name) => [name, find(name) as NumberColumn]),
    ) as Record<NumberName, NumberColumn>
    this.ladders = scope.ladders ? LADDER_COLUMNS.map((name) => find(name) as NumberColumn) : []
  }

  /** Appends the rows of a piece. */
  fill(contexts: readonly BookContext[], piece: BookPiece): void {
    if (contexts !== this.contexts) {
      this.contexts = contexts
      this.lanes = contexts.map((context) => new Lane(context))
    }
    const { columns, from, to, firstSequence, source } = piece
    const lane = this.lanes[source]!
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

  private row(lane: Lane, columns: BookColumns, row: number, sequence: number): void {
    const { numbers } = this
    const { ladder } = lane
    this.ids.pushUnique(`${lane.prefix}${sequence}`)
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
    pushOrNull(numbers.native_sid, subscriptionOf(columns.channel[row]!) ?? ABSENT)
    pushOrNull(numbers.native_seq, columns.venueSeq[row]!)
    if (this.ladders.length > 0) this.pushLadders(ladder, factor)
  }

  private flagCode(bits: number): number {
    const names: string[] = flagNames(bits & 0xffff)
    if ((bits & TRUNCATED) !== 0) names.push('truncated')
    return this.flags.codeOf(names.join('|'))
  }

  private pushLadders(ladder: Ladder, factor: number): void {
    const [bidsPrice, bidsSize, asksPrice, asksSize, yesPrice, yesSize, noPrice, noSize] =
      this.ladders as [
        NumberColumn,
        NumberColumn,
        NumberColumn,
        NumberColumn,
        NumberColumn,
        NumberColumn,
        NumberColumn,
        NumberColumn,
      ]
    const hasNative = this.scope.venue === 'venueb'
    const { one, size } = ladder
    let left = this.limit
    for (let at = ladder.bestBid; at !== 0 && left > 0; at = ladder.nextBid(at), left--) {
      bidsPrice.add(at * factor)
      bidsSize.add(size[at * 2]!)
      if (!hasNative) continue
      yesPrice.add(at * factor)
      yesSize.add(size[at * 2]!)
    }
    left = this.limit
    for (let at = ladder.bestAsk; at !== one && left > 0; at = ladder.nextAsk(at), left--) {
      asksPrice.add(at * factor)
      asksSize.add(size[at * 2 + 1]!)
      if (!hasNative) continue
      noPrice.add((one - at) * factor)
      noSize.add(size[at * 2 + 1]!)
    }
    for (const column of [bidsPrice, bidsSize, asksPrice, asksSize]) column.endRow()
    for (const column of [yesPrice, yesSize, noPrice, noSize]) {
      if (hasNative) column.endRow()
      else column.pushNull()
    }
  }
}

/** One instrument: its running ladder and where it stands. */
class Lane {
  readonly context: BookContext
  readonly prefix: string
  ladder = new Ladder()
  next = 0
  private columns: BookColumns | undefined

  constructor(context: BookContext) {
    this.context = context
    this.prefix = `${context.venue}:${context.key}:`
  }

  /** Brings the ladder to the book before a row. */
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
  'native_seq',
] as const

type NumberName = (typeof NUMBERS)[number]

function pushOrNull(column: NumberColumn, value: number): void {
  if (value === ABSENT) column.pushNull()
  else column.push(value)
}
