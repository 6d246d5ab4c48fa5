import { compareGaps, isTradesGap, type Gap, type VenueId } from '@priorbook/sdk/domain'
import { GAP_COLUMNS, GAP_SCHEMA, toGapJson, contractOf } from '@priorbook/sdk/wire'
import { distinctGaps, gapKeysOf, sharedGapKeys, VENUE_KEY } from '../../rows/index.ts'
import { historyKeysOf, type GapQuery } from '../../store/store.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { defineRoute, type ApiContext, type Grant, type Route } from '../route.ts'
import { gapFilter, gapInState, gapsAfter, gapState } from '../markets/gap-list.ts'
import { findAnywhere, venuesOf } from '../markets/find.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { isWhileTrading } from '../markets/trade-source.ts'
import { presentNotices, removedMarkets, windowNotice } from '../pages/notices.ts'
import { openPage, rangeMeta, tableStyle, type Page } from '../pages/page.ts'
import { answerList } from '../pages/answer-rows.ts'

/** Spans that were not observed. */
export const GAPS_ROUTE: Route = defineRoute(contractOf('gaps'), async (request, context) => {
  const { query, grant } = request
  const { venue, market, key, reason } = query
  if (venue !== undefined) grant.requireVenue(venue)
  const style = tableStyle(request)
  const page = openPage(request, context, { venue, market, key, reason })
  const plan = new PlanFilter(grant)
  const filters = { reason, start: page.from === 0 ? undefined : page.from, end: page.end }
  const found =
    market === undefined
      ? await gapsAfter(
          context.store,
          { ...filters, venue, key },
          gapInState(page.state),
          page.limit,
          gapFilter(context, plan),
        )
      : await gapsOfMarket(context, grant, { market, venue, key }, filters, page)
  const gaps = found.slice(0, page.limit)
  const last = gaps.at(-1)
  const hasMore = found.length > gaps.length
  const none = { code: 'no_gaps', message: 'No gap touches the range.' }
  const isOfOne = market !== undefined || key !== undefined
  const gone = isOfOne
    ? undefined
    : await removedMarkets(context, venuesOf(grant, venue), page.from)
  return answerList(request, {
    type: 'gap',
    rows: gaps.map((gap) => toGapJson(gap, style)),
    columns: GAP_COLUMNS,
    schema: GAP_SCHEMA,
    meta: { range: rangeMeta(page.range, style) },
    notices: presentNotices(
      windowNotice(page.range),
      gaps.length === 0 && plan.notice === undefined ? none : undefined,
      gone,
      plan.notice,
    ),
    page,
    next: hasMore ? gapState(last!) : undefined,
  })
})

// A market has few gaps: all of them are read, with the damage that the store knows of.
async function gapsOfMarket(
  context: ApiContext,
  grant: Grant,
  named: {
    readonly market: string
    readonly venue: VenueId | undefined
    readonly key: string | undefined
  },
  filters: GapQuery,
  page: Page,
): Promise<Gap[]> {
  const { store } = context
  const { record } = await findAnywhere(context, grant, named.market, named.venue)
  const { venue, marketId } = record
  const instruments = await instrumentsOf(context, record)
  // Gaps of a venue's history and of a feed of trades are not gaps of books: listed where their key is named.
  const apart = [...historyKeysOf(record), ...sharedGapKeys(venue)]
  const keys = new Set([
    ...gapKeysOf(instruments),
    marketId,
    ...apart.filter((key) => key === named.key),
  ])
  const gaps: Gap[] = []
  for (const key of keys) {
    if (named.key !== undefined && named.key !== key) continue
    gaps.push(...(await store.gaps({ ...filters, venue, key })))
    const coverage = key === VENUE_KEY ? undefined : await store.coverage({ venue, key })
    const damaged = (coverage?.gaps ?? []).filter(({ reason }) => reason === 'corrupt')
    gaps.push(...damaged.filter((gap) => isAsked(gap, filters)))
  }
  const after = gapInState(page.state)
  return distinctGaps(gaps)
    .filter((gap) => !isTradesGap(gap) || isWhileTrading(gap, record))
    .filter((gap) => after === undefined || compareGaps(gap, after) > 0)
    .sort(compareGaps)
    .slice(0, page.limit + 1)
}

function isAsked(gap: Gap, { reason, start = 0, end = Infinity }: GapQuery): boolean {
  const isInRange = gap.start < end && (gap.end ?? Infinity) > start
  return isInRange && (reason === undefined || reason === gap.reason)
}
