import { isVenueId, type MarketRecord } from '@priorbook/sdk/domain'
import { Problem, type MARKET_SORTS } from '@priorbook/sdk/wire'
import type { MarketQuery } from '../../store/store.ts'
import type { Page } from '../pages/page.ts'
import type { ApiContext } from '../route.ts'
import { walkMarkets, type ListedMarket, type WalkedMarkets } from './lists.ts'

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
  const compare = (a: Place, b: Place): number => {
    if (a.value === undefined || b.value === undefined) {
      // Markets without a value come last in both orders.
      if (a.value !== b.value) return a.value === undefined ? 1 : -1
    } else if (a.value !== b.value) return sign * (a.value - b.value)
    return sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  }
  const placed = markets.map((market) => ({ market, place: placeOf(market, sort) }))
  placed.sort((a, b) => compare(a.place, b.place))
  const after = placeIn(page)
  const rest = placed.filter(({ place }) => after === undefined || compare(place, after) > 0)
  const taken = rest.slice(0, page.limit).map(({ market }) => market)
  return { markets: taken, last: taken.at(-1), hasMore: rest.length > taken.length }
}

type Place = { readonly value: number | undefined; readonly name: string }

function placeOf(market: ListedMarket, sort: MarketSort): Place {
  const { venue, marketId } = market.record
  return { value: sortValue(market, sort), name: `${venue} ${marketId}` }
}

function placeIn({ state }: Page): Place | undefined {
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
