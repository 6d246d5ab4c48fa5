import type { VenueId } from '@priorbook/sdk/domain'
import { contractOf, type CategoryJson } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { venuesOf } from '../markets/find.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { noticeMeta, planWindow } from '../pages/notices.ts'
import { defineRoute, type ApiContext, type Route } from '../route.ts'

type Counted = Pick<CategoryJson, 'venue' | 'category'> & Counts
type Counts = { -readonly [Name in keyof typeof NONE]: number }

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
    const counted = [...rows.values()].sort(compare)
    const window = grant.windowStart(context.now())
    const data = window === 0 ? counted : await cutToWindow(context, counted, window, plan)
    const cut = window === 0 ? undefined : planWindow(grant.plan, window, {})
    return { kind: 'data', data, count: data.length, meta: noticeMeta(cut, plan.notice) }
  },
)

// Totals count what ended before the window too. A heading stays where something under it did not.
async function cutToWindow(
  { store }: ApiContext,
  rows: readonly Counted[],
  start: number,
  plan: PlanFilter,
): Promise<CategoryJson[]> {
  const includes = (venue: VenueId, asset: string): boolean => plan.includesAsset(venue, asset)
  const data: CategoryJson[] = []
  for (const row of rows) {
    const { venue, category } = row
    const read = await store.markets({ venue, category, start, limit: 1, includes })
    if (read.markets.length === 0 && !read.hasMore) continue
    data.push({ ...row, market_count: null, event_count: null })
    await yieldToEventLoop()
  }
  return data
}

const NONE = { market_count: 0, open_market_count: 0, event_count: 0, open_event_count: 0 }

function compare(a: Counted, b: Counted): number {
  const more = b.open_market_count - a.open_market_count || b.market_count - a.market_count
  if (more !== 0) return more
  return `${a.venue} ${a.category}` < `${b.venue} ${b.category}` ? -1 : 1
}
