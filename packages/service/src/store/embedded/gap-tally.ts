import {
  DAY_MICROS,
  isBackfillKey,
  isMarketState,
  isTradesGap,
  parseReferenceKey,
  type Gap,
  type GapReason,
  type Instrument,
  type VenueId,
} from '@priorbook/sdk/domain'
import { CHUNK_KINDS } from '@priorbook/sdk/tape'
import type { Incident } from '../store.ts'
import type { Column, Database, Row } from './database.ts'
import { hasKnownOpenGap } from './known-gaps.ts'
import { checkRow, holds, insertRow } from './row-sum.ts'
import { addGapDays, facetsOf } from './tally.ts'

const BOOK = CHUNK_KINDS.indexOf('book')
// What interrupts many books at once.
const OUTAGES: ReadonlySet<GapReason> = new Set([
  'venue_silent',
  'disconnected',
  'recorder_down',
  'disk_full',
])
// An outage of the recorder or its disk is one whatever the number of books.
const OWN_OUTAGES: ReadonlySet<GapReason> = new Set(['recorder_down', 'disk_full'])

const UNBROKEN_COLUMNS = ['venue', 'key', 'market']

/** The instruments of a venue whose books have no open gap. */
export function listUnbroken(database: Database, venue: VenueId): Instrument[] {
  const rows = database.all(
    'SELECT venue, key, market, sum FROM unbroken WHERE venue = ? ORDER BY key',
    venue,
  )
  return rows.map((row) => {
    checkRow('unbroken', UNBROKEN_COLUMNS, row)
    return { venue, market: row['market'] as string, key: row['key'] as string }
  })
}

/** The market of the instrument of a gap, and what that market is about. */
export type GapBook = { readonly market: string; readonly asset: string }

/**
 * Keeps the sums that follow from gaps; the gap was written, changed or removed in this transaction. `book` is what
 * the caller knows of the instrument, which is looked up otherwise.
 */
export function tallyGap(
  database: Database,
  before: Gap | undefined,
  after: Gap | undefined,
  book?: GapBook,
): void {
  const gap = (after ?? before)!
  if (!isOfBooks(gap)) return
  const market = book?.market ?? marketOf(database, gap)
  if (market === undefined && isOfSeries(gap)) return
  if (!isMarketState(gap.reason)) {
    const { asset } =
      book ?? (market === undefined ? { asset: '' } : facetsOf(database, gap.venue, market))
    const { venue, reason } = gap
    for (const [one, sign] of [
      [before, -1],
      [after, 1],
    ] as const) {
      if (one?.end === undefined) continue
      addGapDays(database, { venue, reason, start: one.start, end: one.end }, asset, sign)
    }
  }
  if (OUTAGES.has(gap.reason)) tallyOutage(database, before, after)
  if (gap.scope !== 'instrument' || market === undefined) return
  if (after !== undefined && after.end === undefined) breakBook(database, gap)
  else if (before !== undefined && before.end === undefined) mendBook(database, gap, market)
}

/** Whether a gap is one of books: none is missing while a feed of reference prices or of trades, or past trades are. */
export function isOfBooks({ venue, key }: Pick<Gap, 'venue' | 'key'>): boolean {
  if (parseReferenceKey(key) !== undefined || isBackfillKey(key)) return false
  return !isTradesGap({ venue, key })
}

// Rows that were removed or damaged were stored: where no book has the key, they are samples.
function isOfSeries({ scope, reason }: Gap): boolean {
  return scope === 'instrument' && (reason === 'retention' || reason === 'corrupt')
}

/** Moves the closed gaps of an instrument to the sums of another asset. */
export function moveGaps(database: Database, gaps: readonly Gap[], from: string, to: string): void {
  for (const { venue, reason, start, end } of gaps) {
    if (end === undefined || isMarketState(reason)) continue
    addGapDays(database, { venue, reason, start, end }, from, -1)
    addGapDays(database, { venue, reason, start, end }, to, 1)
  }
}

/** Notes that an instrument is observed, unless one of its gaps is open. */
export function mendBook(
  database: Database,
  { venue, key }: { readonly venue: VenueId; readonly key: string },
  market: string,
): void {
  if (hasOpenGap(database, venue, key)) return
  const values = [venue, key, market]
  insertRow(database, 'INSERT OR REPLACE INTO unbroken', UNBROKEN_COLUMNS, values)
}

function hasOpenGap(database: Database, venue: VenueId, key: string): boolean {
  const known = hasKnownOpenGap(database, venue, key)
  if (known !== undefined) return known
  const open = database.get(
    `SELECT 1 AS found FROM gap INDEXED BY gap_by_name
     WHERE venue = ? AND key = ? AND finish IS NULL LIMIT 1`,
    venue,
    key,
  )
  return open !== undefined
}

function breakBook(database: Database, { venue, key }: Gap): void {
  database.run('DELETE FROM unbroken WHERE venue = ? AND key = ?', venue, key)
}

function marketOf(database: Database, { venue, key, scope }: Gap): string | undefined {
  if (scope === 'market') return key
  const row = database.get(
    'SELECT market FROM stream WHERE venue = ? AND key = ? AND kind = ? LIMIT 1',
    venue,
    key,
    BOOK,
  )
  return row?.['market'] as string | undefined
}

const OUTAGE_COLUMNS = [
  'venue',
  'reason',
  'journal',
  'start',
  'finish',
  'books',
  'open',
  'held',
  'detail',
]

function tallyOutage(database: Database, before: Gap | undefined, after: Gap | undefined): void {
  const draft = database.draft('outages', () => new OutageDraft(database))
  const { venue, reason, journal } = (before ?? after)!
  const row = draft.find(venue, reason, journal)
  const books = (row?.books ?? 0) + (before === undefined ? 1 : 0) - (after === undefined ? 1 : 0)
  if (books <= 0) {
    draft.change(venue, reason, journal, undefined)
    return
  }
  const open = (row?.open ?? 0) - isOpen(before) + isOpen(after)
  draft.change(venue, reason, journal, {
    start: Math.min(row?.start ?? Infinity, (after ?? before)!.start),
    finish: Math.max(row?.finish ?? 0, after?.end ?? 0),
    books,
    open: Math.max(0, open),
    held: row === undefined ? heldBooks(database, venue) : row.held,
    detail: row?.detail ?? after?.detail ?? null,
  })
}

type OutageRow = {
  readonly start: number
  readonly finish: number
  readonly books: number
  readonly open: number
  readonly held: number
  readonly detail: string | null
}

/** The outages of one transaction: a start of the recorder ends the gaps of thousands of books of one. */
class OutageDraft {
  private readonly database: Database
  /** By venue, reason and journal record; undefined where there is none, or none any more. */
  private readonly rows = new Map<string, OutageRow | undefined>()
  private readonly changed = new Map<string, readonly [VenueId, GapReason, number]>()

  constructor(database: Database) {
    this.database = database
  }

  find(venue: VenueId, reason: GapReason, journal: number): OutageRow | undefined {
    const name = `${venue} ${reason} ${journal}`
    if (this.rows.has(name)) return this.rows.get(name)
    const found = this.database.get(
      `SELECT ${OUTAGE_COLUMNS.join(', ')}, sum FROM outage
       WHERE venue = ? AND reason = ? AND journal = ?`,
      venue,
      reason,
      journal,
    )
    const isSound = found !== undefined && holds('outage', OUTAGE_COLUMNS, found)
    const row = isSound ? (found as unknown as OutageRow) : undefined
    this.rows.set(name, row)
    return row
  }

  /** Undefined removes it. */
  change(venue: VenueId, reason: GapReason, journal: number, row: OutageRow | undefined): void {
    const name = `${venue} ${reason} ${journal}`
    this.rows.set(name, row)
    this.changed.set(name, [venue, reason, journal])
  }

  write(): boolean {
    if (this.changed.size === 0) return false
    for (const [name, key] of this.changed) {
      const row = this.rows.get(name)
      if (row === undefined) {
        const sql = 'DELETE FROM outage WHERE venue = ? AND reason = ? AND journal = ?'
        this.database.run(sql, ...key)
        continue
      }
      const { start, finish, books, open, held, detail } = row
      const values: Column[] = [...key, start, finish, books, open, held, detail]
      insertRow(this.database, 'INSERT OR REPLACE INTO outage', OUTAGE_COLUMNS, values)
    }
    this.changed.clear()
    return true
  }
}

function isOpen(gap: Gap | undefined): number {
  return gap !== undefined && gap.end === undefined ? 1 : 0
}

// The books that were observed before this gap.
function heldBooks(database: Database, venue: VenueId): number {
  const row = database.get('SELECT count(*) AS count FROM unbroken WHERE venue = ?', venue)
  return (row?.['count'] as number) + 1
}

/** The open gaps of a venue, by reason. */
export function countOpenGaps(
  database: Database,
  venue: VenueId,
): Partial<Record<GapReason, number>> {
  // Nearly all open gaps are those of markets that ended. Two ranges of the index leave them out; one query
  // with OR would read them all.
  const count = (reasons: string): Row[] =>
    database.all(
      `SELECT reason, count(*) AS count FROM gap INDEXED BY gap_open
       WHERE venue = ? AND finish IS NULL AND ${reasons} GROUP BY reason`,
      venue,
    )
  const rows = [...count("reason < 'market_closed'"), ...count("reason > 'market_closed'")]
  return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]))
}

// How long before a range an outage that reaches into it may have begun, unless it is still open.
const LONGEST = 30 * DAY_MICROS

/** Outages that touch [start, end), newest first. */
export function listIncidents(
  database: Database,
  query: { venue: VenueId; start: number; end: number; limit: number },
): Incident[] {
  const { venue, start, end, limit } = query
  const columns = OUTAGE_COLUMNS.join(', ')
  const rows = [
    ...database.all(
      `SELECT ${columns}, sum FROM outage INDEXED BY outage_by_start
       WHERE venue = ? AND start >= ? AND start < ? AND open = 0 AND finish > ?`,
      venue,
      start - LONGEST,
      end,
      start,
    ),
    ...database.all(
      `SELECT ${columns}, sum FROM outage INDEXED BY outage_open
       WHERE venue = ? AND open > 0 AND start < ?`,
      venue,
      end,
    ),
  ]
  const outages = rows.map(toOutage).sort((a, b) => a.start - b.start)
  const merged: Outage[] = []
  // Several sockets lost together are one outage.
  for (const one of outages) {
    const same = merged.findLast(({ reason }) => reason === one.reason)
    if (same === undefined || one.start >= same.end) {
      merged.push(one)
      continue
    }
    same.end = Math.max(same.end, one.end)
    same.books += one.books
    same.open += one.open
    same.held = Math.max(same.held, one.held)
    same.detail ??= one.detail
  }
  return merged
    .filter(({ reason, books, held }) => OWN_OUTAGES.has(reason) || books * 2 >= held)
    .toReversed()
    .slice(0, limit)
    .map(({ reason, start: begin, end: finish, books, detail }) => ({
      venue,
      reason,
      start: begin,
      ...(finish === Infinity ? {} : { end: finish }),
      books,
      ...(detail === undefined ? {} : { detail }),
    }))
}

type Outage = {
  readonly reason: GapReason
  readonly start: number
  end: number
  books: number
  open: number
  held: number
  detail: string | undefined
}

function toOutage(row: Row): Outage {
  checkRow('outage', OUTAGE_COLUMNS, row)
  const { start, finish, books, open, held } = row as Readonly<
    Record<'start' | 'finish' | 'books' | 'open' | 'held', number>
  >
  // A few books can stay away for reasons of their own: the outage is over for nine in ten.
  const isOver = open === 0 || open * 10 < books
  return {
    reason: row['reason'] as GapReason,
    start,
    end: isOver ? finish : Infinity,
    books,
    open,
    held,
    detail: (row['detail'] as string | null) ?? undefined,
  }
}
