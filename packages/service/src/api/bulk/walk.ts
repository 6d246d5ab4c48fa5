import type { Gap } from '@priorbook/sdk/domain'
import type { MarketState, RowQuery, StoreReader } from '../../store/store.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import type { ApiContext } from '../route.ts'
import { GapQueue } from './gap-queue.ts'
import type { BulkScope } from './scope.ts'
import { sampleSeriesOf } from './sources.ts'
import { walkBooks } from './walk-books.ts'
import type { WalkItem } from './walk-item.ts'
import { walkRows } from './walk-rows.ts'

const MARKETS_PAGE = 100
// Books are recorded from the listing of a round, which can be a day before it opens, to its resolution.
const RECORDED_OUTSIDE = 2 * 86_400_000_000

/** The markets of a download by (open time, id); rows of a day may be those of a market of the next. */
export async function* walkMarkets(
  { store }: ApiContext,
  scope: BulkScope,
): AsyncGenerator<MarketState> {
  if (scope.market !== undefined) {
    yield scope.market
    return
  }
  let after: { openTime: number; venue: string; marketId: string } | undefined
  for (;;) {
    const page = await store.markets({
      venue: scope.venue,
      ...scope.family,
      start: scope.start - RECORDED_OUTSIDE,
      end: scope.end + RECORDED_OUTSIDE,
      limit: MARKETS_PAGE,
      ...(after === undefined ? {} : { after }),
    })
    for (const market of page.markets) if (scope.allows(market.record)) yield market
    const last = page.markets.at(-1)
    if (!page.hasMore || last === undefined) return
    const { venue, marketId } = last.record
    after = { openTime: last.sortTime, venue, marketId }
  }
}

/** Everything of a download in the order of its file; a market without rows and gaps is left out. */
export async function* walk(context: ApiContext, scope: BulkScope): AsyncGenerator<WalkItem> {
  if (scope.start >= scope.end) return
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

async function* walkMarket(
  context: ApiContext,
  scope: BulkScope,
  market: MarketState,
  venueGaps: readonly Gap[],
): AsyncGenerator<WalkItem> {
  const { store } = context
  const gaps = new GapQueue(await gapsOf(context, scope, market, venueGaps))
  if (scope.dataset === 'books') {
    const contexts = await instrumentsOf(context, market.record)
    yield* walkBooks(store, scope, contexts, gaps)
  } else if (scope.dataset === 'trades') {
    const contexts = await instrumentsOf(context, market.record)
    const keys = contexts.map(({ key }) => key)
    const read = (query: RowQuery): ReturnType<StoreReader['trades']> => store.trades(query)
    for await (const step of walkRows(read, scope, keys, gaps)) {
      if (step.rows === undefined) yield { kind: 'gap', gap: step.gap }
      else yield { kind: 'trade', contexts, rows: step.rows }
    }
  } else {
    const metric = scope.metric!
    const contexts = sampleSeriesOf(market.record, metric)
    const keys = contexts.map(({ key }) => key)
    const read = (query: RowQuery): ReturnType<StoreReader['samples']> =>
      store.samples({ ...query, metric })
    for await (const step of walkRows(read, scope, keys, gaps)) {
      if (step.rows === undefined) yield { kind: 'gap', gap: step.gap }
      else yield { kind: 'sample', contexts, rows: step.rows }
    }
  }
  for (let gap = gaps.take(); gap !== undefined; gap = gaps.take()) yield { kind: 'gap', gap }
}

/** What of the whole venue was not observed in the range. */
export function venueGapsOf({ store }: ApiContext, scope: BulkScope): Promise<readonly Gap[]> {
  const { venue, start, end } = scope
  return store.gaps({ venue, key: '', start, end })
}

/** What of a market was not observed in the range: its instruments, the market, the venue. */
export async function gapsOf(
  context: ApiContext,
  scope: BulkScope,
  market: MarketState,
  venueGaps: readonly Gap[],
): Promise<Gap[]> {
  const { store } = context
  const { venue, start, end } = scope
  const { record } = market
  const instruments = await instrumentsOf(context, record)
  const keys = new Set([...instruments.map(({ key }) => key), record.marketId])
  const own: Gap[] = []
  for (const key of keys) own.push(...(await store.gaps({ venue, key, start, end })))
  // What the venue missed while nobody traded the market is not missing.
  const open = record.openTime ?? 0
  const close = record.closeTime ?? Number.MAX_SAFE_INTEGER
  const shared = venueGaps.filter((gap) => gap.start < close && (gap.end ?? Infinity) > open)
  if (own.length === 0 && (open >= end || close <= start)) return []
  return [...own, ...shared]
}
