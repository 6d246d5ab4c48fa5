import type { Column, Database } from './database.ts'
import { toListed, type Condition, type Listed } from './listed.ts'
import { familiesOf, placeOf, rangeOf } from './listing-range.ts'
import type { SearchWalk } from './listing-search.ts'

/**
 * The first markets with a tag that match, after the position of a walk, in any order. Their sort values lie
 * together under the tag, but not their names, which decide between equal values. So the value that the page ends
 * with is found first, and only the markets up to it are looked up.
 */
export function readLabels(
  database: Database,
  word: number,
  { selection, query, order }: SearchWalk,
): Listed[] {
  const { listing, label, number } = selection.tables
  const { column, sign } = order
  const { after, limit } = query
  const direction = sign === 1 ? 'ASC' : 'DESC'
  const tagged: Condition[] = [['word = ?', word], ...familiesOf(selection), ...rangeOf(query)]
  const place = after?.value === undefined ? after?.openTime : after.value
  const behind = sign === 1 ? '>' : '<'
  const next = [...tagged, ...beyond(column, behind, place)]
  const end = database.get(
    `SELECT ${column} AS value FROM ${label} WHERE ${allOf(next)}
     ORDER BY ${column} IS NULL, ${column} ${direction} LIMIT 1 OFFSET ?`,
    ...valuesOf(next),
    limit,
  )
  const some = [...tagged, ...beyond(column, `${behind}=`, place)]
  // Markets without a value come last: where the page ends with one, all others are before it.
  if (typeof end?.['value'] === 'number') {
    some.push([`${column} ${sign === 1 ? '<=' : '>='} ?`, end['value']])
  }
  const [behindPlace, ...placeValues] = placeOf(after, order)
  const rows = database.columns(
    `SELECT some.id AS id, some.value AS value, name, chosen.venue AS home
     FROM (SELECT ${number} AS id, family, ${column} AS value FROM ${label} WHERE ${allOf(some)}) AS some
     CROSS JOIN family AS chosen ON chosen.id = some.family
     CROSS JOIN ${listing} ON ${listing}.id = some.id
     WHERE ${behindPlace}
     ORDER BY value IS NULL, value ${direction}, home ${direction}, name ${direction}
     LIMIT ?`,
    ...valuesOf(some),
    ...placeValues,
    limit + 1,
  )
  return rows.map(toListed)
}

// Rows whose value is behind that of a position; without a value they are behind all others.
function beyond(column: string, behind: string, place: number | null | undefined): Condition[] {
  if (place === undefined) return []
  if (place === null) return [[behind.endsWith('=') ? `${column} IS NULL` : '0']]
  return [[`(${column} IS NULL OR ${column} ${behind} ?)`, place]]
}

function allOf(conditions: readonly Condition[]): string {
  return conditions.map(([sql]) => sql).join(' AND ')
}

function valuesOf(conditions: readonly Condition[]): Column[] {
  return conditions.flatMap(([, ...values]) => values)
}
