import { REFERENCE_METRIC } from '@priorbook/sdk/domain'
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
  series: ReferenceSeries,
  window: number,
  style: ValueStyle,
): Promise<ReferenceSeriesJson> {
  const { venue, key, feed, asset, unit, description, extent } = series
  const [gap] = await store.gaps({ venue, key, open: true })
  const first = await firstInWindow(store, series, window)
  return {
    venue,
    feed,
    asset,
    unit,
    description,
    key,
    first_time: timeJson(first.received, style)!,
    last_time: timeJson(extent.lastReceived, style)!,
    prices: extent.lastSequence - first.sequence + 1,
    open_gap: gap?.reason ?? null,
  }
}

// The first price that the plan covers; the newest one where those between are damaged.
async function firstInWindow(
  store: ApiContext['store'],
  { venue, key, extent }: ReferenceSeries,
  start: number,
): Promise<{ readonly sequence: number; readonly received: number }> {
  const { firstSequence, lastSequence, firstReceived, lastReceived } = extent
  if (firstReceived >= start) return { sequence: firstSequence, received: firstReceived }
  const query = { venue, key, metric: REFERENCE_METRIC, order: 'asc', start, limit: 1 } as const
  const { rows, ordinals } = await store.samples(query)
  const [sequence] = ordinals
  return sequence === undefined
    ? { sequence: lastSequence, received: lastReceived }
    : { sequence, received: rows.received[0]! }
}
