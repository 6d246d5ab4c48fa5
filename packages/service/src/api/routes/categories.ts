import { contractOf, type CategoryJson } from '@priorbook/sdk/wire'
import { venuesOf } from '../markets/find.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { noticeMeta } from '../pages/notices.ts'
import { defineRoute, type Route } from '../route.ts'

type Counted = { -readonly [Name in keyof CategoryJson]: CategoryJson[Name] }

/** The headings of the venues. */
export const CATEGORIES_ROUTE: Route = defineRoute(
  contractOf('categories'),
  async ({ query, grant }, context) => {
    const { venue } = query
    if (venue !== undefined) grant.requireVenue(venue)
    const venues = venuesOf(grant, venue)
    const plan = new PlanFilter(grant)
    const rows = new Map<string, Counted>()
    for (const totals of await context.store.categories()) {
      const { category, asset } = totals
      if (!venues.includes(totals.venue)) continue
      // Markets of an unknown asset count only for plans that have them all.
      if (!plan.includesAsset(totals.venue, asset === '' ? undefined : asset)) continue
      const key = `${totals.venue} ${category}`
      const row = rows.get(key) ?? { venue: totals.venue, category, ...NONE }
      rows.set(key, row)
      row.market_count += totals.markets
      row.open_market_count += totals.openMarkets
      row.event_count += totals.events
      row.open_event_count += totals.openEvents
    }
    const data = [...rows.values()].sort(compare)
    return { kind: 'data', data, count: data.length, meta: noticeMeta(plan.notice) }
  },
)

const NONE = { market_count: 0, open_market_count: 0, event_count: 0, open_event_count: 0 }

function compare(a: CategoryJson, b: CategoryJson): number {
  const more = b.open_market_count - a.open_market_count || b.market_count - a.market_count
  if (more !== 0) return more
  return `${a.venue} ${a.category}` < `${b.venue} ${b.category}` ? -1 : 1
}
