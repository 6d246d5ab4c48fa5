import { isVenueId, type VenueId } from '@priorbook/sdk/domain'
import { joinQuery, parseCompareView, printCompareView, type CompareView } from './compare-view.ts'
import type { Range } from './range.ts'
import { parseLinkTime, parseLinkRange, printLinkRange, printLinkTime } from './time.ts'

/** A page of the explorer with its parameters, as in the address. */
export type Place =
  | { readonly page: 'home' }
  | { readonly page: 'markets'; readonly filters: MarketFilters }
  | { readonly page: 'events'; readonly filters: EventFilters }
  | {
      readonly page: 'event'
      readonly venue: VenueId
      readonly eventId: string
      readonly range?: Range | undefined
    }
  | { readonly page: 'contracts'; readonly filters: ContractFilters }
  | ({ readonly page: 'contract'; readonly contractId: string } & CompareView)
  | {
      readonly page: 'market'
      readonly venue: VenueId
      readonly marketId: string
      /** The instant shown; absent while the page follows the present. */
      readonly time: number | undefined
      /** The outcome of the charts; the first one by default. */
      readonly outcome?: 1 | undefined
      /** The span of the charts; everything by default. */
      readonly range?: Range | undefined
    }
  | {
      readonly page: 'coverage'
      readonly venue: VenueId | undefined
      readonly day: string | undefined
    }
  | {
      readonly page: 'reference'
      /** The asset and the feed that are shown; the first ones by default. */
      readonly asset: string | undefined
      readonly feed: string | undefined
      readonly range?: Range | undefined
    }
  | {
      readonly page: 'backtest'
      /** The market of the report that is shown, and the fill that is marked. */
      readonly market: string | undefined
      readonly fill: number | undefined
    }
  /** A guide by its folder and name, such as `guide/backtest`; absent for the list. */
  | { readonly page: 'guides'; readonly guide: string | undefined }
  | ({ readonly page: 'alerts' } & AlertPlace)
  | { readonly page: 'status' }
  | { readonly page: 'key' }
  | { readonly page: 'nowhere'; readonly path: string }

/** What the page of alerts shows, as in its address. */
export type AlertPlace = {
  /** The market or contract of a new rule. */
  readonly venue?: VenueId | undefined
  readonly marketId?: string | undefined
  readonly contractId?: string | undefined
  /** The rule whose deliveries are listed. */
  readonly alert?: string | undefined
}

/** The filters of the list of markets, as in its address. */
export type MarketFilters = {
  readonly q?: string
  readonly venue?: VenueId
  readonly asset?: string
  readonly series?: string
  readonly window?: string
  readonly status?: string
  readonly sort?: string
  readonly category?: string
  readonly tag?: string
}

/** The filters of the list of events, as in its address. */
export type EventFilters = Pick<
  MarketFilters,
  'q' | 'venue' | 'status' | 'sort' | 'category' | 'tag'
>

/** The filters of the list of contracts, as in its address. */
export type ContractFilters = Pick<MarketFilters, 'q' | 'asset' | 'window' | 'status'>

const FILTERS = [
  ...(['q', 'venue', 'asset', 'series', 'window', 'status', 'sort', 'category', 'tag'] as const),
]
const EVENT_FILTERS = ['q', 'venue', 'status', 'sort', 'category', 'tag'] as const
const CONTRACT_FILTERS = ['q', 'asset', 'window', 'status'] as const

/** Parses an address of the explorer. */
export function parsePlace(pathname: string, search: string): Place {
  const query = new URLSearchParams(search)
  const [first = '', second = '', ...rest] = pathname.split('/').filter(Boolean).map(decode)
  const isAlone = second === ''
  switch (first) {
    case '':
      return { page: 'home' }
    case 'markets':
      return isAlone
        ? { page: 'markets', filters: parseFilters(query, FILTERS) }
        : nowhere(pathname)
    case 'events': {
      const filters = parseFilters(query, EVENT_FILTERS)
      return isAlone ? { page: 'events', filters } : nowhere(pathname)
    }
    case 'event': {
      const eventId = rest.join('/')
      if (!isVenueId(second) || eventId === '') return nowhere(pathname)
      return { page: 'event', venue: second, eventId, range: parseLinkRange(query) }
    }
    case 'contracts': {
      if (rest.length > 0) return nowhere(pathname)
      if (!isAlone) return { page: 'contract', contractId: second, ...parseCompareView(query) }
      return { page: 'contracts', filters: parseFilters(query, CONTRACT_FILTERS) }
    }
    case 'market': {
      const marketId = rest.join('/')
      if (!isVenueId(second) || marketId === '') return nowhere(pathname)
      return {
        page: 'market',
        venue: second,
        marketId,
        time: parseLinkTime(query.get('t')),
        outcome: query.get('outcome') === '1' ? 1 : undefined,
        range: parseLinkRange(query),
      }
    }
    case 'coverage':
      return parseCoverage(query)
    case 'reference':
      return {
        page: 'reference',
        asset: query.get('asset') ?? undefined,
        feed: query.get('feed') ?? undefined,
        range: parseLinkRange(query),
      }
    case 'backtest': {
      const fill = query.get('fill')
      return {
        page: 'backtest',
        market: query.get('market') ?? undefined,
        fill: fill !== null && /^\d{1,9}$/.test(fill) ? Number(fill) : undefined,
      }
    }
    case 'guides': {
      const guide = [second, ...rest].join('/')
      return { page: 'guides', guide: isAlone ? undefined : guide }
    }
    case 'alerts':
      return parseAlerts(query)
    case 'status':
      return { page: 'status' }
    case 'key':
      return { page: 'key' }
    default:
      return nowhere(pathname)
  }
}

function parseCoverage(query: URLSearchParams): Place {
  const venue = query.get('venue')
  const day = query.get('day')
  return {
    page: 'coverage',
    venue: isVenueId(venue) ? venue : undefined,
    day: day !== null && /^\d{4}-\d\d-\d\d$/.test(day) ? day : undefined,
  }
}

function parseAlerts(query: URLSearchParams): Place {
  const venue = query.get('venue')
  const marketId = query.get('market') ?? undefined
  const isMarket = isVenueId(venue) && marketId !== undefined
  return {
    page: 'alerts',
    venue: isMarket ? venue : undefined,
    marketId: isMarket ? marketId : undefined,
    contractId: query.get('contract') ?? undefined,
    alert: query.get('alert') ?? undefined,
  }
}

/** Prints an address; parsing it gives the same place again. */
export function printPlace(place: Place): string {
  switch (place.page) {
    case 'home':
      return '/'
    case 'markets':
      return withQuery('/markets', printFilters(place.filters))
    case 'events':
      return withQuery('/events', printFilters(place.filters))
    case 'contracts':
      return withQuery('/contracts', printFilters(place.filters))
    case 'contract': {
      const path = `/contracts/${encodeURIComponent(place.contractId)}`
      return `${path}${printCompareView(place)}`
    }
    case 'event':
      return `/event/${place.venue}/${encodeURIComponent(place.eventId)}${joinQuery([printLinkRange(place.range)])}`
    case 'market': {
      const path = `/market/${place.venue}/${encodeURIComponent(place.marketId)}`
      const { time, outcome, range } = place
      const parts = [
        printLinkRange(range),
        time === undefined ? '' : `t=${printLinkTime(time)}`,
        outcome === 1 ? 'outcome=1' : '',
      ]
      return `${path}${joinQuery(parts)}`
    }
    case 'coverage': {
      const query = new URLSearchParams()
      if (place.venue !== undefined) query.set('venue', place.venue)
      if (place.day !== undefined) query.set('day', place.day)
      return withQuery('/coverage', query)
    }
    case 'reference': {
      const { asset, feed } = place
      const query = new URLSearchParams({ ...(asset && { asset }), ...(feed && { feed }) })
      const path = withQuery('/reference', query)
      const range = printLinkRange(place.range)
      return range === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${range}`
    }
    case 'backtest': {
      const { market, fill } = place
      const query = new URLSearchParams({ ...(market && { market }) })
      if (fill !== undefined) query.set('fill', String(fill))
      return withQuery('/backtest', query)
    }
    case 'guides':
      return place.guide === undefined ? '/guides' : `/guides/${place.guide}`
    case 'alerts': {
      const { venue, marketId: market, contractId: contract, alert } = place
      const given = Object.entries({ venue, market, contract, alert })
      const query = given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
      return withQuery('/alerts', new URLSearchParams(query))
    }
    case 'status':
    case 'key':
      return `/${place.page}`
    case 'nowhere':
      return place.path
  }
}

/** Filters with other values; an empty one is no filter. */
export function changeFilters<Filters extends MarketFilters>(
  filters: Filters,
  news: Partial<Record<keyof Filters, string>>,
): Filters {
  const all = Object.entries({ ...filters, ...news })
  return Object.fromEntries(
    all.filter(([, value]) => value !== undefined && value !== ''),
  ) as Filters
}

function printFilters(filters: MarketFilters): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of FILTERS) {
    const value = filters[name]
    if (value !== undefined && value !== '') query.set(name, value)
  }
  return query
}

function parseFilters(
  query: URLSearchParams,
  names: readonly (keyof MarketFilters)[],
): MarketFilters {
  const filters: Record<string, string> = {}
  for (const name of names) {
    const value = query.get(name)
    if (value === null || value === '') continue
    if (name === 'venue' && !isVenueId(value)) continue
    filters[name] = value
  }
  return filters
}

function nowhere(path: string): Place {
  return { page: 'nowhere', path }
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
