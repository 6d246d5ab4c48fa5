import type { Column, Database } from './database.ts'
import { columnsHold, insertRow } from './row-sum.ts'
import type { Stream } from './streams.ts'

/**
 * A loose part is written fast and packed again soon; a tight one is small; a sealed chunk is final. A packed one is
 * final, too, and shares its body with its neighbours: a pack, see `packs/`.
 */
const CHUNK_FORMS = ['loose', 'tight', 'sealed', 'packed'] as const

/** How final a chunk is. */
type ChunkForm = (typeof CHUNK_FORMS)[number]

/** Where one chunk is and which rows it holds. */
export type ChunkPlace = {
  readonly stream: number
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
  readonly changesBefore: number
  readonly form: ChunkForm
  readonly body: number
}

/**
 * The chunks of one stream in order. Every entry's checksum has been verified and the entries follow
 * each other without a hole; a missing entry is represented by a `lost` one instead of being skipped.
 */
export type Directory = {
  readonly version: number
  readonly places: readonly (ChunkPlace | LostPlace)[]
}

/** Rows whose directory entry is damaged or gone. */
export type LostPlace = {
  readonly lost: true
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
}

const COLUMNS = [
  'stream',
  'first',
  'count',
  'first_received',
  'last_received',
  'changes_before',
  'form',
  'body',
]

/** Reads the directory of a stream. */
export function readDirectory(database: Database, stream: Stream): Directory {
  const rows = database.columns(
    `SELECT ${COLUMNS.join(', ')}, sum FROM chunk WHERE stream = ? ORDER BY first`,
    stream.id,
  )
  const places: (ChunkPlace | LostPlace)[] = []
  let next = stream.removed + 1
  let received = 0
  const lose = (until: number, untilReceived: number): void => {
    if (until <= next) return
    const lost = { first: next, count: until - next, lost: true } as const
    places.push({ ...lost, firstReceived: received, lastReceived: untilReceived })
    next = until
  }
  for (const row of rows) {
    const place = toPlace(row)
    // A damaged entry, one of another stream, or one out of order: its rows count as lost.
    if (place === undefined || place.stream !== stream.id || place.first < next) continue
    if (place.firstReceived < received || place.first + place.count > stream.next) continue
    lose(place.first, place.firstReceived)
    places.push(place)
    next = place.first + place.count
    received = place.lastReceived
  }
  lose(stream.next, Number.MAX_SAFE_INTEGER)
  return { version: stream.version, places }
}

/** Adds a directory entry; the caller is in a write transaction. */
export function writePlace(database: Database, place: ChunkPlace): void {
  const values: Column[] = [
    place.stream,
    place.first,
    place.count,
    place.firstReceived,
    place.lastReceived,
    place.changesBefore,
    CHUNK_FORMS.indexOf(place.form),
    place.body,
  ]
  insertRow(database, 'INSERT INTO chunk', COLUMNS, values)
}

/** True for a chunk that is in the hash chain of its stream. */
export function isSealed({ form }: ChunkPlace): boolean {
  return form === 'sealed' || form === 'packed'
}

/** Removes a chunk and its directory entry; the caller is in a write transaction. */
export function removePlace(database: Database, place: ChunkPlace): void {
  database.run('DELETE FROM chunk WHERE stream = ? AND first = ?', place.stream, place.first)
  // A pack goes with the last of its chunks.
  if (place.form === 'packed' && countChunksOf(database, place.body) > 0) return
  database.run('DELETE FROM body WHERE id = ?', place.body)
  database.run('DELETE FROM cold WHERE body = ?', place.body)
}

/**
 * Removes chunks from the beginning of a stream, with all entries up to the last of them and the bodies that no other
 * entry names; the caller is in a write transaction. Packs must be removed whole: then an entry that still names one is
 * damaged, and would keep its bytes for ever.
 */
export function removeThrough(database: Database, places: readonly ChunkPlace[]): void {
  const last = places.at(-1)
  if (last === undefined) return
  const { stream } = last
  const end = last.first + last.count
  const own = new Set(places.map(({ body }) => body))
  const sql = 'SELECT body FROM chunk WHERE stream = ? AND first < ?'
  const named = database.all(sql, stream, end).map((row) => row['body'] as number)
  database.run('DELETE FROM chunk WHERE stream = ? AND first < ?', stream, end)
  for (const body of own) database.run('DELETE FROM chunk WHERE body = ?', body)
  for (const body of new Set([...own, ...named])) {
    if (countChunksOf(database, body) > 0) continue
    database.run('DELETE FROM body WHERE id = ?', body)
    database.run('DELETE FROM cold WHERE body = ?', body)
  }
}

/** How many entries name a body. */
export function countChunksOf(database: Database, body: number): number {
  const sql = 'SELECT count(*) AS count FROM chunk WHERE body = ?'
  return database.get(sql, body)!['count'] as number
}

/** The chunks of a body in order; an entry that is damaged is undefined. */
export function placesOfBody(database: Database, body: number): (ChunkPlace | undefined)[] {
  const sql = `SELECT ${COLUMNS.join(', ')}, sum FROM chunk WHERE body = ? ORDER BY first`
  return database.columns(sql, body).map(toPlace)
}

/** The index of the last place that starts at or before a row, −1 before the first. */
export function placeOfOrdinal(places: Directory['places'], ordinal: number): number {
  return lastAtMost(places.length, (index) => places[index]!.first, ordinal)
}

/** The index of the last place whose first row was received at or before a time, −1 before the first. */
export function placeOfTime(places: Directory['places'], time: number): number {
  return lastAtMost(places.length, (index) => places[index]!.firstReceived, time)
}

/** Binary search: the last index in [0, length) whose value is at most `limit`, or −1. */
export function lastAtMost(
  length: number,
  valueAt: (index: number) => number,
  limit: number,
): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (valueAt(middle) <= limit) low = middle + 1
    else high = middle
  }
  return low - 1
}

// The columns of an entry and its sum; undefined where they do not fit.
function toPlace(row: readonly Column[]): ChunkPlace | undefined {
  if (!columnsHold('chunk', row)) return undefined
  const [stream, first, count, firstReceived, lastReceived, changesBefore, form, body] = row
  return {
    stream: stream as number,
    first: first as number,
    count: count as number,
    firstReceived: firstReceived as number,
    lastReceived: lastReceived as number,
    changesBefore: changesBefore as number,
    form: CHUNK_FORMS[form as number]!,
    body: body as number,
  }
}
