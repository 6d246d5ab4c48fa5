import { REFERENCE_METRIC, toMicros, VENUES, type Gap } from '@priorbook/sdk/domain'
import type { HeadColumns, SampleColumns, TradeColumns } from '@priorbook/sdk/tape'
import type {
  BookContext,
  HistoryMetric,
  ReferenceContext,
  SampleContext,
  SampleMetric,
} from '@priorbook/sdk/wire'
import {
  BookLane,
  GapQueue,
  Merge,
  RowLane,
  VENUE_KEY,
  gapKeysOf,
  gapsOfKeys,
  removedSince,
  storeGaps,
  type LaneOptions,
  type LaneQuery,
  type ReadRows,
  type RowPart,
  type RunPart,
} from '../../rows/index.ts'
import type { MarketState, StoreReader } from '../../store/store.ts'
import { marketsWithRows } from '../markets/family.ts'
import { instrumentsOf, sampleSeriesOf } from '../markets/instruments.ts'
import { gapsOfPastPrices } from '../markets/past-prices.ts'
import { gapsOfPast } from '../markets/past-trades.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { gapsOfReferences, type ReferenceSeries } from '../markets/references.ts'
import { keepSeriesGaps } from '../markets/series-gaps.ts'
import { keepTradeGaps } from '../markets/trade-source.ts'
import type { ApiContext } from '../route.ts'
import { streamsOf, type BulkScope } from './scope.ts'

/**
 * An item of a download, in the order of the file: a market, then its rows by received time, with every
 * gap before the first row after it. `lane` of a row is an index into the contexts.
 */
export type WalkItem =
  | { readonly kind: 'market'; readonly market: MarketState }
  | {
      readonly kind: 'book'
      readonly contexts: readonly BookContext[]
      readonly pieces: readonly RunPart[]
    }
  | {
      readonly kind: 'trade'
      readonly contexts: readonly BookContext[]
      readonly rows: readonly RowPart<TradeColumns>[]
    }
  | {
      readonly kind: 'sample'
      readonly contexts: readonly SampleContext[]
      readonly rows: readonly RowPart<SampleColumns>[]
    }
  | {
      readonly kind: 'history'
      readonly contexts: readonly SampleContext<HistoryMetric>[]
      readonly rows: readonly RowPart<SampleColumns>[]
    }
  | {
      readonly kind: 'reference'
      readonly contexts: readonly ReferenceContext[]
      readonly rows: readonly RowPart<SampleColumns>[]
    }
  | { readonly kind: 'gap'; readonly gap: Gap }

// Two full chunks: a page costs one read of the store and is written in slices.
const PAGE_ROWS = 2048

/** The markets of a download by (open time, id); rows of a day may be those of a market of the next. */
export async function* walkMarkets(
  context: ApiContext,
  scope: BulkScope,
): AsyncGenerator<MarketState> {
  const { market, family, grant } = scope
  if (market !== undefined) yield market
  else yield* marketsWithRows(context, new PlanFilter(grant), family, scope)
}

/** Everything of a download in the order of its file; a market without rows and gaps is left out. */
export async function* walk(context: ApiContext, scope: BulkScope): AsyncGenerator<WalkItem> {
  if (scope.start >= scope.end) return
  if (scope.references !== undefined) {
    yield* walkReferences(context, scope, scope.references)
    return
  }
  const venueGaps = await venueGapsOf(context, scope)
  for await (const market of walkMarkets(context, scope)) {
    let isNamed = false
    for await (const item of walkMarket(context, scope, market, venueGaps)) {
      if (!isNamed) yield { kind: 'market', market }
      isNamed = true
      yield item
    }
  }
}

async function* walkReferences(
  context: ApiContext,
  scope: BulkScope,
  contexts: readonly ReferenceSeries[],
): AsyncGenerator<WalkItem> {
  const { store } = context
  const gaps = new MarketGaps(store, scope, () => gapsOfReferences(context, contexts, scope))
  const read: ReadRows<SampleColumns> = (query) =>
    store.samples({ ...query, metric: REFERENCE_METRIC })
  for await (const item of walkRows(read, scope, contexts, gaps)) {
    yield 'scope' in item ? { kind: 'gap', gap: item } : { kind: 'reference', contexts, rows: item }
  }
  for (let gap = gaps.shift(); gap !== undefined; gap = gaps.shift()) yield { kind: 'gap', gap }
}

async function* walkMarket(
  context: ApiContext,
  scope: BulkScope,
  market: MarketState,
  venueGaps: readonly Gap[],
): AsyncGenerator<WalkItem> {
  const { store } = context
  const gaps = new MarketGaps(store, scope, () => gapsOf(context, scope, market, venueGaps))
  if (scope.dataset === 'books') {
    const contexts = await instrumentsOf(context, market.record)
    yield* walkBooks(store, scope, contexts, gaps)
  } else if (scope.dataset === 'trades') {
    const contexts = await streamsOf(context, market.record, scope)
    const read: ReadRows<TradeColumns> = (query) => store.trades(query)
    for await (const item of walkRows(read, scope, contexts, gaps)) {
      yield 'scope' in item ? { kind: 'gap', gap: item } : { kind: 'trade', contexts, rows: item }
    }
  } else if (scope.dataset === 'history') {
    const metric = scope.metric as HistoryMetric
    const streams = await streamsOf(context, market.record, scope)
    const contexts = streams.map((stream) => ({ ...stream, metric }))
    const read: ReadRows<SampleColumns> = (query) => store.samples({ ...query, metric })
    for await (const item of walkRows(read, scope, contexts, gaps)) {
      yield 'scope' in item ? { kind: 'gap', gap: item } : { kind: 'history', contexts, rows: item }
    }
  } else {
    const metric = scope.metric as SampleMetric
    const contexts = sampleSeriesOf(market.record, metric)
    const read: ReadRows<SampleColumns> = (query) => store.samples({ ...query, metric })
    for await (const item of walkRows(read, scope, contexts, gaps)) {
      yield 'scope' in item ? { kind: 'gap', gap: item } : { kind: 'sample', contexts, rows: item }
    }
  }
  for (let gap = gaps.shift(); gap !== undefined; gap = gaps.shift()) yield { kind: 'gap', gap }
}

/** The gaps of a market, which may get more while its rows are read. */
class MarketGaps extends GapQueue {
  private readonly store: StoreReader
  private readonly scope: BulkScope
  private readonly read: () => Promise<readonly Gap[]>

  constructor(store: StoreReader, scope: BulkScope, read: () => Promise<readonly Gap[]>) {
    super()
    this.store = store
    this.scope = scope
    this.read = read
  }

  /**
   * Reads the gaps, after the lanes have read their first rows: so the gap of rows that were removed before
   * is among them. Rows that were read since are not missing.
   */
  async open(lanes: readonly (BookLane | RowLane<HeadColumns>)[]): Promise<void> {
    const firsts = new Map(
      lanes.flatMap(({ query, isReady, at }) => (isReady ? [[query.key, at] as const] : [])),
    )
    for (const gap of await this.read()) {
      const first = firsts.get(gap.key) ?? Infinity
      const isCut = gap.reason === 'retention' && gap.start < first && (gap.end ?? 0) > first
      this.add([isCut ? { ...gap, end: toMicros(first) } : gap])
    }
  }

  /** What a lane tells while it reads. */
  laneOptions(lane: number, key: string): LaneOptions {
    const { venue, start, end } = this.scope
    return {
      lane,
      onDamage: (damage) => this.add(damage),
      findRemoved: async ({ last, next }) => {
        if (last === undefined) return []
        const query = { venue, key, reason: 'retention', start, end } as const
        return removedSince(await this.store.gaps(query), last.received, next)
      },
    }
  }
}

async function* walkBooks(
  store: StoreReader,
  scope: BulkScope,
  contexts: readonly BookContext[],
  gaps: MarketGaps,
): AsyncGenerator<WalkItem> {
  const lanes = contexts.map(
    ({ key }, lane) => new BookLane(store, laneOf(scope, key), gaps.laneOptions(lane, key)),
  )
  const merge = new Merge(lanes)
  await merge.next()
  await gaps.open(lanes)
  let pieces: RunPart[] = []
  let rows = 0
  for (;;) {
    const lane = merge.ready ?? (await merge.next())
    if (lane === undefined) break
    const part = lane.shiftBefore(merge.second, PAGE_ROWS)
    merge.settle()
    const last = part.to - 1
    const { key } = contexts[part.lane]!
    if (gaps.isBefore(part.columns.received[last]!, key, part.firstSequence + last)) {
      for (const item of gaps.cut(part, key)) {
        if (!('scope' in item)) pieces.push(item)
        else {
          if (pieces.length > 0) yield { kind: 'book', contexts, pieces }
          pieces = []
          yield { kind: 'gap', gap: item }
        }
      }
    } else pieces.push(part)
    rows += part.to - part.from
    if (rows < PAGE_ROWS) continue
    yield { kind: 'book', contexts, pieces }
    pieces = []
    rows = 0
  }
  if (pieces.length > 0) yield { kind: 'book', contexts, pieces }
}

/** Lists of rows, and gaps between them. */
async function* walkRows<Columns extends HeadColumns>(
  read: ReadRows<Columns>,
  scope: BulkScope,
  contexts: readonly { readonly key: string }[],
  gaps: MarketGaps,
): AsyncGenerator<RowPart<Columns>[] | Gap> {
  const lanes = contexts.map(
    ({ key }, lane) => new RowLane(read, laneOf(scope, key), gaps.laneOptions(lane, key)),
  )
  const merge = new Merge(lanes)
  await merge.next()
  await gaps.open(lanes)
  let rows: RowPart<Columns>[] = []
  for (;;) {
    const lane = merge.ready ?? (await merge.next())
    if (lane === undefined) break
    const row = lane.shift()
    merge.settle()
    // The sequence of a gap is one of observations: here the time alone decides.
    while (gaps.isBefore(row.columns.received[row.row]!, '', 0)) {
      if (rows.length > 0) yield rows
      rows = []
      yield gaps.shift()!
    }
    rows.push(row)
    if (rows.length < PAGE_ROWS) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

function laneOf({ venue, start, end, knownAt }: BulkScope, key: string): LaneQuery {
  return { venue, key, order: 'asc', start, end, knownAt, pageRows: PAGE_ROWS }
}

/** The gaps of the whole venue in the range. */
export function venueGapsOf({ store }: ApiContext, scope: BulkScope): Promise<readonly Gap[]> {
  const { venue, start, end } = scope
  return store.gaps({ venue, key: VENUE_KEY, start, end })
}

/** The gaps of a market in the range that concern the dataset: of its instruments, itself, its venue. */
export async function gapsOf(
  context: ApiContext,
  scope: BulkScope,
  { record }: MarketState,
  venueGaps: readonly Gap[],
): Promise<Gap[]> {
  const { venue, start, end } = scope
  if (scope.origin !== undefined) {
    const streams = await streamsOf(context, record, scope)
    const read = scope.dataset === 'history' ? gapsOfPastPrices : gapsOfPast
    return [...(await read(context.store, record, streams, { start, end }))]
  }
  const keys = new Set(gapKeysOf(await instrumentsOf(context, record)))
  keys.add(record.marketId).delete(VENUE_KEY)
  const isTrades = scope.dataset === 'trades'
  if (isTrades) keys.add(VENUES[venue].tradesKey ?? record.marketId)
  const all = await gapsOfKeys(storeGaps(context.store, venue), keys, { start, end })
  const own = isTrades ? keepTradeGaps(record, all) : all
  // A gap of the venue concerns a market only while the market is open.
  const open = record.openTime ?? 0
  const close = record.closeTime ?? Number.MAX_SAFE_INTEGER
  const shared = venueGaps.filter((gap) => gap.start < close && (gap.end ?? Infinity) > open)
  if (own.length === 0 && (open >= end || close <= start)) return []
  const concerned = [...own, ...shared]
  if (scope.dataset !== 'samples') return concerned
  return keepSeriesGaps(
    context.store,
    concerned,
    sampleSeriesOf(record, scope.metric as SampleMetric),
  )
}
