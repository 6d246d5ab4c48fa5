import { eventIdOf, type MarketRecord } from '@priorbook/sdk/domain'
import type { Database } from './database.ts'
import {
  findEventNumber,
  leaveEvent,
  saveInEvent,
  type EventShare,
  type ReadRecord,
} from './events.ts'
import { joinFamily, leaveFamily } from './families.ts'
import { MARKET_TABLES } from './listed.ts'
import { NO_PLACE, saveWords, searchTextOf, tagsOf, type WordPlace } from './words.ts'

/** What is kept of a market before it is listed again. */
type Before = WordPlace &
  EventShare & { readonly family: number; readonly line: number | null; readonly open: number }

const READ_BEFORE =
  'SELECT family, line, open, close, event, live, text, tags FROM listing WHERE id = ?'

/** Writes the sort values of a market; the caller is in a write transaction. */
export function saveListing(
  database: Database,
  id: number,
  record: MarketRecord,
  sortTime: number,
  readRecord: ReadRecord,
): void {
  const before = database.get(READ_BEFORE, id) as Before | undefined
  const close = record.closeTime ?? null
  const { family, line } = joinFamilies(database, record, sortTime, before)
  const eventId = eventIdOf(record)
  const event =
    eventId === undefined ? null : findEventNumber(database, record.venue, eventId, before?.event)
  const live = record.status === 'open' ? 1 : 0
  const text = searchTextOf(record)
  const tags = tagsOf(record)
  saveWords(database, MARKET_TABLES, id, before, { text, tags, open: sortTime })
  database.run(
    `INSERT INTO listing (id, family, line, name, open, close, volume, liquidity, text, tags, event, live)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET family = excluded.family, line = excluded.line,
     open = excluded.open, close = excluded.close, volume = excluded.volume,
     liquidity = excluded.liquidity, text = excluded.text, tags = excluded.tags,
     event = excluded.event, live = excluded.live`,
    id,
    family,
    line,
    record.marketId,
    sortTime,
    close,
    numberOf(record.volume),
    numberOf(record.liquidity),
    text,
    tags,
    event,
    live,
  )
  if (before !== undefined && before.event !== null && before.event !== event) {
    leaveEvent(database, before.event, readRecord)
  }
  if (event !== null) {
    saveInEvent(database, { id, record }, before, { event, open: sortTime, close, live })
  }
}

/** Takes a market off the lists; the caller is in a write transaction. */
export function removeListing(database: Database, id: number, readRecord: ReadRecord): void {
  const before = database.get(READ_BEFORE, id) as Before | undefined
  if (before === undefined) return
  saveWords(database, MARKET_TABLES, id, before, NO_PLACE)
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
  before: Before | undefined,
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

function numberOf(text: string | undefined): number | null {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) ? value : null
}
