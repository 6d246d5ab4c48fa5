import type { MarketQuery } from '../store.ts'
import type { Column, Row } from './database.ts'
import type { Family, ListingColumn } from './listing.ts'

/** One market of a list: its number, and its place in the order. */
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
  readonly by: 'family' | 'line'
  readonly families: readonly Family[]
  /** How many markets the families have. */
  readonly markets: number
  readonly more: readonly Condition[]
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

/** Reads a market of a list from its row. */
export function toListed(row: Row, venue: string): Listed {
  return {
    id: row['id'] as number,
    value: row['value'] as number | null,
    venue,
    name: row['name'] as string,
    isHit: row['hit'] !== 0,
  }
}
