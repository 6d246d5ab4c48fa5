import {
  DAY_MICROS,
  compareGaps,
  GAP_REASONS,
  isMarketState,
  PriorbookError,
  VENUE_IDS,
  type Gap,
  type GapReason,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { GapQuery, InstrumentRef } from '../store.ts'
import type { Column, Database, Row } from './database.ts'
import { GAP_COLUMNS, GAP_SELECTED, gapOfRow, valuesOfGap } from './gap-rows.ts'
import { tallyGap, type GapBook } from './gap-tally.ts'
import { findKnownGap, forgetKnownGaps, listKnownGaps, type StoredGap } from './known-gaps.ts'
import { checkColumns, checkRow, holds, insertRow, rowSum } from './row-sum.ts'

const BY_NAME =
  'venue = ? AND key = ? AND start = ? AND after_sequence = ? AND reason = ? AND scope = ?'
// One text each: they are run for every book when a recorder starts.
const FIND = `SELECT id, ${GAP_SELECTED} FROM gap INDEXED BY gap_by_name WHERE ${BY_NAME}`
const CHANGE = `UPDATE gap SET finish = ?, source_start = ?, source_end = ?, detail = ?, journal = ?,
  end_journal = ?, sum = ? WHERE id = ?`

/**
 * Writes a gap, or closes the open one with the same start; the caller is in a write transaction. `book` is what it
 * knows of the instrument, which is looked up otherwise.
 */
export function saveGap(database: Database, gap: Gap, book?: GapBook): void {
  const known = findKnownGap(database, gap)
  const stored = known ?? findGap(database, gap)
  const before = stored?.gap
  if (stored === undefined) {
    writeGap(database, gap)
    forgetKnownGaps(database, gap)
  } else {
    changeGap(database, stored.id, gap)
    if (known === undefined) forgetKnownGaps(database, gap)
    else known.gap = gap
  }
  tallyGap(database, before, gap, book)
}

// A damaged one is written again.
function findGap(database: Database, gap: Gap): StoredGap | undefined {
  const row = database.get(FIND, ...nameOf(gap))
  if (row === undefined || !holds('gap', GAP_COLUMNS, row)) return undefined
  return { id: row['id'] as number, gap: gapOfRow(row) }
}

function changeGap(database: Database, id: number, gap: Gap): void {
  const changed = [
    gap.end ?? null,
    gap.sourceStart ?? null,
    gap.sourceEnd ?? null,
    gap.detail ?? null,
    gap.journal,
    gap.endJournal ?? null,
  ]
  database.run(CHANGE, ...changed, rowSum('gap', valuesOfGap(gap)), id)
}

function nameOf({ venue, key, start, afterSequence, reason, scope }: Gap): Column[] {
  return [venue, key, start, afterSequence, reason, scope]
}

function writeGap(database: Database, gap: Gap): void {
  insertRow(
    database,
    'INSERT INTO gap',
    GAP_COLUMNS,
    valuesOfGap(gap),
    `ON CONFLICT (venue, key, start, after_sequence, reason, scope) DO UPDATE SET
     finish = excluded.finish, source_start = excluded.source_start, source_end = excluded.source_end,
     detail = excluded.detail, journal = excluded.journal, end_journal = excluded.end_journal,
     sum = excluded.sum`,
  )
}

/** The position of a gap; several gaps can share one. */
export type GapPlace = Pick<Gap, 'venue' | 'key' | 'start' | 'afterSequence'>

/** The gaps at a place. */
export function findGaps(database: Database, place: GapPlace): Gap[] {
  const rows = database.all(
    `SELECT ${GAP_SELECTED} FROM gap INDEXED BY gap_by_name
     WHERE venue = ? AND key = ? AND start = ? AND after_sequence = ?`,
    place.venue,
    place.key,
    place.start,
    place.afterSequence,
  )
  return rows.map(toGap)
}

/** The gap in place of rows of an instrument or series that retention removed. */
export function findRetention(
  database: Database,
  { venue, key }: Pick<Gap, 'venue' | 'key'>,
): Gap | undefined {
  const row = database.get(
    `SELECT ${GAP_SELECTED} FROM gap INDEXED BY gap_by_name
     WHERE venue = ? AND key = ? AND reason = 'retention'`,
    venue,
    key,
  )
  return row === undefined ? undefined : toGap(row)
}

/** True while the market of an instrument is closed. */
export function hasMarketClosed(
  database: Database,
  { venue, key }: Pick<Gap, 'venue' | 'key'>,
): boolean {
  const where = "venue = ? AND key = ? AND reason = 'market_closed' AND finish IS NULL"
  return (
    database.get(`SELECT 1 FROM gap INDEXED BY gap_by_name WHERE ${where}`, venue, key) !==
    undefined
  )
}

/** Removes the gaps of an instrument whose rows are replaced; those of retention stay. */
export function removeGaps(database: Database, ref: { venue: VenueId; key: string }): void {
  for (const gap of listGaps(database, ref)) {
    if (gap.reason !== 'retention') removeGap(database, gap)
  }
}

/**
 * Restores the gaps of a venue as known at a journal record, which may differ by instrument: later
 * gaps are removed, gaps closed later are reopened.
 */
export function rollBackGaps(
  database: Database,
  venue: VenueId,
  positionOf: (gap: Gap) => number,
): void {
  for (const gap of listGaps(database, { venue })) {
    const position = positionOf(gap)
    if (gap.journal <= position && (gap.endJournal ?? 0) <= position) continue
    removeGap(database, gap)
    if (gap.journal > position) continue
    const { end: _end, sourceEnd: _sourceEnd, endJournal: _endJournal, ...open } = gap
    saveGap(database, open)
  }
}

/** Removes one gap; the caller is in a write transaction. */
export function removeGap(database: Database, gap: Gap): void {
  database.run(`DELETE FROM gap INDEXED BY gap_by_name WHERE ${BY_NAME}`, ...nameOf(gap))
  forgetKnownGaps(database, gap)
  tallyGap(database, gap, undefined)
}

/** Some gaps after a number; undefined for one whose row is damaged. */
export function gapsFrom(
  database: Database,
  after: number,
  limit: number,
): readonly { readonly id: number; readonly gap: Gap | undefined }[] {
  const rows = database.all(
    `SELECT id, ${GAP_SELECTED} FROM gap WHERE id > ? ORDER BY id LIMIT ?`,
    after,
    limit,
  )
  return rows.map((row) => ({
    id: row['id'] as number,
    gap: holds('gap', GAP_COLUMNS, row) ? toGap(row) : undefined,
  }))
}

/** Lists gaps by (start, last good sequence, venue, key, reason, scope); those that touch [start, end) where a range is given. */
export function listGaps(database: Database, query: GapQuery): Gap[] {
  refuseDamaged(database, query)
  const { limit, venue } = query
  const found: Gap[] = []
  for (const one of venue === undefined ? VENUE_IDS : [venue]) {
    for (const lane of lanesOf(query)) found.push(...readLane(database, one, query, lane))
  }
  found.sort(compareGaps)
  return limit === undefined || limit < 0 ? found : found.slice(0, limit)
}

const OPEN = `SELECT ${GAP_SELECTED} FROM gap INDEXED BY gap_open
  WHERE venue = ? AND reason = ? AND finish IS NULL`

/** The gaps of a venue for a reason that are still open. */
export function listOpenGaps(database: Database, venue: VenueId, reason: GapReason): Gap[] {
  refuseDamaged(database, { venue })
  return database.all(OPEN, venue, reason).map(toGap)
}

/** The gaps of an instrument that touch [start, end); of books whose gaps this transaction ends they are known. */
export function listTouchingGaps(
  database: Database,
  query: { readonly venue: VenueId; readonly key: string; start: number; end: number },
): readonly Gap[] {
  const known = listKnownGaps(database, query)
  if (known === undefined) return listGaps(database, query)
  refuseDamaged(database, query)
  return known
}

const REASON = GAP_COLUMNS.indexOf('reason')
const TOUCHING = `SELECT ${GAP_SELECTED} FROM gap INDEXED BY gap_by_name
  WHERE venue = ? AND key = ? AND (finish IS NULL OR finish > ?)`

/** How many gaps of an instrument reach beyond a time, without spans in which its market was not open. */
export function countHoles(
  database: Database,
  { venue, key }: InstrumentRef,
  since: number,
): number {
  refuseDamaged(database, { venue, key })
  let holes = 0
  for (const row of database.columns(TOUCHING, venue, key, since)) {
    checkColumns('gap', row)
    if (!isMarketState(row[REASON] as GapReason)) holes++
  }
  return holes
}

/** The gaps that one index gives in the order of the list, and what else is asked of them. */
type Lane = {
  readonly index: string
  readonly where: readonly (readonly [sql: string, ...values: Column[]])[]
  /** Only gaps that start after this time. */
  readonly from?: number
}

// A range touches gaps that began long before it. Those are open, or lasted for more than a day, and have
// indexes of their own; so a list passes over the gaps of a day at most.
function lanesOf({ key, reason, open, start }: GapQuery): Lane[] {
  const because: Lane['where'] = reason === undefined ? [] : [['reason = ?', reason]]
  const touching: Lane['where'] = [['(finish IS NULL OR finish > ?)', start ?? 0]]
  if (key !== undefined) {
    const where = [...because, ...(start === undefined ? [] : touching)]
    const isOpen: Lane['where'] = open === true ? [['finish IS NULL']] : []
    return [{ index: 'gap_by_name', where: [['key = ?', key], ...where, ...isOpen] }]
  }
  if (start === undefined && open !== true && reason === undefined) {
    return [{ index: 'gap_by_venue', where: [] }]
  }
  const reasons = reason === undefined ? Object.keys(GAP_REASONS) : [reason]
  const opened = reasons.map((one): Lane => ({
    index: 'gap_open',
    where: [['finish IS NULL'], ['reason = ?', one]],
  }))
  if (open === true) return opened
  const closed = reasons.map((one): Lane => {
    const where: Lane['where'] = [['finish IS NOT NULL'], ['reason = ?', one]]
    if (start === undefined) return { index: 'gap_closed', where }
    return {
      index: 'gap_closed',
      where: [...where, ['finish > ?', start]],
      from: start - DAY_MICROS,
    }
  })
  if (start === undefined) return [...opened, ...closed]
  const far: Lane['where'] = [
    ...because,
    ['finish - start > 86400000000'],
    ['finish > ?', start],
    ['start <= ?', start - DAY_MICROS],
  ]
  return [...opened, ...closed, { index: 'gap_long', where: far }]
}

function readLane(database: Database, venue: VenueId, query: GapQuery, lane: Lane): Gap[] {
  const where: string[] = ['venue = ?', ...lane.where.map(([sql]) => sql)]
  const values: Column[] = [venue, ...lane.where.flatMap(([, ...more]) => more)]
  const add = (condition: string, ...more: Column[]): void => {
    where.push(condition)
    values.push(...more)
  }
  if (query.end !== undefined) add('start < ?', query.end)
  if (query.sequence !== undefined) {
    add('after_sequence BETWEEN ? AND ?', query.sequence.from, query.sequence.to)
  }
  if (query.after !== undefined) {
    const { start, afterSequence, venue: last, key, reason, scope } = query.after
    const place: Column[] = [start, afterSequence, last, key, reason, scope]
    add('(start, after_sequence, venue, key, reason, scope) > (?, ?, ?, ?, ?, ?)', ...place)
  }
  // One bound, so that the index begins there.
  const from = Math.max(lane.from ?? -1, (query.after?.start ?? 0) - 1)
  if (from >= 0) add('start > ?', from)
  // SQLite compiles a statement again each time a parameter that is its whole limit is bound: with a sum it does not,
  // and the gaps of one book are read in half the time.
  const rows = database.all(
    `SELECT ${GAP_SELECTED} FROM gap INDEXED BY ${lane.index}
     WHERE ${where.join(' AND ')}
     ORDER BY ${ORDERS[lane.index] ?? 'start, after_sequence, key, reason, scope'} LIMIT ? + 0`,
    ...values,
    query.limit ?? -1,
  )
  return rows.map(toGap)
}

// Venue and reason are fixed, so these are the order of the list.
const ORDERS: Readonly<Record<string, string>> = {
  gap_open: 'start, after_sequence, key, scope',
  gap_closed: 'start, after_sequence, key, scope',
}

const damaged = new WeakMap<Database, readonly { venue: Column; key: Column }[]>()

// A damaged end could hide a gap from the query that needs it. So all gaps are checked once per
// connection. Only `verify` checks a table that is too long for that; the rows that a query reads are
// checked either way.
function refuseDamaged(database: Database, query: GapQuery): void {
  let names = damaged.get(database)
  if (names === undefined) {
    database.ensureWhole('gap')
    const isLong = database.isLong('gap')
    const rows = isLong ? [] : database.all(`SELECT ${GAP_SELECTED} FROM gap`)
    names = rows
      .filter((row) => !holds('gap', GAP_COLUMNS, row))
      .map((row) => ({ venue: row['venue']!, key: row['key']! }))
    damaged.set(database, names)
  }
  const touches = names.some(
    ({ venue, key }) => (query.venue ?? venue) === venue && (query.key ?? key) === key,
  )
  if (touches) throw new PriorbookError('corrupt_row', 'a row of table gap fails its checksum')
}

function toGap(row: Row): Gap {
  checkRow('gap', GAP_COLUMNS, row)
  return gapOfRow(row)
}
