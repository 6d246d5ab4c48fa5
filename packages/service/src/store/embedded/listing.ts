import { PriorbookError, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import type { Column, Database, Row } from './database.ts'
import { checkRow, insertRow } from './row-sum.ts'
import { saveWords, searchTextOf, type WordPlace } from './words.ts'

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
]

/** Families of markets by asset and window, and by series. */
export const FAMILY_KIND = { facets: 0, series: 1 } as const

/** Markets that share venue, status and either asset and window or the series. */
export type Family = {
  readonly id: number
  readonly venue: VenueId
  readonly asset: string
  readonly span: string
  readonly series: string
  readonly status: string
  /** True where the markets have no close time. */
  readonly isEndless: boolean
  /** The longest time from open to close of any market that was ever in it. */
  readonly longest: number
  /** How many markets it has. */
  readonly markets: number
}

/** The columns that lists are sorted by. */
export type ListingColumn = 'open' | 'close' | 'volume' | 'liquidity'

/** Writes the sort values of a market; the caller is in a write transaction. */
export function saveListing(
  database: Database,
  id: number,
  record: MarketRecord,
  sortTime: number,
): void {
  const before = database.get('SELECT family, line, open, text FROM listing WHERE id = ?', id)
  const close = record.closeTime ?? null
  const shared = {
    venue: record.venue,
    status: record.status ?? '',
    endless: close === null ? 1 : 0,
  }
  const length = close === null ? 0 : Math.max(0, close - sortTime)
  const { asset = '', window: span = '', seriesTicker: series } = record
  const facets = { ...shared, kind: FAMILY_KIND.facets, asset, span, series: '' }
  const family = join(database, facets, length, before?.['family'] ?? null)
  const named = { ...shared, kind: FAMILY_KIND.series, asset: '', span: '', series: series ?? '' }
  const oldLine = before?.['line'] ?? null
  const line = series === undefined ? null : join(database, named, length, oldLine)
  if (series === undefined && oldLine !== null) leave(database, oldLine as number)
  const text = searchTextOf(record)
  saveWords(database, id, before as WordPlace | undefined, { text, open: sortTime })
  database.run(
    `INSERT INTO listing (id, family, line, name, open, close, volume, liquidity, text)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET family = excluded.family, line = excluded.line,
     open = excluded.open, close = excluded.close, volume = excluded.volume,
     liquidity = excluded.liquidity, text = excluded.text`,
    id,
    family,
    line,
    record.marketId,
    sortTime,
    close,
    numberOf(record.volume),
    numberOf(record.liquidity),
    text,
  )
}

/** Takes a market off the lists; the caller is in a write transaction. */
export function removeListing(database: Database, id: number): void {
  const listed = database.get('SELECT family, line, open, text FROM listing WHERE id = ?', id)
  if (listed === undefined) return
  saveWords(database, id, listed as unknown as WordPlace, { text: '', open: 0 })
  leave(database, listed['family'] as number)
  if (listed['line'] !== null) leave(database, listed['line'] as number)
  database.run('DELETE FROM listing WHERE id = ?', id)
}

/** The families of a kind; of one series where it is named. */
export function listFamilies(
  database: Database,
  kind: (typeof FAMILY_KIND)[keyof typeof FAMILY_KIND],
  series?: string,
): Family[] {
  const columns = `${FAMILY_COLUMNS.join(', ')}, sum`
  const rows =
    series === undefined
      ? database.all(`SELECT ${columns} FROM family WHERE kind = ? AND markets > 0`, kind)
      : database.all(
          `SELECT ${columns} FROM family INDEXED BY family_by_series
           WHERE series = ? AND kind = 1 AND markets > 0`,
          series,
        )
  return rows.map(toFamily)
}

function toFamily(row: Row): Family {
  checkRow('family', FAMILY_COLUMNS, row)
  return {
    id: row['id'] as number,
    venue: row['venue'] as VenueId,
    asset: row['asset'] as string,
    span: row['span'] as string,
    series: row['series'] as string,
    status: row['status'] as string,
    isEndless: row['endless'] === 1,
    longest: row['longest'] as number,
    markets: row['markets'] as number,
  }
}

type FamilyName = {
  readonly kind: number
  readonly venue: string
  readonly asset: string
  readonly span: string
  readonly series: string
  readonly status: string
  readonly endless: number
}

// Moves a market from one family to another; returns the new one.
function join(database: Database, name: FamilyName, length: number, before: Column): number {
  const row = database.get(
    `SELECT ${FAMILY_COLUMNS.join(', ')}, sum FROM family
     WHERE kind = ? AND venue = ? AND asset = ? AND span = ? AND series = ? AND status = ?
     AND endless = ?`,
    name.kind,
    name.venue,
    name.asset,
    name.span,
    name.series,
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
  if (isNew && before !== null) leave(database, before as number)
  return id
}

function leave(database: Database, id: number): void {
  const row = database.get(`SELECT ${FAMILY_COLUMNS.join(', ')}, sum FROM family WHERE id = ?`, id)
  if (row === undefined) throw new PriorbookError('corrupt_row', `family ${id} is missing`)
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

function numberOf(text: string | undefined): number | null {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) ? value : null
}
