import type {
  MarketJson,
  VenueAMarketJson,
  VenueBMarketJson,
  VenueCMarketJson,
} from '@priorbook/sdk/wire'
import type { MarketRecord } from '@priorbook/sdk/domain'
import type { MarketPage, MarketQuery } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { NO_END, type Page, type PageRange } from '../pages/page.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'

/** A market with the value that its list is sorted by. */
export type ListedMarket = MarketPage['markets'][number]

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
 * Walks the catalogue from the position of the page, in the order of the filters’ `sort`, and collects the
 * wanted markets. A walk that has visited many markets stops early, and the next page goes on.
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
    const limit = visited === 0 ? missing : SLICE
    const { order } = page
    const { markets, hasMore } = await store.markets({ ...filters, after: last, order, limit })
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
export function marketState({
  sortTime,
  sortValue,
  record,
}: ListedMarket): Record<string, string | number> {
  return { time: sortTime, venue: record.venue, id: record.marketId, value: sortValue ?? '' }
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
  'strike',
  'participant_count',
  'chain',
  'exchange_contract',
  'exchange',
  'native',
  'revision_time',
  'last_anomaly',
] as const satisfies readonly (keyof AnyMarket)[]

/** A market record whose venue the compiler does not know. */
export type AnyMarket = MarketJson &
  Partial<
    Omit<VenueAMarketJson, 'venue'> &
      Omit<VenueBMarketJson, 'venue'> &
      Omit<VenueCMarketJson, 'venue'>
  >

function placeOf({ state }: Page): MarketQuery['after'] {
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

function toPlace({ sortTime, sortValue, record }: ListedMarket): MarketQuery['after'] {
  const { venue, marketId } = record
  return { openTime: sortTime, venue, marketId, value: sortValue }
}

/** True when a text in lower case is part of an identifier, title or slug. */
export function matchesText(record: MarketRecord, text: string): boolean {
  const { marketId, title, question, slug, eventTicker, seriesTicker } = record
  const fields = [marketId, title, question, slug, eventTicker, seriesTicker]
  return fields.some((field) => field?.toLowerCase().includes(text) === true)
}
