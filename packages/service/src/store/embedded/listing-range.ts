import type { MarketQuery } from '../store.ts'
import type { Column, Database } from './database.ts'
import {
  sortListed,
  toListed,
  type Condition,
  type Listed,
  type ListOrder,
  type Selection,
} from './listed.ts'
import { hitOf, type Search } from './search-terms.ts'

/** Max markets of a range that are sorted at once. */
export const FEW = 4000

/**
 * The first markets of a range of time after the position of a walk, sorted by a number; undefined where the
 * range has many. A short range has few, and walking an index on volume would visit all the others. They
 * are sorted inside SQL, because a page shows fifty of two thousand. Of a search all are given.
 */
export function readRange(
  database: Database,
  families: Selection,
  query: MarketQuery,
  order: ListOrder,
  search: Search | undefined,
): Listed[] | undefined {
  const [matching, ...values] = conditionOf(families, query)
  const counted = `SELECT count(*) AS count FROM (SELECT 1 ${matching} LIMIT ?)`
  if ((database.get(counted, ...values, FEW + 1)!['count'] as number) > FEW) return undefined
  const { column, sign } = order
  const [beyond, ...place] = placeOf(query.after, order)
  const direction = sign === 1 ? 'ASC' : 'DESC'
  const [hit, ...hitValues] = hitOf(search, families.tables)
  const rows = database.columns(
    `SELECT listing.id AS id, ${column} AS value, name, chosen.venue AS venue,
       ${hit} AS hit ${matching} AND ${beyond}
     ORDER BY ${column} IS NULL, ${column} ${direction}, venue ${direction}, name ${direction}
     LIMIT ?`,
    ...hitValues,
    ...values,
    ...place,
    search === undefined ? query.limit + 1 : FEW,
  )
  return sortListed(rows.map(toListed), query.after, order)
}

// The markets of the families in the range. Families differ in how long their markets last.
function conditionOf({ by, families, more }: Selection, { start, end }: MarketQuery): Condition {
  const chosen = families.map(({ id, venue, isEndless, longest }) => {
    const isBounded = start !== undefined && !isEndless
    return [id, venue, isBounded ? start - longest - 1 : Number.MIN_SAFE_INTEGER]
  })
  const where: Condition[] = [...more, ...rangeOf({ start, end })]
  const index = by === 'family' ? 'listing_open' : 'line_open'
  return [
    `FROM (SELECT value ->> 0 AS id, value ->> 1 AS venue, value ->> 2 AS since FROM json_each(?))
       AS chosen CROSS JOIN listing INDEXED BY ${index}
     WHERE ${by} = chosen.id AND open > chosen.since
       ${where.map(([sql]) => `AND ${sql}`).join(' ')}`,
    JSON.stringify(chosen),
    ...where.flatMap(([, ...values]): Column[] => values),
  ]
}

/** What says that a row is of the selected families: nothing where all are. */
export function familiesOf({ families, isAll }: Selection): Condition[] {
  if (isAll) return []
  const ids = JSON.stringify(families.map(({ id }) => id))
  return [['family IN (SELECT value FROM json_each(?))', ids]]
}

/** What of a row lies in the range of a query. */
export function rangeOf({ start, end }: Pick<MarketQuery, 'start' | 'end'>): Condition[] {
  const where: Condition[] = []
  if (start !== undefined) where.push(['(close IS NULL OR close > ?)', start])
  if (end !== undefined) where.push(['open < ?', end])
  return where
}

/** What is beyond the position of a walk; `chosen.venue` is the venue of a row. */
export function placeOf(after: MarketQuery['after'], { column, sign }: ListOrder): Condition {
  if (after === undefined) return ['1']
  const { venue, marketId, openTime, value = openTime } = after
  const beyond = sign === 1 ? '>' : '<'
  // Markets without a value come last.
  return value === null
    ? [`${column} IS NULL AND (chosen.venue, name) ${beyond} (?, ?)`, venue, marketId]
    : [
        `(${column} IS NULL OR (${column}, chosen.venue, name) ${beyond} (?, ?, ?))`,
        value,
        venue,
        marketId,
      ]
}
