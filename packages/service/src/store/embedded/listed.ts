import type { MarketQuery } from '../store.ts'
import type { Column } from './database.ts'
import type { Family } from './families.ts'

/** The columns that lists are sorted by. */
export type ListingColumn = 'open' | 'close' | 'volume' | 'liquidity'

/** The tables that a list is read from, and the kinds of families that it has. */
export type ListTables = {
  readonly listing: 'listing' | 'event'
  readonly posting: 'posting' | 'event_posting'
  readonly label: 'label' | 'event_label'
  /** The column of `posting` and `label` that names a row of `listing`. */
  readonly number: 'market' | 'event'
  readonly facets: number
  readonly series: number
}

/** The tables of the list of markets. */
export const MARKET_TABLES: ListTables = {
  listing: 'listing',
  posting: 'posting',
  label: 'label',
  number: 'market',
  facets: 0,
  series: 1,
}

/** The tables of the list of events. */
export const EVENT_TABLES: ListTables = {
  listing: 'event',
  posting: 'event_posting',
  label: 'event_label',
  number: 'event',
  facets: 2,
  series: 3,
}

/** One market or event of a list: its number, and its place in the order. */
export type Listed = {
  readonly id: number
  /** The value that the list is sorted by; null where the market has none. */
  readonly value: number | null
  readonly venue: string
  readonly name: string
  /** False where the text of the market does not hold the wanted one. */
  readonly isHit: boolean
  /** How many markets a search passed since the one before; 1 where absent. */
  readonly passed?: number
}

/** What a list is sorted by; −1 from the last to the first. */
export type ListOrder = { readonly column: ListingColumn; readonly sign: 1 | -1 }

/** The families that a query selects, and what else it asks of their markets. */
export type Selection = {
  readonly tables: ListTables
  readonly by: 'family' | 'line'
  readonly families: readonly Family[]
  /** True where no family is left out. */
  readonly isAll: boolean
  /** How many markets the families have. */
  readonly markets: number
  readonly more: readonly Condition[]
  /** The event that all markets are of, by venue. */
  readonly events?: ReadonlyMap<string, number>
}

/** A condition in SQL with its values. */
export type Condition = readonly [sql: string, ...values: Column[]]

type Ranked = Pick<Listed, 'value' | 'venue' | 'name'>

/** The order of a list: values first, markets without one last, ties by venue and id. */
export function compareListed(a: Ranked, b: Ranked, sign: 1 | -1): number {
  if (a.value !== b.value) {
    if (a.value === null) return 1
    if (b.value === null) return -1
    return sign * (a.value - b.value)
  }
  if (a.venue !== b.venue) return a.venue < b.venue ? -sign : sign
  return a.name === b.name ? 0 : a.name < b.name ? -sign : sign
}

/** Sorts markets, and leaves out those up to the position of a walk. */
export function sortListed(
  found: Listed[],
  after: MarketQuery['after'],
  { sign }: Pick<ListOrder, 'sign'>,
): Listed[] {
  found.sort((a, b) => compareListed(a, b, sign))
  if (after === undefined) return found
  const value = after.value === undefined ? after.openTime : after.value
  const place = { value, venue: after.venue, name: after.marketId }
  return found.filter((listed) => compareListed(listed, place, sign) > 0)
}

/** Reads a market of a list from columns of its row. */
export function toListed([id, value, name, venue, hit]: readonly Column[]): Listed {
  return {
    id: id as number,
    value: value as number | null,
    venue: venue as string,
    name: name as string,
    isHit: hit !== 0,
  }
}
