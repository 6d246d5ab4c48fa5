import { PriorbookError } from '@priorbook/sdk/domain'
import type { CategoryTotals, EventPage, EventPlace, EventQuery, MarketQuery } from '../store.ts'
import type { Database } from './database.ts'
import { readEvents } from './events.ts'
import { listFamilies, type Family } from './families.ts'
import { EVENT_TABLES, MARKET_TABLES } from './listed.ts'
import { takePage } from './list-page.ts'

/** Events that match, in the order of the query. They are listed as markets are. */
export function listEvents(database: Database, query: EventQuery): EventPage {
  for (const table of ['event', 'family']) database.ensureWhole(table)
  const { found, hasMore, reached, corrections } = takePage(database, toList(query), EVENT_TABLES)
  const stored = readEvents(
    database,
    found.map(({ id }) => id),
  )
  const events = found.map(({ id, name, venue, value }) => {
    const event = stored.get(id)
    if (event?.eventId !== name || event.venue !== venue) {
      throw new PriorbookError('corrupt_row', `the list of events is damaged at ${name}`)
    }
    return { ...event, sortValue: value }
  })
  return {
    events,
    hasMore,
    ...(corrections === undefined ? {} : { corrections }),
    ...(reached === undefined ? {} : { reached: toEventPlace(reached) }),
  }
}

function toEventPlace({
  value = null,
  venue,
  marketId,
}: NonNullable<MarketQuery['after']>): EventPlace {
  return { value, venue, eventId: marketId }
}

function toList({ after, isOpen, ...query }: EventQuery): MarketQuery {
  const status = isOpen === true ? 'open' : undefined
  if (after === undefined) return { ...query, status }
  const { value, venue, eventId: marketId } = after
  return { ...query, status, after: { openTime: 0, value, venue, marketId } }
}

/** How many markets and events have each heading: the sums of their families. */
export function countCategories(database: Database): readonly CategoryTotals[] {
  const totals = new Map<string, Counted>()
  const add =
    (names: readonly ['markets', 'openMarkets'] | readonly ['events', 'openEvents']) =>
    (family: Family): void => {
      const { venue, category, asset, status, markets } = family
      if (category === '') return
      const key = JSON.stringify([venue, category, asset])
      const known = totals.get(key) ?? { venue, category, asset, ...NONE }
      totals.set(key, known)
      known[names[0]] += markets
      if (status === 'open') known[names[1]] += markets
    }
  listFamilies(database, MARKET_TABLES.facets).forEach(add(['markets', 'openMarkets']))
  listFamilies(database, EVENT_TABLES.facets).forEach(add(['events', 'openEvents']))
  return [...totals.values()]
}

type Counted = { -readonly [Name in keyof CategoryTotals]: CategoryTotals[Name] }

const NONE = { markets: 0, openMarkets: 0, events: 0, openEvents: 0 }
