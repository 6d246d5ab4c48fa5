import type { MarketRecord, VenueId } from '@priorbook/sdk/domain'
import {
  contractOf,
  NEG_RISK_CONVERSION,
  toEventMarket,
  type EventMarketJson,
  type EventWithMarketsJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { gapKeysOf } from '../../rows/index.ts'
import { cacheOf } from '../books/store-cache.ts'
import { marketPath } from '../markets/addresses.ts'
import { sumPrices } from '../markets/event-sums.ts'
import { findEvent, toEventJson } from '../markets/events.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { marketFilters, walkMarkets } from '../markets/lists.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { readQuotes } from '../markets/quote.ts'
import { noticeMeta, planWindow, windowNotice } from '../pages/notices.ts'
import { NO_END, openPage, styleOf } from '../pages/page.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

/** One event with its markets. */
export const EVENT_ROUTE: Route = defineRoute(contractOf('event'), async (request, context) => {
  const { query, grant, path } = request
  const style = styleOf(query)
  const event = await findEvent(context, grant, path.event_id, query.venue)
  const { venue, eventId } = event
  const page = openPage(request, context, { venue, event: eventId }, NO_END)
  const { window } = page.range
  if ((event.lastClose ?? NO_END) <= window) {
    const cut = windowNotice({ asked: 0, window, from: window, end: window })
    return { kind: 'data', data: null, count: 0, meta: noticeMeta(cut) }
  }
  const plan = new PlanFilter(grant)
  const filters = marketFilters({ venue, event: eventId }, page.range)
  const walked = await walkMarkets(context, filters, page, plan)
  const records = walked.markets.map(({ record }) => record)
  const markets = await readEventMarkets(context, venue, records, window, style)
  const isWhole = page.isFirst && records.length === event.markets
  const data: EventWithMarketsJson = {
    ...toEventJson(event, style),
    conversion: event.isNegRisk === true ? NEG_RISK_CONVERSION : null,
    sums: isWhole ? sumPrices(venue, markets, style) : null,
    markets,
  }
  const isCut = !isWhole && page.isFirst && !walked.hasMore && window > 0
  const notices = [
    isWhole ? undefined : SUMS_LEFT_OUT,
    isCut ? planWindow(grant.plan, window, style) : undefined,
    plan.notice,
  ]
  return {
    kind: 'data',
    data,
    count: markets.length,
    meta: noticeMeta(...notices),
    nextCursor: walked.hasMore && walked.next !== undefined ? page.next(walked.next) : undefined,
  }
})

const SUMS_LEFT_OUT: Notice = {
  code: 'sums_left_out',
  message: 'Not all markets of the event are on this page, so their prices are not added up.',
}

// Markets of a read of the store; other requests go on between two of them.
const QUOTED = 32

async function readEventMarkets(
  context: ApiContext,
  venue: VenueId,
  records: readonly MarketRecord[],
  since: number,
  style: ValueStyle,
): Promise<EventMarketJson[]> {
  const markets: EventMarketJson[] = []
  for (let at = 0; at < records.length; at += QUOTED) {
    const some = records.slice(at, at + QUOTED)
    const quotes = await readQuotes(context, some, since, style)
    for (const [index, record] of some.entries()) {
      const quote = quotes[index]!
      const hasGap =
        record.status === 'open' &&
        quote.quote_time !== null &&
        (await hasOpenGap(context, venue, record))
      const address = marketPath(venue, record.marketId, record.asset)
      markets.push(toEventMarket(record, address, quote, hasGap, style))
    }
    await yieldToEventLoop()
  }
  return markets
}

async function hasOpenGap(
  context: ApiContext,
  venue: VenueId,
  record: MarketRecord,
): Promise<boolean> {
  const [first] = await instrumentsOf(context, record)
  if (first === undefined) return false
  const cache = await cacheOf(context.store, venue)
  return (await cache.openGap(gapKeysOf([first]))) !== undefined
}
