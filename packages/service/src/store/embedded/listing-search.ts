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
import { familiesOf, placeOf, rangeOf } from './listing-range.ts'
import { beyondList, hitOf, type Search, type WordList } from './search-terms.ts'

/** A search among some families, in the order of a list. */
export type SearchWalk = {
  readonly search: Search
  readonly selection: Selection
  readonly query: MarketQuery
  readonly order: ListOrder
}

/**
 * The first markets with one of these words that match, after the position of a walk. They are sorted inside SQL:
 * a page shows fifty of thousands.
 */
export function readWords(
  database: Database,
  list: WordList,
  { search, selection, query, order }: SearchWalk,
): Listed[] {
  const { tables, by, families, more } = selection
  const { column, sign } = order
  const { after, limit } = query
  const hit = hitOf(beyondList(search, list, tables), tables)
  const conditions: Condition[] = [...more, ...rangeOf(query), placeOf(after, order), hit]
  const direction = sign === 1 ? 'ASC' : 'DESC'
  const { listing } = tables
  const rows = database.columns(
    `SELECT ${listing}.id AS id, ${column} AS value, name, chosen.venue AS home
     FROM ${listing} CROSS JOIN family AS chosen ON chosen.id = ${listing}.${by}
     WHERE ${listing}.id IN (${namesOf(list, tables)})
       AND ${by} IN (SELECT value FROM json_each(?))
       ${conditions.map(([sql]) => `AND ${sql}`).join(' ')}
     ORDER BY ${column} IS NULL, ${column} ${direction}, home ${direction}, name ${direction}
     LIMIT ?`,
    JSON.stringify(list.words),
    JSON.stringify(families.map(({ id }) => id)),
    ...conditions.flatMap(([, ...values]) => values),
    limit + 1,
  )
  return rows.map(toListed)
}

function namesOf({ table }: WordList, { number }: ListTables): string {
  return `SELECT ${number} FROM ${table} WHERE word IN (SELECT value FROM json_each(?))`
}

// `names` is SQL for the numbers of markets: most of them may be no hits, and become no objects.
function readNamed(
  database: Database,
  [names, ...values]: Condition,
  { search, selection: { tables, by, families, more }, query, order: { column } }: SearchWalk,
): Listed[] {
  const [hit, ...hitValues] = hitOf(search, tables)
  const rows = database.columns(
    `SELECT id, ${by}, ${column}, name, open, close FROM ${tables.listing}
     WHERE id IN (${names}) AND ${hit}
     ${more.map(([sql]) => `AND ${sql}`).join(' ')}`,
    ...values,
    ...hitValues,
    ...more.flatMap(([, ...given]) => given),
  )
  const venues = new Map<Column, string>(families.map(({ id, venue }) => [id, venue]))
  const { start = -Infinity, end = Infinity } = query
  const found: Listed[] = []
  for (const [id, chosen, value, name, open, close] of rows) {
    const venue = venues.get(chosen!)
    if (venue === undefined || Number(close ?? Infinity) <= start || Number(open) >= end) continue
    found.push(toListed([id!, value!, name!, venue]))
  }
  return found
}

// The open times that a walk by open time has left.
type Span = { from: number; to: number; readonly up: boolean }

function spanOf({ selection: { families }, query, order }: SearchWalk): Span {
  const { after, start, end } = query
  const longest = families.reduce((most, one) => Math.max(most, one.longest), 0)
  const isEndless = families.some((family) => family.isEndless)
  const up = order.sign === 1
  let from = start === undefined || isEndless ? Number.MIN_SAFE_INTEGER : start - longest
  let to = end === undefined ? Number.MAX_SAFE_INTEGER : end - 1
  const place = after === undefined ? undefined : (after.value ?? after.openTime)
  if (place !== undefined && up) from = Math.max(from, place)
  if (place !== undefined && !up) to = Math.min(to, place)
  return { from, to, up }
}

// How many markets are read and sorted at a time: first those of a page, then twice as many.
const MIN_STEP = 32
const MAX_STEP = 512

function firstStep({ query }: SearchWalk): number {
  return Math.min(Math.max(query.limit + 1, MIN_STEP), MAX_STEP)
}

/**
 * Walks the markets that have a word of each of these lists, by open time. Each step reads those of the list
 * whose next markets reach furthest. It ends with all markets of one open time, so steps need no merging.
 */
export function* walkWords(
  database: Database,
  lists: readonly WordList[],
  walk: SearchWalk,
): Generator<Listed> {
  const { selection, query, order } = walk
  const { tables } = selection
  const span = spanOf(walk)
  const { up } = span
  let size = firstStep(walk)
  for (; span.from <= span.to; size = Math.min(size * 2, MAX_STEP)) {
    const steps = lists.map((list) => findStep(database, list, span, size))
    const step = steps.reduce((best, one) => (reaches(one, best, up) ? one : best))
    const { list, last, isLast } = step
    const [low, high] = up ? [span.from, last] : [last, span.to]
    const names: Condition = [
      `${namesOf(list, tables)} AND ${WITHIN}`,
      JSON.stringify(list.words),
      low,
      high,
    ]
    const search = beyondList(walk.search, list, tables)
    const named = readNamed(database, matchingOf(names, list, walk), { ...walk, search })
    yield* sortListed(named, query.after, order)
    if (isLast) return
    const passed = Math.max(0, countNames(database, names, tables) - named.length)
    yield passedUntil(last, up, passed)
    if (up) span.from = last + 1
    else span.to = last - 1
  }
}

// Labels say which of their markets match, so that others are not read.
function matchingOf(
  [names, ...values]: Condition,
  { table }: WordList,
  { selection, query }: SearchWalk,
): Condition {
  const { tables, by } = selection
  if (table !== tables.label || by !== 'family') return [names, ...values]
  const more: Condition[] = [...familiesOf(selection), ...rangeOf(query)]
  const sql = [names, ...more.map(([one]) => one)].join(' AND ')
  return [sql, ...values, ...more.flatMap(([, ...given]) => given)]
}

// Only the place of the last open time counts: after all markets that have it.
function passedUntil(last: number, up: boolean, passed: number): Listed {
  const venue = up ? '\u{10FFFF}' : ''
  return { id: 0, value: last, venue, name: '', isHit: false, passed }
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

type Step = { readonly list: WordList; readonly last: number; readonly isLast: boolean }

function reaches(one: Step, other: Step, up: boolean): boolean {
  if (one.isLast || other.isLast) return one.isLast && !other.isLast
  return up ? one.last > other.last : one.last < other.last
}

// The open time up to which a step reads: that of the word whose markets fill a step first.
function findStep(database: Database, list: WordList, { from, to, up }: Span, size: number): Step {
  const ends: number[] = []
  for (const word of list.words) {
    const row = database.get(
      `SELECT open FROM ${list.table} WHERE word = ? AND ${WITHIN}
       ORDER BY open ${up ? 'ASC' : 'DESC'} LIMIT 1 OFFSET ?`,
      word,
      from,
      to,
      size - 1,
    )
    if (row !== undefined) ends.push(row['open'] as number)
  }
  const last = up ? Math.min(...ends, to) : Math.max(...ends, from)
  return { list, last, isLast: ends.length === 0 }
}

/**
 * Walks the markets of words that few have, by open time. Their numbers are sorted by the index of words alone, and
 * only those that the walk reaches are read.
 */
export function* walkFew(database: Database, list: WordList, walk: SearchWalk): Generator<Listed> {
  const { selection, query, order } = walk
  const { tables } = selection
  const { from, to, up } = spanOf(walk)
  const row = database.get(
    `SELECT json_group_array(open) AS opens, json_group_array(${tables.number}) AS numbers
     FROM ${list.table} WHERE word IN (SELECT value FROM json_each(?)) AND ${WITHIN}`,
    JSON.stringify(list.words),
    from,
    to,
  )!
  const opens = JSON.parse(row['opens'] as string) as number[]
  const numbers = JSON.parse(row['numbers'] as string) as number[]
  const sorted = sortPlaces(opens, numbers, up)
  const search = beyondList(walk.search, list, tables)
  let size = firstStep(walk)
  for (let at = 0; at < sorted.length; size = Math.min(size * 2, MAX_STEP)) {
    let end = Math.min(at + size, sorted.length)
    while (end < sorted.length && opens[sorted[end]!] === opens[sorted[end - 1]!]) end++
    const some = JSON.stringify(sorted.slice(at, end).map((place) => numbers[place]))
    const names: Condition = ['SELECT value FROM json_each(?)', some]
    yield* sortListed(readNamed(database, names, { ...walk, search }), query.after, order)
    at = end
  }
}

// Where the markets stand in these lists, by open time; one that has several of the words stands there once.
function sortPlaces(opens: readonly number[], numbers: readonly number[], up: boolean): number[] {
  const sign = up ? 1 : -1
  const places = numbers
    .map((_, at) => at)
    .sort((a, b) => sign * (opens[a]! - opens[b]!) || numbers[a]! - numbers[b]!)
  return places.filter((place, at) => at === 0 || numbers[place] !== numbers[places[at - 1]!])
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
    const rows = database.columns(sql, ids, ...values)
    const hits = new Set<Column | undefined>(rows.map(([id]) => id))
    for (const listed of some) yield hits.has(listed.id) ? listed : { ...listed, isHit: false }
    if (some.length < size) return
  }
}
