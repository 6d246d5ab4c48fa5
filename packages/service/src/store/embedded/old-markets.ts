import { isLastStatus, type VenueId } from '@priorbook/sdk/domain'
import { historyKeysOf, REMOVED_MARKETS } from '../store.ts'
import { isDamage } from './bodies.ts'
import { readMarket, readRecord } from './catalog.ts'
import type { Database, Row } from './database.ts'
import { findRetention } from './gaps.ts'
import { removeListing } from './listing.ts'
import { endOfStep } from './old-revisions.ts'
import type { RemovalOrder, RemovalStep } from './retention.ts'
import { readState, STATE, writeState } from './state.ts'
import type { Stream } from './streams.ts'
import { dropStream, facetsOf, recountExtents } from './tally.ts'
import type { View } from './view.ts'

// Bounds a step: an append waits for it.
const STEP_GONE = 64

/**
 * Removes some markets that ended before a time, of which no row is left and nothing was heard since, and
 * those that were announced and never heard of again, with all that is stored about them: record, gaps,
 * streams. Sums by day and outages stay. The newest market and
 * the newest stream stay, so that no number is given twice. `clean` is the version up to which changes of
 * streams have left the log: a stream that the log still names is needed to read it.
 */
export function removeMarkets(view: View, order: RemovalOrder, clean: number): RemovalStep {
  const { database } = view
  const { after, before, venue = null, isDryRun = false } = order
  const end = endOfStep(database, after)
  let next = end
  const rows = database.all(
    `SELECT id, venue, market, sort_time, close_time, status, (SELECT known_at FROM revision
       WHERE revision.market = market.id AND ordinal = revisions) AS known_at
     FROM market WHERE id > ? AND id <= ? AND (? IS NULL OR venue = ?) AND id < ?
       AND (close_time IS NULL OR close_time < ?) ORDER BY id`,
    after,
    end ?? Number.MAX_SAFE_INTEGER,
    venue,
    venue,
    newestOf(database, 'market'),
    before,
  )
  const gone: Gone[] = []
  for (const row of rows) {
    const market = findGone(view, row, before, clean)
    if (market === undefined) continue
    if (gone.length === STEP_GONE) {
      next = market.id - 1
      break
    }
    gone.push(market)
  }
  const bytes = gone.reduce((sum, { id }) => sum + bytesOf(database, id), 0)
  if (!isDryRun && gone.length > 0) {
    const version = readState(database, STATE.version) + 1
    database.write(() => {
      for (const market of gone) removeMarket(database, market, before)
      writeState(database, STATE.version, version)
      if (next === undefined && !database.isLong('stream')) recountExtents(database)
    })
    for (const { streams } of gone) for (const stream of streams) view.dropped(version, stream)
  }
  return { chunks: 0, rows: gone.length, bytes, next }
}

type Gone = {
  readonly id: number
  readonly venue: VenueId
  readonly market: string
  readonly streams: readonly Stream[]
  /** The keys that its gaps may have. */
  readonly keys: ReadonlySet<string>
}

function findGone(view: View, row: Row, before: number, clean: number): Gone | undefined {
  const { database } = view
  const id = row['id'] as number
  const venue = row['venue'] as VenueId
  const market = row['market'] as string
  if (row['known_at'] === null || (row['known_at'] as number) >= before) return undefined
  const found = database.all('SELECT id FROM stream WHERE venue = ? AND market = ?', venue, market)
  if (!hasEnded(row) && !(found.length === 0 && isForgotten(row, before))) return undefined
  const newest = newestOf(database, 'stream')
  try {
    const streams = found.map((one) => view.streamById(one['id'] as number))
    const isGone = streams.every(
      (stream) =>
        stream.id < newest &&
        stream.version <= clean &&
        isEmptied(view, stream) &&
        isOld(database, stream, before),
    )
    if (!isGone) return undefined
    const outcomes = readMarket(database, venue, market)?.record.outcomes ?? []
    const tokens = outcomes.flatMap(({ tokenId }) => tokenId ?? [])
    const history = historyKeysOf({ marketId: market, outcomes })
    const keys = new Set([market, ...tokens, ...history, ...streams.map(({ key }) => key)])
    return { id, venue, market, streams, keys }
  } catch (error) {
    // A damaged stream stays: `verify` names it.
    if (isDamage(error)) return undefined
    throw error
  }
}

// A market without a close time has ended when its status says so.
function hasEnded(row: Row): boolean {
  return row['close_time'] !== null || isLastStatus(String(row['status']))
}

// The venue announced this market, and no message came when it should have opened: it is not recorded here.
function isForgotten(row: Row, before: number): boolean {
  return row['status'] === 'scheduled' && (row['sort_time'] as number) < before
}

function isEmptied(view: View, stream: Stream): boolean {
  return view.lastOrdinal(stream) <= stream.removed && view.directory(stream).places.length === 0
}

// The rows went less than the age ago, so the gap in their place is still of interest.
function isOld(database: Database, stream: Stream, before: number): boolean {
  return (findRetention(database, stream)?.end ?? 0) < before
}

function removeMarket(database: Database, gone: Gone, before: number): void {
  const { id, venue, market, streams, keys } = gone
  const facets = facetsOf(database, venue, market)
  for (const stream of streams) {
    if (stream.knownTo === null) dropStream(database, stream, facets)
    database.run('DELETE FROM stream WHERE id = ?', stream.id)
  }
  for (const key of keys) {
    // Without the sums of days and outages: what was missed stays counted.
    database.run('DELETE FROM gap WHERE venue = ? AND key = ?', venue, key)
    database.run('DELETE FROM unbroken WHERE venue = ? AND key = ?', venue, key)
  }
  database.run('DELETE FROM parity WHERE venue = ? AND market = ?', venue, market)
  removeListing(database, id, (other) => readRecord(database, other))
  database.run('DELETE FROM revision WHERE market = ?', id)
  database.run('DELETE FROM revision_cut WHERE market = ?', id)
  database.run('DELETE FROM market WHERE id = ?', id)
  const count = STATE.fact(REMOVED_MARKETS.count(venue))
  const time = STATE.fact(REMOVED_MARKETS.before(venue))
  writeState(database, count, readState(database, count) + 1)
  writeState(database, time, Math.max(readState(database, time), before))
}

function bytesOf(database: Database, id: number): number {
  const sum = 'SELECT coalesce(sum(length(body)), 0) AS bytes FROM revision WHERE market = ?'
  return database.get(sum, id)!['bytes'] as number
}

function newestOf(database: Database, table: 'market' | 'stream'): number {
  return (database.get(`SELECT max(id) AS id FROM ${table}`)?.['id'] as number | null) ?? 0
}
