import type {
  ListExtra,
  MarketJson,
  VenueAMarketJson,
  VenueBMarketJson,
  VenueCMarketJson,
} from '@priorbook/sdk/wire'
import type { VenueId } from '@priorbook/sdk/domain'
import type { MarketPage, MarketQuery, SearchCorrection } from '../../store/store.ts'
import type { ApiContext, CursorState } from '../route.ts'
import type { PlanFilter } from './plan-filter.ts'
import { NO_END, type Page, type PageRange } from '../pages/page.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'

// A market with the value that its list is sorted by.
type ListedMarket = MarketPage['markets'][number]

/** A page of markets, and whether the walk stopped before the page was full. */
export type WalkedMarkets = {
  readonly markets: readonly ListedMarket[]
  readonly hasMore: boolean
  /** The position of the walk, for cursors; undefined where it passed no market. */
  readonly next: CursorState | undefined
  /** Words of a search that were mistyped. */
  readonly corrections: readonly SearchCorrection[]
}

// Max markets per read of the store, and per request: a search with few results goes on by cursor.
const SLICE = 200
const MAX_VISITED = 4000

/**
 * Walks the catalogue from the position of the page, in the order of the filters’ `sort`, and collects the
 * markets of the plan. A walk that has visited many markets stops early, and the next page goes on.
 */
export async function walkMarkets(
  { store }: ApiContext,
  filters: Omit<MarketQuery, 'limit' | 'after' | 'order'>,
  page: Pick<Page, 'limit' | 'order' | 'state'>,
  plan: Pick<PlanFilter, 'includes' | 'includesAsset' | 'includesAll'>,
): Promise<WalkedMarkets> {
  const found: ListedMarket[] = []
  let last = placeOf(page)
  let lastMarket: ListedMarket | undefined
  let visited = 0
  // Of a search, only a market that it found can be left out.
  const isWhole = filters.text !== undefined || filters.tag !== undefined || plan.includesAll
  const asked = (venue: VenueId, asset: string): boolean => plan.includesAsset(venue, asset)
  const includes = isWhole ? undefined : asked
  for (;;) {
    const missing = page.limit - found.length
    const limit = visited === 0 ? missing : SLICE
    const { order } = page
    const query = { ...filters, after: last, order, limit, includes }
    const { markets, hasMore, reached, corrections = [] } = await store.markets(query)
    for (const [index, market] of markets.entries()) {
      lastMarket = market
      if (!plan.includes(market.record)) continue
      found.push(market)
      if (found.length < page.limit) continue
      const isLast = !hasMore && index === markets.length - 1
      return { markets: found, next: toState(toPlace(market)), hasMore: !isLast, corrections }
    }
    visited += markets.length
    if (reached !== undefined) {
      return { markets: found, next: toState(reached), hasMore, corrections }
    }
    const next = lastMarket === undefined ? undefined : toState(toPlace(lastMarket))
    if (!hasMore || visited >= MAX_VISITED) {
      return { markets: found, next, hasMore, corrections }
    }
    last = toPlace(lastMarket!)
    await yieldToEventLoop()
  }
}

/** The filters of the store; absent filters and unbounded ranges are left out. */
export function marketFilters(
  given: { readonly [name: string]: string | undefined },
  { from, end }: PageRange,
): Omit<MarketQuery, 'limit' | 'after' | 'order'> {
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(named) as Partial<MarketQuery>),
    ...(from === 0 ? {} : { start: from }),
    ...(end >= NO_END ? {} : { end }),
  }
}

function toState({ openTime, venue, marketId, value }: Place): CursorState {
  return { time: openTime, venue, id: marketId, value: value ?? '' }
}

// The columns of market records in CSV; fields that a venue lacks are empty.
const MARKET_COLUMNS = [
  'venue',
  'market_id',
  'title',
  'status',
  'status_native',
  'open_time',
  'close_time',
  'resolved_time',
  'created_time',
  'resolution',
  'winning_outcome',
  'volume',
  'liquidity',
  'outcomes',
  'units',
  'topic_id',
  'condition',
  'series_ticker',
  'event_ticker',
  'market_ticker',
  'settlement',
  'event_id',
  'condition_id',
  'gamma_market_id',
  'slug',
  'asset',
  'window',
  'strike',
  'participant_count',
  'chain',
  'exchange_contract',
  'exchange',
  'native',
  'revision_time',
  'last_anomaly',
  'event',
  'category',
  'tags',
] as const satisfies readonly (keyof AnyMarket)[]

/** The columns of a list with the named extras. */
export function marketColumns(
  include: readonly ListExtra[] = [],
): readonly (typeof MARKET_COLUMNS)[number][] {
  return MARKET_COLUMNS.filter((name) => name !== 'native' || include.includes(name))
}

/** A market record whose venue the compiler does not know. */
export type AnyMarket = MarketJson &
  Partial<
    Omit<VenueAMarketJson, 'venue'> &
      Omit<VenueBMarketJson, 'venue'> &
      Omit<VenueCMarketJson, 'venue'>
  >

function placeOf({ state }: Pick<Page, 'state'>): MarketQuery['after'] {
  const { time, venue, id, value } = state
  if (time === undefined) return undefined
  return {
    openTime: time as number,
    venue: venue as string,
    marketId: id as string,
    // Cursors of lists by open time had no value once.
    value: value === undefined ? undefined : value === '' ? null : (value as number),
  }
}

type Place = NonNullable<MarketQuery['after']>

function toPlace({ sortTime, sortValue, record }: ListedMarket): Place {
  const { venue, marketId } = record
  return { openTime: sortTime, venue, marketId, value: sortValue }
}
