import type {
  MarketJson,
  VenueAMarketJson,
  VenueBMarketJson,
  VenueCMarketJson,
} from '@priorbook/sdk/wire'
import type { MarketQuery, MarketState } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { NO_END, type Page, type PageRange } from '../pages/page.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'

/** A market with the time that lists are sorted by. */
export type ListedMarket = MarketState & { readonly sortTime: number }

/** A page of markets, and whether the walk stopped before the page was full. */
export type WalkedMarkets = {
  readonly markets: readonly ListedMarket[]
  readonly last: ListedMarket | undefined
  readonly hasMore: boolean
}

// Max markets per read of the store, and per request: a search with few results goes on by cursor.
const SLICE = 200
const MAX_VISITED = 4000

/**
 * Walks the catalogue from the position of the page, by (open time, venue, id), and collects the wanted
 * markets. A walk that has visited many markets stops early, and the next page goes on.
 */
export async function walkMarkets(
  { store }: ApiContext,
  filters: Omit<MarketQuery, 'limit' | 'after' | 'order'>,
  page: Page,
  isWanted?: (market: ListedMarket) => boolean,
): Promise<WalkedMarkets> {
  const found: ListedMarket[] = []
  let last = placeOf(page)
  let lastMarket: ListedMarket | undefined
  let visited = 0
  for (;;) {
    const missing = page.limit - found.length
    const limit = isWanted === undefined ? missing : SLICE
    const after = last === undefined ? {} : { after: last }
    const { markets, hasMore } = await store.markets({
      ...filters,
      ...after,
      order: page.order,
      limit,
    })
    for (const [index, market] of markets.entries()) {
      lastMarket = market
      if (isWanted?.(market) === false) continue
      found.push(market)
      if (found.length < page.limit) continue
      return { markets: found, last: market, hasMore: hasMore || index < markets.length - 1 }
    }
    visited += markets.length
    if (!hasMore || visited >= MAX_VISITED) return { markets: found, last: lastMarket, hasMore }
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

/** The position after a market, for cursors. */
export function marketState({ sortTime, record }: ListedMarket): Record<string, string | number> {
  return { time: sortTime, venue: record.venue, id: record.marketId }
}

/** The columns of market records in CSV; fields that a venue lacks are empty. */
export const MARKET_COLUMNS = [
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
  'participant_count',
  'chain',
  'exchange_contract',
  'native',
  'revision_time',
] as const satisfies readonly (keyof AnyMarket)[]

/** A market record whose venue the compiler does not know. */
export type AnyMarket = MarketJson &
  Partial<
    Omit<VenueAMarketJson, 'venue'> &
      Omit<VenueBMarketJson, 'venue'> &
      Omit<VenueCMarketJson, 'venue'>
  >

function placeOf({ state }: Page): MarketQuery['after'] {
  const { time, venue, id } = state
  if (time === undefined) return undefined
  return { openTime: time as number, venue: venue as string, marketId: id as string }
}

function toPlace({ sortTime, record }: ListedMarket): NonNullable<MarketQuery['after']> {
  return { openTime: sortTime, venue: record.venue, marketId: record.marketId }
}
