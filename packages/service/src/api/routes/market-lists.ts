import { floorOf, type VenueId } from '@priorbook/sdk/domain'
import { timeJson, toListedMarketJson, listContract, VENUE_WIRE } from '@priorbook/sdk/wire'
import { presentNotices, removedMarkets, windowNotice } from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, tableStyle, type PageRange } from '../pages/page.ts'
import { answerList } from '../pages/answer-rows.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { requireRecordedAsset } from '../markets/find.ts'
import { marketColumns, marketFilters, walkMarkets, type AnyMarket } from '../markets/lists.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { defineRoute, type Notice, type Route } from '../route.ts'

/** The lists of markets of the interface document. */
export const MARKET_LIST_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(marketListRoute)

function marketListRoute(address: VenueAddress): Route {
  const { venue } = address
  // The names of the filters are bound to cursors, in this order.
  const names = [...Object.keys(VENUE_WIRE[venue].filters), 'category', 'tag']
  return defineRoute(listContract(venue, address.isPlain), async (request, context) => {
    const { query, grant, path } = request
    const filled = query as Readonly<Record<string, string | undefined>>
    const asked = Object.fromEntries(names.map((name) => [name, filled[name]]))
    const { coin, asset: named, ...others } = asked
    const asset = (path.asset ?? coin ?? named ?? query.asset)?.toUpperCase()
    grant.requireVenue(venue)
    if (asset !== undefined) {
      grant.requireAsset(venue, asset)
      if (address.hasAsset) await requireRecordedAsset(context, venue, asset)
    }
    const given = { venue, asset, ...others }
    const style = tableStyle(request)
    const page = openPage(request, context, given, NO_END)
    const store = marketFilters(given, page.range)
    const plan = new PlanFilter(grant)
    const { markets, next, hasMore } = await walkMarkets(context, store, page, plan)
    const rows: AnyMarket[] = markets.map((market) =>
      toListedMarketJson(market, style, query.include),
    )
    const cut = windowNotice(page.range)
    const isEmpty = rows.length === 0 && !hasMore
    const why = isEmpty && plan.notice === undefined ? emptyNotice(given, page.range) : undefined
    const gone = await removedMarkets(context, [venue], page.from)
    return answerList(request, {
      type: 'market',
      rows,
      columns: marketColumns(query.include),
      schema: VENUE_WIRE[venue].schema,
      meta: { range: rangeMeta(page.range, style) },
      notices: presentNotices(cut ?? why, gone, plan.notice),
      page,
      next: hasMore ? next : undefined,
    })
  })
}

function emptyNotice(
  given: { readonly venue: VenueId; readonly asset?: string | undefined },
  { end }: PageRange,
): Notice {
  const floor = floorOf(given.venue, 'catalogue', { asset: given.asset })
  if (floor !== undefined && end <= floor) {
    return {
      code: 'before_capture',
      message: 'The range lies before the catalogue of this venue begins.',
      available_from: timeJson(floor, {}),
    }
  }
  return { code: 'no_markets', message: 'No recorded market matches the filters and the range.' }
}
