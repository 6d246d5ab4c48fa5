import { eventIdOf, type MarketRecord } from '@priorbook/sdk/domain'
import type { Column, Database } from './database.ts'
import {
  findEventNumber,
  leaveEvent,
  saveInEvent,
  type EventShare,
  type ReadRecord,
} from './events.ts'
import { joinFamily, leaveFamily } from './families.ts'
import { saveLabels, type LabelPlace } from './labels.ts'
import { MARKET_TABLES } from './listed.ts'
import { NO_PLACE, saveWords, searchTextOf, tagsOf, type WordPlace } from './words.ts'

/** What lists keep of a market, with its number and its id. */
type Listing = Readonly<Record<(typeof COLUMNS)[number], Column>> &
  WordPlace &
  LabelPlace &
  EventShare & { readonly line: number | null }

const COLUMNS = [
  'family',
  'line',
  'open',
  'close',
  'volume',
  'liquidity',
  'text',
  'tags',
  'event',
  'live',
] as const

const READ_BEFORE = `SELECT ${COLUMNS.join(', ')} FROM listing WHERE id = ?`

/** Writes the sort values of a market; the caller is in a write transaction. */
export function saveListing(
  database: Database,
  id: number,
  record: MarketRecord,
  sortTime: number,
  readRecord: ReadRecord,
): void {
  const before = database.get(READ_BEFORE, id) as Listing | undefined
  const close = record.closeTime ?? null
  const { family, line } = joinFamilies(database, record, sortTime, before)
  const eventId = eventIdOf(record)
  const event =
    eventId === undefined ? null : findEventNumber(database, record.venue, eventId, before?.event)
  const live = record.status === 'open' ? 1 : 0
  const text = searchTextOf(record)
  const tags = tagsOf(record)
  const volume = numberOf(record.volume)
  const liquidity = numberOf(record.liquidity)
  saveWords(database, MARKET_TABLES, id, before, { text, open: sortTime })
  const place = { tags, open: sortTime, family, close, volume, liquidity }
  saveLabels(database, MARKET_TABLES, id, before, place)
  const row: Listing = { ...place, line, text, event, live }
  writeListing(database, id, record.marketId, before, row)
  if (before !== undefined && before.event !== null && before.event !== event) {
    leaveEvent(database, before.event, readRecord)
  }
  if (event !== null) {
    saveInEvent(database, { id, record }, before, { event, open: sortTime, close, live })
  }
}

// Only what has changed is written: most revisions change one of the numbers, and each column is in several indexes.
function writeListing(
  database: Database,
  id: number,
  name: string,
  before: Listing | undefined,
  row: Listing,
): void {
  if (before === undefined) {
    const places = '?, '.repeat(COLUMNS.length + 1)
    const sql = `INSERT INTO listing (id, name, ${COLUMNS.join(', ')}) VALUES (${places}?)`
    database.run(sql, id, name, ...COLUMNS.map((column) => row[column]))
    return
  }
  const changed = COLUMNS.filter((column) => before[column] !== row[column])
  if (changed.length === 0) return
  const sql = `UPDATE listing SET ${changed.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`
  database.run(sql, ...changed.map((column) => row[column]), id)
}

/** Takes a market off the lists; the caller is in a write transaction. */
export function removeListing(database: Database, id: number, readRecord: ReadRecord): void {
  const before = database.get(READ_BEFORE, id) as Listing | undefined
  if (before === undefined) return
  saveWords(database, MARKET_TABLES, id, before, NO_PLACE)
  saveLabels(database, MARKET_TABLES, id, before, undefined)
  leaveFamily(database, before.family)
  leaveFamily(database, before.line)
  database.run('DELETE FROM listing WHERE id = ?', id)
  if (before.event !== null) leaveEvent(database, before.event, readRecord)
}

// A market has a family by asset and window, and one by series where it has a series.
function joinFamilies(
  database: Database,
  record: MarketRecord,
  sortTime: number,
  before: Listing | undefined,
): { readonly family: number; readonly line: number | null } {
  const { closeTime, seriesTicker: series, asset = '', window: span = '' } = record
  const shared = {
    venue: record.venue,
    status: record.status ?? '',
    category: record.category ?? '',
    endless: closeTime === undefined ? 1 : 0,
  }
  const length = closeTime === undefined ? 0 : Math.max(0, closeTime - sortTime)
  const facets = { ...shared, kind: MARKET_TABLES.facets, asset, span, series: '' }
  const family = joinFamily(database, facets, length, before?.family ?? null)
  const oldLine = before?.line ?? null
  if (series === undefined) {
    leaveFamily(database, oldLine)
    return { family, line: null }
  }
  const named = { ...shared, kind: MARKET_TABLES.series, asset: '', span: '', series }
  return { family, line: joinFamily(database, named, length, oldLine) }
}

/** A decimal as lists sort it; null where there is none. */
export function numberOf(text: string | undefined): number | null {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) ? value : null
}
