import {
  contractOf,
  LISTED_MARKET_SCHEMA,
  QUOTE_NAMES,
  toListedMarketJson,
  type QuoteJson,
} from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import {
  correctionNotice,
  presentNotices,
  removedMarkets,
  searchNotice,
  windowNotice,
} from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, tableStyle } from '../pages/page.ts'
import { answerList } from '../pages/answer-rows.ts'
import { marketColumns, marketFilters, walkMarkets, type AnyMarket } from '../markets/lists.ts'
import { venuesOf } from '../markets/find.ts'
import { PlanFilter, requireAssetAnywhere } from '../markets/plan-filter.ts'
import { readQuotes } from '../markets/quote.ts'
import { defineRoute, type Route } from '../route.ts'

// Quotes of a read of the store; other requests go on between two of them.
const QUOTED = 32

/** Markets of all venues. */
export const MARKET_SEARCH_ROUTE: Route = defineRoute(
  contractOf('markets'),
  async (request, context) => {
    const { query, grant } = request
    const { q, sort = 'open_time', venue, window, status, series, event, category, tag } = query
    const asset = query.asset?.toUpperCase()
    const style = tableStyle(request)
    if (venue !== undefined) grant.requireVenue(venue)
    if (asset !== undefined) requireAssetAnywhere(grant, venue, asset)
    const given = { venue, asset, window, status, series, event, category, tag }
    const page = openPage(request, context, { ...given, q, sort }, NO_END)
    const filters = { ...marketFilters({ ...given, text: q }, page.range), sort }
    const plan = new PlanFilter(grant)
    const walked = await walkMarkets(context, filters, page, plan)
    const rows: (AnyMarket & QuoteJson)[] = []
    for (let at = 0; at < walked.markets.length; at += QUOTED) {
      const some = walked.markets.slice(at, at + QUOTED)
      const records = some.map(({ record }) => record)
      const quotes = await readQuotes(context, records, page.range.window, style)
      for (const [index, market] of some.entries()) {
        const record = toListedMarketJson(market, style, query.include)
        rows.push({ ...record, ...quotes[index]! })
      }
      await yieldToEventLoop()
    }
    const { hasMore } = walked
    return answerList(request, {
      type: 'market',
      rows,
      columns: [...marketColumns(query.include), ...QUOTE_NAMES],
      schema: LISTED_MARKET_SCHEMA,
      meta: { range: rangeMeta(page.range, style) },
      notices: presentNotices(
        windowNotice(page.range),
        correctionNotice(
          'market',
          walked.corrections,
          rows.length > 0 || plan.hidesNothing(page.range),
        ),
        plan.notice === undefined || hasMore
          ? searchNotice('market', rows.length, hasMore)
          : undefined,
        await removedMarkets(context, venuesOf(grant, venue), page.from),
        plan.notice,
      ),
      page,
      next: hasMore ? walked.next : undefined,
    })
  },
)
