import { contractOf, QUOTE_NAMES, toMarketJson, type QuoteJson } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { presentNotices, removedMarkets, windowNotice } from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, styleOf } from '../pages/page.ts'
import { answerList } from '../pages/answer-rows.ts'
import {
  MARKET_COLUMNS,
  marketFilters,
  marketState,
  walkMarkets,
  matchesText,
  type AnyMarket,
  type ListedMarket,
} from '../markets/lists.ts'
import { venuesOf } from '../markets/find.ts'
import { PlanFilter, requireAssetAnywhere } from '../markets/plan-filter.ts'
import { readQuote } from '../markets/quote.ts'
import { defineRoute, type Notice, type Route } from '../route.ts'

/** Markets of all venues. */
export const MARKET_SEARCH_ROUTE: Route = defineRoute(
  contractOf('markets'),
  async (request, context) => {
    const { query, grant } = request
    const { q, sort = 'open_time', venue, window, status, series } = query
    const asset = query.asset?.toUpperCase()
    const style = styleOf(query)
    if (venue !== undefined) grant.requireVenue(venue)
    if (asset !== undefined) requireAssetAnywhere(grant, venue, asset)
    const given = { venue, asset, window, status, series }
    const page = openPage(request, context, { ...given, q, sort }, NO_END)
    const filters = { ...marketFilters(given, page.range), sort }
    const text = q?.toLowerCase()
    const plan = new PlanFilter(grant)
    const isWanted = ({ record }: ListedMarket): boolean =>
      (text === undefined || matchesText(record, text)) && plan.includes(record)
    const walked = await walkMarkets(context, filters, page, isWanted)
    const rows: (AnyMarket & QuoteJson)[] = []
    for (const market of walked.markets) {
      const quote = await readQuote(context, market.record, page.range.window, style)
      rows.push({ ...toMarketJson(market, style), ...quote })
      if (rows.length % 16 === 0) await yieldToEventLoop()
    }
    const { last, hasMore } = walked
    const state = last === undefined ? undefined : marketState(last)
    return answerList(request, {
      type: 'market',
      rows,
      columns: [...MARKET_COLUMNS, ...QUOTE_NAMES],
      meta: { range: rangeMeta(page.range, style) },
      notices: presentNotices(
        windowNotice(page.range),
        plan.notice === undefined || hasMore ? noticeOf(rows.length, hasMore) : undefined,
        await removedMarkets(context, venuesOf(grant, venue), page.from),
        plan.notice,
      ),
      page,
      next: hasMore ? state : undefined,
    })
  },
)

function noticeOf(count: number, hasMore: boolean): Notice | undefined {
  if (count > 0) return undefined
  return hasMore
    ? { code: 'search_goes_on', message: 'Nothing was found so far; the cursor goes on.' }
    : { code: 'no_markets', message: 'No recorded market matches the filters and the range.' }
}
