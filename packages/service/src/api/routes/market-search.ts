import { isVenueId, type MarketRecord } from '@priorbook/sdk/domain'
import {
  Problem,
  contractOf,
  QUOTE_NAMES,
  toMarketJson,
  type QuoteJson,
  type MARKET_SORTS,
} from '@priorbook/sdk/wire'
import type { MarketQuery } from '../../store/store.ts'
import { planAsset } from '../markets/plan-asset.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'
import {
  marketFilters,
  walkMarkets,
  MARKET_COLUMNS,
  marketState,
  type AnyMarket,
  type ListedMarket,
  type WalkedMarkets,
} from '../markets/lists.ts'
import {
  NO_END,
  openPage,
  rangeMeta,
  styleOf,
  windowNotice,
  noticeMeta,
  type Page,
} from '../catalogue/page.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { readQuote } from '../markets/quote.ts'
import { answerRows } from '../catalogue/row-answer.ts'

/** Markets of all venues. */
export const MARKET_SEARCH_ROUTE: Route = defineRoute(
  contractOf('markets'),
  async (request, context) => {
    const { query, grant } = request
    const { q, sort = 'open_time', venue, window, status, series } = query
    const asset = query.asset?.toUpperCase()
    const style = styleOf(query)
    if (venue !== undefined) grant.requireVenue(venue)
    const given = { venue, asset, window, status, series }
    const page = openPage(request, context, { ...given, q, sort }, NO_END)
    const filters = marketFilters(given, page.range)
    const text = q?.toLowerCase()
    const isWanted = ({ record }: ListedMarket): boolean =>
      grant.allows(record.venue, planAsset(record)) && (text === undefined || holds(record, text))
    const walked =
      sort === 'open_time'
        ? await walkMarkets(context, filters, page, isWanted)
        : await walkSorted(context, filters, page, isWanted, sort)
    const rows: (AnyMarket & QuoteJson)[] = []
    for (const market of walked.markets) {
      const quote = await readQuote(context, market.record, page.range.window, style)
      rows.push({ ...toMarketJson(market, style), ...quote })
      if (rows.length % 16 === 0) await yieldToEventLoop()
    }
    const { last, hasMore } = walked
    const state =
      last === undefined ? undefined : { ...marketState(last), value: valueOf(last, sort) ?? '' }
    return answerRows(request, {
      type: 'market',
      rows,
      columns: [...MARKET_COLUMNS, ...QUOTE_NAMES],
      meta: {
        range: rangeMeta(page.range, style),
        ...noticeMeta(windowNotice(page.range), noticeOf(rows.length, hasMore)),
      },
      nextCursor: hasMore && state !== undefined ? page.next(state) : undefined,
    })
  },
)

function noticeOf(count: number, hasMore: boolean): Notice | undefined {
  if (count > 0) return undefined
  return hasMore
    ? { code: 'search_goes_on', message: 'Nothing was found so far; the cursor goes on.' }
    : { code: 'no_markets', message: 'No recorded market matches the filters and the range.' }
}

function holds(record: MarketRecord, text: string): boolean {
  const { marketId, title, question, slug, eventTicker, seriesTicker } = record
  const fields = [marketId, title, question, slug, eventTicker, seriesTicker]
  return fields.some((field) => field?.toLowerCase().includes(text) === true)
}

// The store keeps markets by open time; another order is made here, over no more than these.
const SORTED_AT_MOST = 2000

async function walkSorted(
  context: ApiContext,
  filters: Omit<MarketQuery, 'limit' | 'after' | 'order'>,
  page: Page,
  isWanted: (market: ListedMarket) => boolean,
  sort: (typeof MARKET_SORTS)[number],
): Promise<WalkedMarkets> {
  const all = { ...page, limit: SORTED_AT_MOST, order: 'asc' as const, state: {} }
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
      // What has no value stands last, whatever the order.
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

function placeOf(market: ListedMarket, sort: (typeof MARKET_SORTS)[number]): Place {
  const { venue, marketId } = market.record
  return { value: valueOf(market, sort), name: `${venue} ${marketId}` }
}

function placeIn({ state }: Page): Place | undefined {
  const { venue, id, value } = state
  if (!isVenueId(venue)) return undefined
  return { value: typeof value === 'number' ? value : undefined, name: `${venue} ${id}` }
}

function valueOf(
  { record, sortTime }: ListedMarket,
  sort: (typeof MARKET_SORTS)[number],
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
