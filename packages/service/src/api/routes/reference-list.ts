import {
  contractOf,
  timeJson,
  type ReferenceSeriesJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { PlanFilter } from '../markets/plan-filter.ts'
import { listReferences, type ReferenceSeries } from '../markets/references.ts'
import { noticeMeta } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

const NONE: Notice = {
  code: 'no_reference_prices',
  message: 'No reference prices are recorded here.',
}

/** Which reference prices are recorded. */
export const REFERENCE_LIST_ROUTE: Route = defineRoute(
  contractOf('reference'),
  async (request, context) => {
    const { query, grant } = request
    const { venue } = query
    if (venue !== undefined) grant.requireVenue(venue)
    const plan = new PlanFilter(grant)
    const style = styleOf(query)
    const window = grant.windowStart(context.now())
    const data: ReferenceSeriesJson[] = []
    for (const series of await listReferences(context)) {
      if (venue !== undefined && series.venue !== venue) continue
      if (!plan.includesAsset(series.venue, series.asset)) continue
      if (series.extent.lastReceived < window) continue
      data.push(await toSeriesJson(context, series, window, style))
    }
    const none = data.length === 0 && plan.notice === undefined ? NONE : undefined
    return { kind: 'data', data, count: data.length, meta: noticeMeta(none, plan.notice) }
  },
)

async function toSeriesJson(
  { store }: ApiContext,
  { venue, key, feed, asset, unit, description, extent }: ReferenceSeries,
  window: number,
  style: ValueStyle,
): Promise<ReferenceSeriesJson> {
  const [gap] = await store.gaps({ venue, key, open: true })
  const { firstSequence, lastSequence, firstReceived, lastReceived } = extent
  return {
    venue,
    feed,
    asset,
    unit,
    description,
    key,
    first_time: timeJson(Math.max(firstReceived, window), style)!,
    last_time: timeJson(lastReceived, style)!,
    prices: lastSequence - firstSequence + 1,
    open_gap: gap?.reason ?? null,
  }
}
