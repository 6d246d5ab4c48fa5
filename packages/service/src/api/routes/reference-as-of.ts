import type { Micros } from '@priorbook/sdk/domain'
import {
  contractOf,
  toGapJson,
  toReferenceJson,
  type ReferenceAtJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { readReferenceAt } from '../markets/reference-at.ts'
import { findReferences, type ReferenceSeries } from '../markets/references.ts'
import { because, IN_FUTURE, noticeMeta, planWindow } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

// Clocks differ a little: an instant this far ahead of ours is still the present.
const AHEAD_MICROS = 5_000_000

/** What every feed said of an asset at an instant. */
export const REFERENCE_AS_OF_ROUTE: Route = defineRoute(
  contractOf('reference_asof'),
  async (request, context) => {
    const { query, grant } = request
    const { at, feed, known_at: knownAt = Infinity } = query
    const { series } = await findReferences(context, grant, request.path.asset, feed)
    const style = styleOf(query)
    const now = context.now()
    const window = grant.windowStart(now)
    const none = (notice: Notice) => {
      const data = series.map((one) => toJson(one))
      return { kind: 'data', data, count: 0, meta: noticeMeta(notice) } as const
    }
    if (at < window) return none(planWindow(grant.plan, window, style))
    if (at > now + AHEAD_MICROS) return none(IN_FUTURE)
    const data: ReferenceAtJson[] = []
    for (const one of series) data.push(await readAsOf(context, one, at, knownAt, window, style))
    const found = data.filter(({ price }) => price !== null)
    const isEarly = found.length === 0 && data.every(({ gap }) => gap === null)
    const meta = noticeMeta(isEarly ? because('before_capture') : undefined)
    return { kind: 'data', data, count: found.length, meta }
  },
)

async function readAsOf(
  context: ApiContext,
  series: ReferenceSeries,
  at: Micros,
  knownAt: number,
  window: number,
  style: ValueStyle,
): Promise<ReferenceAtJson> {
  const found = await readReferenceAt(context, series, at, { knownAt, window })
  if (found === undefined) return toJson(series)
  if ('gap' in found) return { ...toJson(series), gap: toGapJson(found.gap, style) }
  const { rows, row, ordinal, received } = found
  const price = toReferenceJson(rows, row, ordinal, series, style)
  return { ...toJson(series), price, age_ms: (at - received) / 1000 }
}

function toJson({ venue, feed, asset, unit }: ReferenceSeries): ReferenceAtJson {
  return { venue, feed, asset, unit, price: null, age_ms: null, gap: null }
}
