import { contractOf, EVENT_COLUMNS, EVENT_SCHEMA } from '@priorbook/sdk/wire'
import type { EventPage, EventPlace, EventQuery } from '../../store/store.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { planSubject, toEventJson } from '../markets/events.ts'
import { venuesOf } from '../markets/find.ts'
import { marketFilters } from '../markets/lists.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { answerList } from '../pages/answer-rows.ts'
import {
  correctionNotice,
  presentNotices,
  removedMarkets,
  searchNotice,
  windowNotice,
} from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, tableStyle, type Page } from '../pages/page.ts'
import { defineRoute, type ApiContext, type CursorState, type Route } from '../route.ts'

/** Events of all venues. */
export const EVENTS_ROUTE: Route = defineRoute(contractOf('events'), async (request, context) => {
  const { query, grant } = request
  const { q, sort = 'open_time', venue, series, status = 'all', category, tag } = query
  const style = tableStyle(request)
  if (venue !== undefined) grant.requireVenue(venue)
  const given = { venue, series, category, tag }
  const page = openPage(request, context, { ...given, q, sort, status }, NO_END)
  const filters: EventFilters = {
    ...(marketFilters({ ...given, text: q }, page.range) as EventFilters),
    sort,
    isOpen: status === 'open',
  }
  const plan = new PlanFilter(grant)
  const { events, next, hasMore, corrections = [] } = await walkEvents(context, filters, page, plan)
  const isEmpty = plan.notice === undefined || hasMore
  return answerList(request, {
    type: 'event',
    rows: events.map((event) => toEventJson(event, style)),
    columns: EVENT_COLUMNS,
    schema: EVENT_SCHEMA,
    meta: { range: rangeMeta(page.range, style) },
    notices: presentNotices(
      windowNotice(page.range),
      correctionNotice('event', corrections, events.length > 0 || plan.hidesNothing(page.range)),
      isEmpty ? searchNotice('event', events.length, hasMore) : undefined,
      await removedMarkets(context, venuesOf(grant, venue), page.from),
      plan.notice,
    ),
    page,
    next: hasMore ? next : undefined,
  })
})

type EventFilters = Omit<EventQuery, 'limit' | 'after' | 'order' | 'includes'>

type WalkedEvents = {
  readonly events: EventPage['events']
  readonly hasMore: boolean
  readonly next: CursorState | undefined
  readonly corrections?: EventPage['corrections']
}

// Max events per read of the store, and per request: a plan that leaves most of them out goes on by cursor.
// A read repeats the whole search, so few large reads cost less than many small ones.
const SLICE = 200
const MAX_VISITED = 4000

async function walkEvents(
  { store }: ApiContext,
  filters: EventFilters,
  page: Page,
  plan: PlanFilter,
): Promise<WalkedEvents> {
  const found: EventPage['events'][number][] = []
  let after = placeOf(page)
  const isWhole = filters.text !== undefined || filters.tag !== undefined || plan.includesAll
  const includes: EventQuery['includes'] = isWhole
    ? undefined
    : (venue, asset) => plan.includesAsset(venue, asset)
  for (let visited = 0; ;) {
    const { order } = page
    const limit = visited === 0 ? page.limit : SLICE
    const read = await store.events({ ...filters, after, order, limit, includes })
    const { events, hasMore, reached, corrections } = read
    for (const [index, event] of events.entries()) {
      after = { ...event, value: event.sortValue }
      if (!plan.includes(planSubject(event))) continue
      found.push(event)
      if (found.length < page.limit) continue
      const isLast = !hasMore && index === events.length - 1
      return { events: found, next: toState(after), hasMore: !isLast, corrections }
    }
    after = reached ?? after
    visited += events.length
    if (!hasMore || reached !== undefined || visited >= MAX_VISITED) {
      const next = after === undefined ? undefined : toState(after)
      return { events: found, hasMore, next, corrections }
    }
    await yieldToEventLoop()
  }
}

function toState({ value, venue, eventId }: EventPlace): CursorState {
  return { venue, id: eventId, value: value ?? '' }
}

function placeOf({ state }: Page): EventPlace | undefined {
  const { venue, id, value } = state
  if (id === undefined) return undefined
  const number = value === '' ? null : (value as number)
  return { value: number, venue: venue as string, eventId: id as string }
}
