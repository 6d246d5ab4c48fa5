import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { Column, Database, Row } from './database.ts'
import { checkRow, insertRow } from './row-sum.ts'

const FAMILY_COLUMNS = [
  'id',
  'kind',
  'venue',
  'asset',
  'span',
  'series',
  'status',
  'endless',
  'longest',
  'markets',
  'category',
]

/** Markets or events that share venue, category, status and either asset and window or the series. */
export type Family = {
  readonly id: number
  readonly venue: VenueId
  readonly asset: string
  readonly span: string
  readonly series: string
  readonly category: string
  readonly status: string
  /** True where the markets have no close time. */
  readonly isEndless: boolean
  /** The longest time from open to close of any market that was ever in it. */
  readonly longest: number
  /** How many markets it has. */
  readonly markets: number
}

/** What the markets of a family share. */
export type FamilyName = {
  readonly kind: number
  readonly venue: string
  readonly asset: string
  readonly span: string
  readonly series: string
  readonly category: string
  readonly status: string
  readonly endless: number
}

// The partial indexes on the series of a kind.
const BY_SERIES: Readonly<Record<number, string>> = { 1: 'family_by_series', 3: 'family_of_events' }

/** The families of a kind; of one series where it is named. */
export function listFamilies(database: Database, kind: number, series?: string): Family[] {
  const columns = `${FAMILY_COLUMNS.join(', ')}, sum`
  const rows =
    series === undefined
      ? database.all(`SELECT ${columns} FROM family WHERE kind = ? AND markets > 0`, kind)
      : database.all(
          `SELECT ${columns} FROM family INDEXED BY ${BY_SERIES[kind]!}
           WHERE series = ? AND kind = ${kind} AND markets > 0`,
          series,
        )
  return rows.map(toFamily)
}

/** The families with these numbers. */
export function readFamilies(database: Database, ids: readonly number[]): Family[] {
  const columns = `${FAMILY_COLUMNS.join(', ')}, sum`
  const sql = `SELECT ${columns} FROM family WHERE id IN (SELECT value FROM json_each(?))`
  return database.all(sql, JSON.stringify(ids)).map(toFamily)
}

function toFamily(row: Row): Family {
  checkRow('family', FAMILY_COLUMNS, row)
  return {
    id: row['id'] as number,
    venue: row['venue'] as VenueId,
    asset: row['asset'] as string,
    span: row['span'] as string,
    series: row['series'] as string,
    category: row['category'] as string,
    status: row['status'] as string,
    isEndless: row['endless'] === 1,
    longest: row['longest'] as number,
    markets: row['markets'] as number,
  }
}

/** Moves a market from one family to another; returns the new one. */
export function joinFamily(
  database: Database,
  name: FamilyName,
  length: number,
  before: Column,
): number {
  const row = database.get(
    `SELECT ${FAMILY_COLUMNS.join(', ')}, sum FROM family
     WHERE kind = ? AND venue = ? AND asset = ? AND span = ? AND series = ? AND category = ?
     AND status = ? AND endless = ?`,
    name.kind,
    name.venue,
    name.asset,
    name.span,
    name.series,
    name.category,
    name.status,
    name.endless,
  )
  if (row !== undefined) checkRow('family', FAMILY_COLUMNS, row)
  const id = (row?.['id'] as number | undefined) ?? nextId(database)
  const longest = (row?.['longest'] as number | undefined) ?? 0
  const isNew = before !== id
  if (isNew || length > longest) {
    const markets = ((row?.['markets'] as number | undefined) ?? 0) + (isNew ? 1 : 0)
    saveFamily(database, { ...name, id, longest: Math.max(longest, length), markets })
  }
  if (isNew) leaveFamily(database, before)
  return id
}

/** Takes a market out of its family, where it has one. */
export function leaveFamily(database: Database, id: Column): void {
  if (id === null) return
  const row = database.get(`SELECT ${FAMILY_COLUMNS.join(', ')}, sum FROM family WHERE id = ?`, id)
  if (row === undefined) {
    throw new PriorbookError('corrupt_row', `family ${String(id)} is missing`)
  }
  checkRow('family', FAMILY_COLUMNS, row)
  saveFamily(database, { ...row, markets: Math.max(0, (row['markets'] as number) - 1) })
}

function saveFamily(database: Database, row: Readonly<Record<string, Column>>): void {
  const values = FAMILY_COLUMNS.map((name) => row[name]!)
  insertRow(database, 'INSERT OR REPLACE INTO family', FAMILY_COLUMNS, values)
}

function nextId(database: Database): number {
  return (database.get('SELECT coalesce(max(id), 0) AS id FROM family')!['id'] as number) + 1
}
