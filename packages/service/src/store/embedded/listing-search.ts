import type { MarketQuery } from '../store.ts'
import type { Column, Database } from './database.ts'
import {
  hitOf,
  hitValues,
  sortListed,
  toListed,
  type Listed,
  type ListOrder,
  type Selection,
} from './listed.ts'

/** The markets with these numbers that match, in any order. */
export function readNamed(
  database: Database,
  ids: readonly number[],
  { by, families, more }: Selection,
  query: MarketQuery,
  { column }: ListOrder,
): Listed[] {
  const rows = database.all(
    `SELECT id, ${by} AS family, ${column} AS value, name, open, close FROM listing
     WHERE id IN (SELECT value FROM json_each(?)) AND ${hitOf(query.text)}
     ${more.map(([sql]) => `AND ${sql}`).join(' ')}`,
    JSON.stringify(ids),
    ...hitValues(query.text),
    ...more.flatMap(([, ...values]) => values),
  )
  const venues = new Map<Column, string>(families.map(({ id, venue }) => [id, venue]))
  const { start = -Infinity, end = Infinity } = query
  const found = rows.flatMap((row) => {
    const venue = venues.get(row['family']!)
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
  families: Selection,
  query: MarketQuery,
  order: ListOrder,
): Generator<Listed> {
  const { after, start, end } = query
  const longest = families.families.reduce((most, one) => Math.max(most, one.longest), 0)
  const isEndless = families.families.some((family) => family.isEndless)
  const up = order.sign === 1
  let from = start === undefined || isEndless ? Number.MIN_SAFE_INTEGER : start - longest
  let to = end === undefined ? Number.MAX_SAFE_INTEGER : end - 1
  const place = after === undefined ? undefined : (after.value ?? after.openTime)
  if (place !== undefined && up) from = Math.max(from, place)
  if (place !== undefined && !up) to = Math.min(to, place)
  while (from <= to) {
    const batch = readPostings(database, words, from, to, up)
    if (batch === undefined) return
    const named = readNamed(database, batch.markets, families, query, order)
    yield* sortListed(named, after, order)
    if (batch.isLast) return
    // Only the place of the last open time counts: after all markets that have it.
    const venue = up ? '\u{10FFFF}' : ''
    const passed = Math.max(0, batch.markets.length - named.length)
    yield { id: 0, value: batch.last, venue, name: '', isHit: false, passed }
    if (up) from = batch.last + 1
    else to = batch.last - 1
  }
}

type Postings = {
  readonly markets: readonly number[]
  /** The open time up to which all markets are named. */
  readonly last: number
  readonly isLast: boolean
}

function readPostings(
  database: Database,
  words: readonly number[],
  from: number,
  to: number,
  up: boolean,
): Postings | undefined {
  const direction = up ? 'ASC' : 'DESC'
  const lanes = words.map((word) =>
    database.all(
      `SELECT open, market FROM posting WHERE word = ? AND open >= ? AND open <= ?
       ORDER BY open ${direction}, market ${direction} LIMIT ?`,
      word,
      from,
      to,
      STEP,
    ),
  )
  const full = lanes.filter((lane) => lane.length === STEP)
  const ends = full.map((lane) => lane.at(-1)!['open'] as number)
  if (lanes.every((lane) => lane.length === 0)) return undefined
  const last = up ? Math.min(...ends, to) : Math.max(...ends, from)
  const markets = new Set<number>()
  for (const [index, lane] of lanes.entries()) {
    for (const { open, market } of lane as { open: number; market: number }[]) {
      if (up ? open <= last : open >= last) markets.add(market)
    }
    if (lane.length < STEP || lane.at(-1)!['open'] !== last) continue
    const rest = 'SELECT market FROM posting WHERE word = ? AND open = ?'
    for (const { market } of database.all(rest, words[index]!, last)) markets.add(market as number)
  }
  return { markets: [...markets], last, isLast: full.length === 0 }
}
