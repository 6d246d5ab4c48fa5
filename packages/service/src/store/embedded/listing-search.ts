import type { MarketQuery } from '../store.ts'
import type { Column, Database } from './database.ts'
import {
  sortListed,
  toListed,
  type Condition,
  type Listed,
  type ListOrder,
  type ListTables,
  type Selection,
} from './listed.ts'
import { placeOf, rangeOf } from './listing-range.ts'
import { hitOf, type Search } from './search-terms.ts'

/** A search among some families, in the order of a list. */
export type SearchWalk = {
  readonly search: Search
  readonly selection: Selection
  readonly query: MarketQuery
  readonly order: ListOrder
}

/**
 * The first markets with one of these words that match, after the position of a walk. They are sorted inside SQL:
 * a page shows fifty of thousands that have a tag.
 */
export function readWords(
  database: Database,
  words: readonly number[],
  { search, selection, query, order }: SearchWalk,
): Listed[] {
  const { tables, by, families, more } = selection
  const { column, sign } = order
  const { after, limit } = query
  const conditions: Condition[] = [...more, ...rangeOf(query), placeOf(after, order)]
  // All that have the word of a tag are hits.
  if (search.terms.some(({ kind }) => kind !== 'tag')) conditions.push(hitOf(search, tables))
  const direction = sign === 1 ? 'ASC' : 'DESC'
  const { listing } = tables
  const rows = database.all(
    `SELECT ${listing}.id AS id, ${column} AS value, name, chosen.venue AS home
     FROM ${listing} CROSS JOIN family AS chosen ON chosen.id = ${listing}.${by}
     WHERE ${listing}.id IN (${namesOf(tables)})
       AND ${by} IN (SELECT value FROM json_each(?))
       ${conditions.map(([sql]) => `AND ${sql}`).join(' ')}
     ORDER BY ${column} IS NULL, ${column} ${direction}, home ${direction}, name ${direction}
     LIMIT ?`,
    JSON.stringify(words),
    JSON.stringify(families.map(({ id }) => id)),
    ...conditions.flatMap(([, ...values]) => values),
    limit + 1,
  )
  return rows.map((row) => toListed(row, row['home'] as string))
}

function namesOf({ posting, number }: ListTables): string {
  return `SELECT ${number} FROM ${posting} WHERE word IN (SELECT value FROM json_each(?))`
}

// `names` is SQL for the numbers of markets: most of them are no hits, and become no objects.
function readNamed(
  database: Database,
  [names, ...values]: Condition,
  { search, selection: { tables, by, families, more }, query, order: { column } }: SearchWalk,
): Listed[] {
  const [hit, ...hitValues] = hitOf(search, tables)
  const rows = database.all(
    `SELECT id, ${by} AS chosen, ${column} AS value, name, open, close FROM ${tables.listing}
     WHERE id IN (${names}) AND ${hit}
     ${more.map(([sql]) => `AND ${sql}`).join(' ')}`,
    ...values,
    ...hitValues,
    ...more.flatMap(([, ...given]) => given),
  )
  const venues = new Map<Column, string>(families.map(({ id, venue }) => [id, venue]))
  const { start = -Infinity, end = Infinity } = query
  const found = rows.flatMap((row) => {
    const venue = venues.get(row['chosen']!)
    const close = (row['close'] as number | null) ?? Infinity
    const isWanted = venue !== undefined && close > start && (row['open'] as number) < end
    return isWanted ? [toListed(row, venue)] : []
  })
  return found
}

// Markets that are read and sorted at a time.
const STEP = 256

/**
 * Walks the markets that have one of these words, by open time. A batch ends with all markets of one open
 * time, so batches need no merging.
 */
export function* walkWords(
  database: Database,
  words: readonly number[],
  walk: SearchWalk,
): Generator<Listed> {
  const { selection: families, query, order } = walk
  const { after, start, end } = query
  const { tables } = families
  const longest = families.families.reduce((most, one) => Math.max(most, one.longest), 0)
  const isEndless = families.families.some((family) => family.isEndless)
  const up = order.sign === 1
  let from = start === undefined || isEndless ? Number.MIN_SAFE_INTEGER : start - longest
  let to = end === undefined ? Number.MAX_SAFE_INTEGER : end - 1
  const place = after === undefined ? undefined : (after.value ?? after.openTime)
  if (place !== undefined && up) from = Math.max(from, place)
  if (place !== undefined && !up) to = Math.min(to, place)
  while (from <= to) {
    const { last, isLast } = findStep(database, words, tables, { from, to, up })
    const [low, high] = up ? [from, last] : [last, to]
    const names: Condition = [`${namesOf(tables)} AND ${WITHIN}`, JSON.stringify(words), low, high]
    const named = readNamed(database, names, walk)
    yield* sortListed(named, after, order)
    if (isLast) return
    // Only the place of the last open time counts: after all markets that have it.
    const venue = up ? '\u{10FFFF}' : ''
    const passed = Math.max(0, countNames(database, names, tables) - named.length)
    yield { id: 0, value: last, venue, name: '', isHit: false, passed }
    if (up) from = last + 1
    else to = last - 1
  }
}

const WITHIN = 'open BETWEEN ? AND ?'

function countNames(
  database: Database,
  [names, ...values]: Condition,
  { number }: ListTables,
): number {
  const sql = `SELECT count(DISTINCT ${number}) AS count FROM (${names})`
  return database.get(sql, ...values)!['count'] as number
}

// The open time up to which a step reads: that of the word whose markets fill a step first.
function findStep(
  database: Database,
  words: readonly number[],
  { posting }: ListTables,
  { from, to, up }: { readonly from: number; readonly to: number; readonly up: boolean },
): { readonly last: number; readonly isLast: boolean } {
  const ends: number[] = []
  for (const word of words) {
    const row = database.get(
      `SELECT open FROM ${posting} WHERE word = ? AND ${WITHIN}
       ORDER BY open ${up ? 'ASC' : 'DESC'} LIMIT 1 OFFSET ?`,
      word,
      from,
      to,
      STEP - 1,
    )
    if (row !== undefined) ends.push(row['open'] as number)
  }
  const last = up ? Math.min(...ends, to) : Math.max(...ends, from)
  return { last, isLast: ends.length === 0 }
}

const MAX_MARKED = 1000

/**
 * Tells which markets of a walk have the wanted text. Some are looked at together, and only those that the
 * walk reaches: the indexes that it merges do not hold the text, and are read ahead.
 */
export function* markHits(
  database: Database,
  walk: Iterator<Listed>,
  search: Search,
  tables: ListTables,
  first: number,
): Generator<Listed> {
  const [hit, ...values] = hitOf(search, tables)
  const sql = `SELECT id FROM ${tables.listing} WHERE id IN (SELECT value FROM json_each(?)) AND ${hit}`
  for (let size = Math.min(first + 1, MAX_MARKED); ; size = Math.min(size * 2, MAX_MARKED)) {
    const some: Listed[] = []
    for (let next = walk.next(); next.done !== true; next = walk.next()) {
      some.push(next.value)
      if (some.length === size) break
    }
    const ids = JSON.stringify(some.map(({ id }) => id))
    const rows = database.all(sql, ids, ...values)
    const hits = new Set(rows.map(({ id }) => id))
    for (const listed of some) yield hits.has(listed.id) ? listed : { ...listed, isHit: false }
    if (some.length < size) return
  }
}
