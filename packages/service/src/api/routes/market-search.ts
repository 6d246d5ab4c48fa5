import { contractOf, QUOTE_NAMES, toListedMarketJson, type QuoteJson } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { presentNotices, removedMarkets, windowNotice } from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, styleOf } from '../pages/page.ts'
import { answerList } from '../pages/answer-rows.ts'
import { marketColumns, marketFilters, walkMarkets, type AnyMarket } from '../markets/lists.ts'
import { venuesOf } from '../markets/find.ts'
import { PlanFilter, requireAssetAnywhere } from '../markets/plan-filter.ts'
import { readQuotes } from '../markets/quote.ts'
import type { SearchCorrection } from '../../store/store.ts'
import { defineRoute, type Notice, type Route } from '../route.ts'

// Quotes of a read of the store; other requests go on between two of them.
const QUOTED = 32

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
      meta: { range: rangeMeta(page.range, style) },
      notices: presentNotices(
        windowNotice(page.range),
        correctionNotice(walked.corrections),
        plan.notice === undefined || hasMore ? noticeOf(rows.length, hasMore) : undefined,
        await removedMarkets(context, venuesOf(grant, venue), page.from),
        plan.notice,
      ),
      page,
      next: hasMore ? walked.next : undefined,
    })
  },
)

function noticeOf(count: number, hasMore: boolean): Notice | undefined {
  if (count > 0) return undefined
  return hasMore
    ? { code: 'search_goes_on', message: 'Nothing was found so far; the cursor goes on.' }
    : { code: 'no_markets', message: 'No recorded market matches the filters and the range.' }
}

function correctionNotice(corrections: readonly SearchCorrection[]): Notice | undefined {
  if (corrections.length === 0) return undefined
  const words = corrections.map(({ word, meant }) => `${word}: ${meant.join(', ')}`)
  const message = `No market has these words; similar ones are looked for: ${words.join('; ')}.`
  return { code: 'search_corrected', message }
}
