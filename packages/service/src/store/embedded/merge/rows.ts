import {
  FLAGS,
  isBackfillKey,
  type Instrument,
  type Micros,
  type PriceTicks,
  type Provenance,
  type SizeUnits,
  type TradeNative,
} from '@priorbook/sdk/domain'
import {
  ABSENT,
  printSampleValue,
  TAKERS,
  type HeadColumns,
  type RowHead,
  type TradeColumns,
} from '@priorbook/sdk/tape'
import type { Maker } from '../log.ts'
import type { RowPage, RowQuery, StoreReader } from '../../store.ts'
import type { Numbers } from './source.ts'
import type { SeriesGaps } from './series-gaps.ts'
import type { MergeSink } from './target.ts'

/** What one recorder has of an instrument's trades or of one series of samples. */
export type RowSide = {
  readonly store: StoreReader
  readonly numbers: Numbers
  readonly makerAt: (ordinal: number) => Maker
  /** True where every recorder before it was blind. */
  readonly isNeeded: (received: number) => boolean
}

/** How the rows were merged. */
export type RowCounts = { rows: number; filled: number; repeated: number }

const PAGE_ROWS = 4096
// Max trades per lookup among those of the recorders before.
const SEARCHED = 65_536

/**
 * Merges the trades of one instrument: all of the first recorder, and from each other one those received
 * while the recorders before it were blind and missing there. Trades are identified by id, not by time.
 */
export async function mergeTrades(
  instrument: Instrument,
  sides: readonly RowSide[],
  sink: MergeSink,
  counts: RowCounts,
): Promise<void> {
  const walks = sides.map((side, index) =>
    index === 0
      ? tradesOf(instrument, side)
      : missingTrades(instrument, side, sides.slice(0, index), counts),
  )
  for await (const { row, side, head, maker } of weave(walks, counts)) {
    const { columns, at } = row
    const taker = TAKERS[columns.taker[at]!]
    const native = columns.native[at]
    sink.rowsOf(instrument.venue, maker).trades.push({
      kind: 'trade',
      instrument,
      ...toProvenance(sides[side]!.numbers.headOf(head)),
      tradeId: columns.tradeId[at]!,
      price: columns.price[at] as PriceTicks,
      size: columns.size[at] as SizeUnits,
      ...(taker === undefined ? {} : { taker }),
      ...(native === undefined ? {} : { native: JSON.parse(native) as TradeNative }),
    })
    if (sink.isFull) await sink.flush()
  }
}

/** A series of samples; `gaps` are those of the series itself, where it has any, and who made them. */
export type SampleParts = {
  readonly instrument: Instrument
  readonly metric: string
  readonly sides: readonly RowSide[]
  readonly gaps: SeriesGaps
  readonly maker: Maker
}

/** Merges one series of samples: the first recorder's, and others' where their sides say that it is needed. */
export async function mergeSamples(
  { instrument, metric, sides, gaps, maker: gapMaker }: SampleParts,
  sink: MergeSink,
  counts: RowCounts,
): Promise<void> {
  const { venue } = instrument
  const walks = sides.map((side) =>
    pagesOf(instrument, side, (query) => side.store.samples({ ...query, metric })),
  )
  // Recorders that fetched the same history have the same values: one of each time is kept.
  const isOnce = isBackfillKey(instrument.key)
  for await (const { row, side, head, maker } of weave(walks, counts, isOnce)) {
    const placed = gaps.place(head)
    for (const gap of placed.gaps) sink.rowsOf(venue, gapMaker).gaps.push(gap)
    sink.rowsOf(venue, maker).samples.push({
      kind: 'sample',
      instrument,
      ...toProvenance(sides[side]!.numbers.headOf(placed.head)),
      metric,
      value: printSampleValue(row.columns, row.at),
    })
    if (sink.isFull) await sink.flush()
  }
  for (const gap of gaps.rest()) sink.rowsOf(venue, gapMaker).gaps.push(gap)
}

type Row<Columns> = { readonly columns: Columns; readonly at: number; readonly maker: Maker }

type Woven<Columns> = {
  readonly row: Row<Columns>
  readonly side: number
  readonly head: RowHead
  readonly maker: Maker
}

// Rows of all walks by received time, which never decreases. With `isOnce` there is one row for each time.
async function* weave<Columns extends HeadColumns>(
  walks: readonly AsyncGenerator<Row<Columns>, void, void>[],
  counts: RowCounts,
  isOnce = false,
): AsyncGenerator<Woven<Columns>, void, void> {
  const ahead = await Promise.all(walks.map((walk) => walk.next()))
  const receivedOf = (side: number): number => {
    const { value } = ahead[side]!
    return value ? value.columns.received[value.at]! : Infinity
  }
  let last = 0
  for (;;) {
    let side = 0
    for (let other = 1; other < ahead.length; other++) {
      if (receivedOf(other) < receivedOf(side)) side = other
    }
    const row = ahead[side]?.value
    if (!row) return
    const own = headOf(row)
    if (isOnce && own.received <= last) {
      counts.repeated++
      ahead[side] = await walks[side]!.next()
      continue
    }
    const isBefore = own.received < last
    last = isBefore ? last + 1 : own.received
    const head = isBefore ? { ...own, received: last, flags: own.flags | FLAGS.clock_step } : own
    counts.rows++
    if (side > 0) counts.filled++
    yield { row, side, head, maker: row.maker }
    ahead[side] = await walks[side]!.next()
  }
}

function tradesOf(
  instrument: Instrument,
  side: RowSide,
): AsyncGenerator<Row<TradeColumns>, void, void> {
  return pagesOf(instrument, side, (query) => side.store.trades(query))
}

async function* pagesOf<Columns extends HeadColumns>(
  { venue, key }: Instrument,
  { numbers, makerAt, isNeeded }: RowSide,
  read: (query: RowQuery) => Promise<RowPage<Columns>>,
): AsyncGenerator<Row<Columns>, void, void> {
  for (let after = 0; ;) {
    const place = after === 0 ? {} : { after }
    const page = await read({ venue, key, order: 'asc', limit: PAGE_ROWS, ...place })
    const { rows: columns, ordinals } = page
    for (let at = 0; at < columns.count; at++) {
      if (columns.journal[at]! > numbers.bound) return
      if (isNeeded(columns.received[at]!)) yield { columns, at, maker: makerAt(ordinals[at]!) }
    }
    if (!page.hasMore) return
    after = ordinals.at(-1)!
  }
}

// The trades of a recorder that none before it has, in batches of bounded size.
async function* missingTrades(
  instrument: Instrument,
  side: RowSide,
  before: readonly RowSide[],
  counts: RowCounts,
): AsyncGenerator<Row<TradeColumns>, void, void> {
  let found = new Map<string, Row<TradeColumns>>()
  for await (const row of tradesOf(instrument, side)) {
    const id = row.columns.tradeId[row.at]!
    if (found.has(id)) counts.repeated++
    else found.set(id, row)
    if (found.size < SEARCHED) continue
    yield* await leaveOut(instrument, found, before, counts)
    found = new Map()
  }
  yield* await leaveOut(instrument, found, before, counts)
}

async function leaveOut(
  instrument: Instrument,
  found: Map<string, Row<TradeColumns>>,
  before: readonly RowSide[],
  counts: RowCounts,
): Promise<Iterable<Row<TradeColumns>>> {
  for (const side of before) {
    if (found.size === 0) break
    for await (const { columns, at } of tradesOf(instrument, { ...side, isNeeded: () => true })) {
      if (found.delete(columns.tradeId[at]!)) counts.repeated++
    }
  }
  return found.values()
}

function headOf({ columns, at }: Row<HeadColumns>): RowHead {
  return {
    received: columns.received[at]!,
    source: columns.source[at]!,
    venueSeq: columns.venueSeq[at]!,
    channel: columns.channel[at]!,
    journal: columns.journal[at]!,
    flags: columns.flags[at]!,
  }
}

function toProvenance({
  received,
  source,
  venueSeq,
  channel,
  journal,
  flags,
}: RowHead): Provenance {
  return {
    received: received as Micros,
    ...(source === ABSENT ? {} : { source: source as Micros }),
    ...(venueSeq === ABSENT ? {} : { venueSeq }),
    ...(channel === ABSENT ? {} : { channel }),
    journal,
    flags,
  }
}
