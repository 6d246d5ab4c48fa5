import {
  startOfDay,
  printMicros,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import {
  contractOf,
  DOCUMENTED_DAYS,
  PARITY_COLUMNS,
  PARITY_SCHEMA,
  type ParityDayJson,
} from '@priorbook/sdk/wire'
import { noParity } from '../../store/parity-checks.ts'
import type { ParityDay, ParityQuery } from '../../store/store.ts'
import { findAnywhere, sees } from '../markets/find.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { answerList } from '../pages/answer-rows.ts'
import { presentNotices, windowNotice } from '../pages/notices.ts'
import { openPage, rangeMeta, type Page } from '../pages/page.ts'
import { defineRoute, type ApiContext, type CursorState, type Route } from '../route.ts'

const NONE = { code: 'no_failed_checks', message: 'No check of prices failed in the range.' }

/** Failed checks of prices by market and day. */
export const PARITY_ROUTE: Route = defineRoute(contractOf('parity'), async (request, context) => {
  const { query, grant } = request
  const { venue, market } = query
  if (venue !== undefined) grant.requireVenue(venue)
  const page = openPage(request, context, { venue, market })
  const plan = new PlanFilter(grant)
  const found =
    market === undefined
      ? await failedDays(context, plan, venue, page)
      : await daysOf(context, (await findAnywhere(context, grant, market, venue)).record, page)
  const rows = found.slice(0, page.limit)
  return answerList(request, {
    type: 'parity',
    rows,
    columns: PARITY_COLUMNS,
    schema: PARITY_SCHEMA,
    meta: { range: rangeMeta(page.range, {}) },
    notices: presentNotices(
      windowNotice(page.range),
      found.length === 0 && plan.notice === undefined ? NONE : undefined,
      plan.notice,
    ),
    page,
    next: found.length > rows.length ? placeOf(rows.at(-1)!) : undefined,
  })
})

/** Days with a failed check of all markets that the plan includes, at most one more than a page. */
async function failedDays(
  { store }: ApiContext,
  plan: PlanFilter,
  venue: VenueId | undefined,
  page: Page,
): Promise<ParityDayJson[]> {
  const found: ParityDayJson[] = []
  const shown = new Map<string, boolean>()
  const isShown = async (day: ParityDay): Promise<boolean> => {
    const name = `${day.venue} ${day.marketId}`
    const known = shown.get(name)
    if (known !== undefined) return known
    const isSeen = sees(plan.grant, day.venue)
    if (!isSeen) plan.leaveOutVenue(day.venue)
    const state = isSeen ? await store.market(day.venue, day.marketId) : undefined
    const isIncluded = isSeen && plan.includes(state?.record ?? day)
    shown.set(name, isIncluded)
    return isIncluded
  }
  const { venue: last, day, market } = page.state as Record<string, string | number | undefined>
  let after =
    day === undefined ? undefined : ({ day, venue: last, marketId: market } as ParityQuery['after'])
  const range = { from: startOfDay(page.from), to: page.end, order: page.order, venue }
  for (;;) {
    const days = await store.parity({ ...range, after, limit: page.limit + 1 })
    for (const one of days) {
      if (await isShown(one)) found.push(toJson(one, null))
      if (found.length > page.limit) return found
    }
    if (days.length <= page.limit) return found
    after = days.at(-1)
  }
}

/** Every recorded day of one market. */
async function daysOf(
  context: ApiContext,
  record: MarketRecord,
  page: Page,
): Promise<ParityDayJson[]> {
  const { venue, marketId } = record
  const { store } = context
  const from = startOfDay(page.from)
  const failed = await store.parity({
    venue,
    marketId,
    from,
    to: page.end,
    order: 'asc',
    limit: MAX_DAYS,
  })
  const observations = new Map<number, number>()
  for (const { key } of await instrumentsOf(context, record)) {
    for (const { day, observations: count } of (await store.coverage({ venue, key }))?.days ?? []) {
      if (day >= from && day < page.end && count > 0) {
        observations.set(day, (observations.get(day) ?? 0) + count)
      }
    }
  }
  const byDay = new Map(failed.map((day) => [day.day, day]))
  const days = [...new Set([...observations.keys(), ...byDay.keys()])].sort((a, b) => a - b)
  if (page.order === 'desc') days.reverse()
  const after = page.state['day'] as number | undefined
  const isNext = (day: number): boolean =>
    after === undefined || (page.order === 'asc' ? day > after : day < after)
  return days
    .filter(isNext)
    .slice(0, page.limit + 1)
    .map((day) => {
      const known = byDay.get(day) ?? { ...noParity(), day, venue, marketId }
      return toJson(known, observations.get(day) ?? 0)
    })
}

// More than any market is recorded.
const MAX_DAYS = DOCUMENTED_DAYS.calendarMax * 100

function toJson(found: ParityDay, observations: number | null): ParityDayJson {
  const { day, venue, marketId, ...counts } = found
  const text = printMicros(day as Micros).slice(0, 10)
  return { venue, market_id: marketId, day: text, observations, ...counts }
}

function placeOf({ day, venue, market_id: market }: ParityDayJson): CursorState {
  return { day: Date.parse(day) * 1000, venue, market }
}
