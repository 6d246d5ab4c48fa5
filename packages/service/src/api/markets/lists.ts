import {
  Problem,
  type MARKET_SORTS,
  type MarketJson,
  type VenueAMarketJson,
  type VenueBMarketJson,
  type VenueCMarketJson,
} from '@priorbook/sdk/wire'
import { isVenueId, type MarketRecord } from '@priorbook/sdk/domain'
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
  'strike',
  'participant_count',
  'chain',
  'exchange_contract',
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
  const { time, venue, id } = state
  if (time === undefined) return undefined
  return { openTime: time as number, venue: venue as string, marketId: id as string }
}

function toPlace({ sortTime, record }: ListedMarket): NonNullable<MarketQuery['after']> {
  return { openTime: sortTime, venue: record.venue, marketId: record.marketId }
}

/** The name of an order of markets. */
export type MarketSort = (typeof MARKET_SORTS)[number]

/** True when a text in lower case is part of an identifier, title or slug. */
export function matchesText(record: MarketRecord, text: string): boolean {
  const { marketId, title, question, slug, eventTicker, seriesTicker } = record
  const fields = [marketId, title, question, slug, eventTicker, seriesTicker]
  return fields.some((field) => field?.toLowerCase().includes(text) === true)
}

// Max markets that are sorted here; the store keeps them by open time only.
const MAX_SORTED = 2000

/** Sorts the matching markets by a value and gives one page of them. */
export async function walkSorted(
  context: ApiContext,
  filters: Omit<MarketQuery, 'limit' | 'after' | 'order'>,
  page: Page,
  isWanted: (market: ListedMarket) => boolean,
  sort: MarketSort,
): Promise<WalkedMarkets> {
  const all = { ...page, limit: MAX_SORTED, order: 'asc' as const, state: {} }
  const { markets, hasMore } = await walkMarkets(context, filters, all, isWanted)
  if (hasMore) {
    throw new Problem('invalid_parameter', `too many markets match to sort them by ${sort}`, {
      param: 'sort',
      hint: 'Narrow the list by venue, asset, window, status or range, or sort by open_time.',
    })
  }
  const sign = page.order === 'asc' ? 1 : -1
  const compare = (a: SortedPlace, b: SortedPlace): number => {
    if (a.value === undefined || b.value === undefined) {
      // Markets without a value come last in both orders.
      if (a.value !== b.value) return a.value === undefined ? 1 : -1
    } else if (a.value !== b.value) return sign * (a.value - b.value)
    return sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  }
  const placed = markets.map((market) => ({ market, place: sortedPlaceOf(market, sort) }))
  placed.sort((a, b) => compare(a.place, b.place))
  const after = sortedPlaceIn(page)
  const rest = placed.filter(({ place }) => after === undefined || compare(place, after) > 0)
  const taken = rest.slice(0, page.limit).map(({ market }) => market)
  return { markets: taken, last: taken.at(-1), hasMore: rest.length > taken.length }
}

type SortedPlace = { readonly value: number | undefined; readonly name: string }

function sortedPlaceOf(market: ListedMarket, sort: MarketSort): SortedPlace {
  const { venue, marketId } = market.record
  return { value: sortValue(market, sort), name: `${venue} ${marketId}` }
}

function sortedPlaceIn({ state }: Page): SortedPlace | undefined {
  const { venue, id, value } = state
  if (!isVenueId(venue)) return undefined
  return { value: typeof value === 'number' ? value : undefined, name: `${venue} ${id}` }
}

/** The value that a market is sorted by. */
export function sortValue(
  { record, sortTime }: ListedMarket,
  sort: MarketSort,
): number | undefined {
  switch (sort) {
    case 'open_time':
      return sortTime
    case 'close_time':
      return record.closeTime
    case 'volume':
    case 'liquidity': {
      const text = record[sort]
      return text === undefined ? undefined : Number(text)
    }
  }
}
