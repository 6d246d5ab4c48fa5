import { DAY_MICROS } from '@priorbook/sdk/domain'
import {
  contractOf,
  DEFAULT_OFFSETS,
  DOCUMENTED_DAYS,
  offsetsParam,
  PANEL_COLUMNS,
  Problem,
  type PANEL_PARAMS,
  type ParamValues,
} from '@priorbook/sdk/wire'
import { venuesOf } from '../markets/find.ts'
import { PlanFilter, requireAssetAnywhere } from '../markets/plan-filter.ts'
import { answerList } from '../pages/answer-rows.ts'
import { presentNotices, removedMarkets, windowNotice } from '../pages/notices.ts'
import { FILE_STYLE, openPage, rangeMeta, styleOf, type Page } from '../pages/page.ts'
import { panelFile } from '../panels/panel-file.ts'
import { PanelWalk, type PanelQuery } from '../panels/panel-page.ts'
import { defineRoute, takesLong, type Format, type Grant, type Route } from '../route.ts'

type Query = ParamValues<typeof PANEL_PARAMS>

const NONE = {
  code: 'no_rounds',
  message: 'No recorded round of this asset and length closed in the range.',
}
const GOES_ON = {
  code: 'search_goes_on',
  message: 'Nothing was found so far; the cursor goes on.',
}

const PANELS = defineRoute(contractOf('panels'), async (request, context) => {
  const { query, grant, format, route } = request
  const isFile = isFileFormat(format)
  if (isFile) refuseUnfit(query, format)
  requirePlan(grant, query)
  const { asset, window, venue, from, to, at } = query
  if (from !== undefined && to !== undefined && from >= to) {
    const hint = 'from is inclusive, to exclusive.'
    throw new Problem('invalid_range', 'from is not before to', { param: 'to', hint })
  }
  const style = isFile ? FILE_STYLE : styleOf(query)
  const offsets = at ?? offsetsParam().parse(DEFAULT_OFFSETS, 'at')
  const given = { asset: asset.toUpperCase(), window }
  const scope = { ...given, venues: venue?.join(), to, at: offsets.join() }
  const paged = { route, grant, query: { ...query, start_time: from } }
  // Rounds that have not closed are left out, also on later pages.
  const end = Math.min(to ?? Infinity, context.now())
  const page = openPage(paged, context, scope, end)
  const asked: PanelQuery = { ...given, ...rangeOf(page), venues: venue, offsets, style }
  const plan = new PlanFilter(grant)
  const walk = new PanelWalk(context, asked, plan)
  if (isFile) {
    requireDays(grant, asked)
    return panelFile(walk, asked, format, request.signal)
  }
  const { rows, next } = await walk.page(page.isFirst ? undefined : page.state, page.limit)
  const isEmpty = rows.length === 0 && plan.notice === undefined
  return answerList(request, {
    type: 'panel',
    rows,
    columns: PANEL_COLUMNS,
    meta: { range: rangeMeta(page.range, style) },
    notices: presentNotices(
      windowNotice(page.range),
      isEmpty && page.isFirst && next === undefined ? NONE : undefined,
      rows.length === 0 && next !== undefined ? GOES_ON : undefined,
      await removedMarkets(context, venue ?? venuesOf(grant, undefined), page.from),
      plan.notice,
    ),
    page,
    next,
  })
})

/** Past rounds aligned by seconds to their close. */
export const PANELS_ROUTE: Route = takesLong(PANELS, ({ format }) => isFileFormat(format))

function isFileFormat(format: Format): format is 'arrow' | 'parquet' {
  return format === 'arrow' || format === 'parquet'
}

function requirePlan(grant: Grant, { asset, venue }: Query): void {
  const name = asset.toUpperCase()
  for (const one of venue ?? []) {
    grant.requireVenue(one)
    grant.requireAsset(one, name)
  }
  if (venue === undefined) requireAssetAnywhere(grant, undefined, name)
}

function rangeOf(page: Page): Pick<PanelQuery, 'from' | 'end' | 'order' | 'since'> {
  const { from, end, order, range } = page
  return { from, end, order, since: range.window }
}

// A file holds all rows of the range, and its values have types instead of a style.
function refuseUnfit(query: Query, format: string): void {
  const unfit = ['limit', 'cursor', 'number_format', 'time_format'] as const
  const param = unfit.find((name) => query[name] !== undefined)
  if (param === undefined) return
  throw new Problem('invalid_parameter', `${param} has no meaning for format=${format}`, { param })
}

function requireDays(grant: Grant, { from, end }: Pick<PanelQuery, 'from' | 'end'>): void {
  if (end - from > DOCUMENTED_DAYS.download * DAY_MICROS)
    grant.requireFeature('bulk_beyond_31_days')
}
