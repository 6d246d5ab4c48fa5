import { eventIdOf, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import {
  eventAddress,
  Problem,
  timeJson,
  type EventJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { StoredEvent } from '../../store/store.ts'
import type { ApiContext, Grant } from '../route.ts'
import { planAsset, venuesOf } from './find.ts'

/** Renders an event; what is not known is null. */
export function toEventJson(event: StoredEvent, style: ValueStyle): EventJson {
  return {
    venue: event.venue,
    event_id: event.eventId,
    address: eventAddress(event.venue, event.eventId),
    title: event.title ?? null,
    slug: event.slug ?? null,
    category: event.category ?? null,
    tags: event.tags ?? [],
    series: event.series ?? null,
    asset: event.asset ?? null,
    is_exclusive: event.isExclusive ?? null,
    is_neg_risk: event.isNegRisk ?? null,
    market_count: event.markets,
    open_market_count: event.openMarkets,
    first_open_time: timeJson(event.firstOpen, style),
    last_close_time: timeJson(event.lastClose, style),
  }
}

/** An event as plans look at it: as they look at its markets. */
export function planSubject({ venue, eventId, asset, series }: StoredEvent): {
  readonly venue: VenueId
  readonly marketId: string
  readonly asset?: string
  readonly seriesTicker?: string
} {
  return {
    venue,
    marketId: eventId,
    ...(asset === undefined ? {} : { asset }),
    ...(series === undefined ? {} : { seriesTicker: series }),
  }
}

/**
 * Finds an event by its id, and its venue where that is given. Throws `Problem` where the plan does not include
 * it, where two venues have the id, and with a hint where none has.
 */
export async function findEvent(
  context: ApiContext,
  grant: Grant,
  id: string,
  venue: VenueId | undefined,
): Promise<StoredEvent> {
  if (venue !== undefined) grant.requireVenue(venue)
  const venues = venuesOf(grant, venue)
  const found: StoredEvent[] = []
  for (const one of venues) found.push(...present(await context.store.event(one, id)))
  const [event, other] = found
  if (event !== undefined && other !== undefined) {
    const allowed = found.map((one) => one.venue)
    throw new Problem('invalid_parameter', `events of ${allowed.join(' and ')} have this id`, {
      param: 'venue',
      allowed,
      hint: 'Say which one by venue.',
    })
  }
  if (event !== undefined) {
    grant.requireAsset(event.venue, planAsset(planSubject(event)))
    return event
  }
  for (const hidden of VENUE_IDS) {
    if (venue !== undefined || venues.includes(hidden)) continue
    if ((await context.store.event(hidden, id)) !== undefined) grant.requireVenue(hidden)
  }
  const shown = JSON.stringify(id.slice(0, 100))
  throw new Problem('unknown_event', `no event ${shown} is recorded`, {
    param: 'event_id',
    hint: await hintFor(context, grant, id, venue),
  })
}

// What was probably meant, as far as the plan shows it. Uses indexed look-ups only.
async function hintFor(
  { store }: ApiContext,
  grant: Grant,
  id: string,
  venue: VenueId | undefined,
): Promise<string> {
  const maySee = (event: StoredEvent): boolean =>
    grant.allows(event.venue, planAsset(planSubject(event)))
  const find = async (one: VenueId, name: string): Promise<string | undefined> => {
    const event = await store.event(one, name)
    return event !== undefined && maySee(event) ? eventAddress(one, name) : undefined
  }
  for (const one of VENUE_IDS) {
    const elsewhere = one === venue ? undefined : await find(one, id)
    if (elsewhere !== undefined) return `It is an event of another venue: ${elsewhere}`
    for (const spelling of [id.toUpperCase(), id.toLowerCase()]) {
      const address = spelling === id ? undefined : await find(one, spelling)
      if (address !== undefined) return `Identifiers are case-sensitive: ${address}`
    }
    const [market] = present(await store.market(one, id))
    if (market !== undefined) {
      const own = eventIdOf(market.record)
      const address = own === undefined ? undefined : await find(one, own)
      if (address !== undefined) return `That is a market. Its event: ${address}`
    }
  }
  const { events } = await store.events({ text: `"${id.replaceAll('"', '')}"`, limit: 1 })
  const [named] = events.filter((event) => event.slug === id && maySee(event))
  if (named !== undefined) {
    return `That is a slug. Its event: ${eventAddress(named.venue, named.eventId)}`
  }
  return 'Recorded events are listed by /v3/events?q=…'
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value]
}
