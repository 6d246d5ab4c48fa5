import { VENUES } from '@priorbook/sdk/domain'
import type { MarketFilters } from './place.ts'

/** That nothing matches, with what was asked for: `No market matches “fed” on venue B`. */
export function nothingMatches(
  kind: 'market' | 'event' | 'contract',
  filters: MarketFilters,
): string {
  const words = filterWords(filters)
  return words === '' ? `No ${kind} is recorded` : `No ${kind} matches ${words}`
}

/** That no open market matches, in the same words. */
export function noOpenMarket(filters: MarketFilters): string {
  const words = filterWords(filters)
  return words === '' ? 'No recorded market is open now' : `No open market matches ${words}`
}

/** True where a filter leaves something out; the order of a list is not one. */
export function isFiltered(filters: MarketFilters): boolean {
  return filterWords(filters) !== ''
}

function filterWords({ q, venue, status, ...rest }: MarketFilters): string {
  const { asset, series, window, category, tag } = rest
  const named = { asset, series, window, category, tag }
  return [
    q === undefined ? '' : `“${q}”`,
    venue === undefined ? '' : `on ${VENUES[venue].label}`,
    status === undefined || status === 'any' || status === 'all' ? '' : `with status ${status}`,
    ...Object.entries(named).map(([name, value]) =>
      value === undefined ? '' : `${name} ${value}`,
    ),
  ]
    .filter(Boolean)
    .join(', ')
}
