import {
  DAY_MICROS,
  isMarketState,
  startOfDay,
  type Gap,
  type VenueId,
} from '@priorbook/sdk/domain'
import {
  CALENDAR_DAY_SCHEMA,
  contractOf,
  DOCUMENTED_DAYS,
  membersOf,
  Problem,
  timeJson,
} from '@priorbook/sdk/wire'
import { answerRows } from '../pages/answer-rows.ts'
import { presentNotices, windowNotice } from '../pages/notices.ts'
import { tableStyle } from '../pages/page.ts'
import { DayTally } from '../markets/coverage.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { defineRoute, type ApiContext, type Route } from '../route.ts'
import { VENUE_KEY } from '../../rows/index.ts'
import { captureFact } from '../../store/store.ts'

const { calendar: DEFAULT_DAYS, calendarMax: MAX_DAYS } = DOCUMENTED_DAYS
/** A venue's books day by day. */
export const COVERAGE_DAYS_ROUTE: Route = defineRoute(
  contractOf('coverage_days'),
  async (request, context) => {
    const { query, grant } = request
    const { venue } = query
    grant.requireVenue(venue)
    const style = tableStyle(request)
    const now = context.now()
    const end = Math.min(query.end_time ?? now, now)
    const asked = query.start_time ?? Math.max(0, end - (DEFAULT_DAYS - 1) * DAY_MICROS)
    if (asked >= end) {
      throw new Problem('invalid_range', 'start_time lies at or after end_time or now', {
        param: 'start_time',
      })
    }
    if (end - asked > MAX_DAYS * DAY_MICROS) {
      throw new Problem('invalid_range', `a calendar has at most ${MAX_DAYS} days`, {
        param: 'start_time',
        hint: 'Ask for one quarter after another.',
      })
    }
    const window = grant.windowStart(now)
    const from = startOfDay(Math.max(asked, window))
    // Days are counted whole, or up to now.
    const until = Math.min(startOfDay(end - 1) + DAY_MICROS, now)
    const days = new Map<number, DayTally>()
    for (let day = from; day < until; day += DAY_MICROS) days.set(day, new DayTally())
    const plan = new PlanFilter(grant)
    for (const totals of await context.store.days(venue, from, until)) {
      // Markets of an unknown asset count only for plans that have them all.
      const asset = totals.asset === '' ? undefined : totals.asset
      if (plan.includesAsset(venue, asset)) days.get(totals.day)?.add(totals)
    }
    // Among the totals, gaps of the whole venue are with markets of an unknown asset.
    if (!grant.allows(venue, undefined)) {
      for (const gap of await venueGaps(context, venue, from, until)) {
        for (const [day, tally] of days) tally.addGap(gap, day, until)
      }
    }
    const started = await context.store.fact(captureFact(venue))
    const data = [...days].map(([day, tally]) => tally.toJson(venue, day, style))
    const range = { asked, window, from: Math.max(asked, window), end }
    return answerRows(request, {
      type: 'day',
      rows: data,
      columns: membersOf(CALENDAR_DAY_SCHEMA),
      schema: CALENDAR_DAY_SCHEMA,
      meta: {
        range: { start_time: timeJson(from, style), end_time: timeJson(until, style) },
        capture_started_time: timeJson(started, style),
      },
      notices: presentNotices(windowNotice(range), plan.notice),
    })
  },
)

async function venueGaps(
  { store }: ApiContext,
  venue: VenueId,
  start: number,
  end: number,
): Promise<Gap[]> {
  const gaps = await store.gaps({ venue, key: VENUE_KEY, start, end })
  return gaps.filter(({ reason }) => !isMarketState(reason))
}
