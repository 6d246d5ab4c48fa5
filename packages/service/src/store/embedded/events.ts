import {
  eventIdOf,
  PriorbookError,
  type MarketEvent,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { StoredEvent } from '../store.ts'
import { isDamage } from './bodies.ts'
import type { Column, Database, Row } from './database.ts'
import { joinFamily, leaveFamily, readFamilies } from './families.ts'
import { saveLabels } from './labels.ts'
import { EVENT_TABLES } from './listed.ts'
import { checkRow, insertRow } from './row-sum.ts'
import { joinFields, NO_PLACE, saveWords, tagsOf } from './words.ts'

const EVENT_COLUMNS = [
  'id',
  'venue',
  'name',
  'family',
  'line',
  'open',
  'close',
  'markets',
  'live',
  'asset',
  'source',
  'facts',
  'text',
  'tags',
] as const

type EventRow = {
  readonly id: number
  readonly venue: VenueId
  readonly name: string
  readonly family: number
  readonly line: number | null
  readonly open: number
  readonly close: number | null
  readonly markets: number
  readonly live: number
  readonly asset: string
  readonly source: number
  readonly facts: string
  readonly text: string
  readonly tags: string
}

/** Reads the newest record of a market by its number. */
export type ReadRecord = (market: number) => MarketRecord

/** What a market gives to its event. */
export type EventShare = {
  readonly event: number | null
  readonly open: number
  readonly close: number | null
  /** 1 for an open market. */
  readonly live: number
}

/** The facts of an event that its markets repeat. */
type EventFacts = Pick<MarketRecord, 'category' | 'tags'> &
  Omit<MarketEvent, 'outcome'> & { readonly series?: string }

const READ_EVENTS = `SELECT ${EVENT_COLUMNS.join(', ')}, sum FROM event`

/** An event by its venue's id. */
export function readEvent(
  database: Database,
  venue: VenueId,
  eventId: string,
): StoredEvent | undefined {
  const row = findRow(database, venue, eventId)
  if (row === undefined) database.ensureWhole('event')
  return row === undefined ? undefined : toStored(row)
}

/** The events with these numbers, by number. */
export function readEvents(
  database: Database,
  ids: readonly number[],
): ReadonlyMap<number, StoredEvent> {
  const sql = `${READ_EVENTS} WHERE id IN (SELECT value FROM json_each(?))`
  const rows = database.all(sql, JSON.stringify(ids)).map(checked)
  return new Map(rows.map((row) => [row.id, toStored(row)]))
}

/** The numbers of the events with an id, by venue, and how many markets they have. */
export function findEventNumbers(
  database: Database,
  eventId: string,
): readonly { readonly id: number; readonly venue: VenueId; readonly markets: number }[] {
  return database.all(`${READ_EVENTS} WHERE name = ?`, eventId).map(checked)
}

/** The number of an event, or the one that it will have. */
export function findEventNumber(
  database: Database,
  venue: VenueId,
  eventId: string,
  known: number | null | undefined,
): number {
  // The event that the market leaves may be the last one, and its number is free only afterwards.
  return draftOf(database).numberOf(venue, eventId, known ?? 0)
}

/** Counts a market in its event; it is listed there already. The caller is in a write transaction. */
export function saveInEvent(
  database: Database,
  market: { readonly id: number; readonly record: MarketRecord },
  before: EventShare | undefined,
  after: EventShare & { readonly event: number },
): void {
  const { id, record } = market
  const draft = draftOf(database)
  const row = draft.find(after.event)
  if (row === undefined) {
    const { open, close, live } = after
    const counted = { open, close, live, markets: 1, asset: record.asset ?? '', source: id }
    draft.change({ id: after.event, ...counted, ...eventNamesOf(record) })
    return
  }
  const old = before?.event === row.id ? before : undefined
  const isFirst = old !== undefined && old.open === row.open && after.open > old.open
  const isLast = old !== undefined && old.close === row.close && after.close !== null
  const isShorter = isLast && after.close < (old.close ?? Infinity)
  const extent = isFirst || isShorter ? extentOf(database, row.id) : row
  const isSource = id >= row.source
  draft.change({
    ...row,
    ...(isSource ? eventNamesOf(record) : {}),
    source: Math.max(id, row.source),
    open: Math.min(extent.open, after.open),
    close: later(extent.close, after.close),
    markets: row.markets + (old === undefined ? 1 : 0),
    live: row.live + after.live - (old?.live ?? 0),
    asset: row.asset === (record.asset ?? '') ? row.asset : commonAsset(database, row.id),
  })
}

/** Counts a market no longer that has left an event; the caller is in a write transaction. */
export function leaveEvent(database: Database, event: number, readRecord: ReadRecord): void {
  const draft = draftOf(database)
  const row = draft.find(event)
  if (row === undefined) throw new PriorbookError('corrupt_row', `event ${event} is missing`)
  const { open, close, markets, live, source } = extentOf(database, event)
  if (source === null) {
    draft.remove(row)
    return
  }
  const facts = source === row.source ? {} : namesFrom(readRecord, source)
  const asset = commonAsset(database, event)
  draft.change({ ...row, ...facts, open, close, markets, live, source, asset })
}

// A damaged record must stop neither a recorder nor retention: the event keeps the facts it has.
function namesFrom(readRecord: ReadRecord, market: number): Partial<EventNames> {
  try {
    return eventNamesOf(readRecord(market))
  } catch (error) {
    if (!isDamage(error)) throw error
    return {}
  }
}

type EventNames = Pick<EventRow, 'venue' | 'name' | 'facts' | 'text' | 'tags'>

/** What the record of one market says about its event. */
export function eventNamesOf(record: MarketRecord): EventNames {
  const { venue, event = {}, category, tags, seriesTicker: series } = record
  const { outcome: _, ...shared } = event
  const facts: EventFacts = {
    ...shared,
    ...(category === undefined ? {} : { category }),
    ...(tags === undefined ? {} : { tags }),
    ...(series === undefined ? {} : { series }),
  }
  const name = eventIdOf(record)!
  // An event without a title is found by that of its newest market.
  const text = joinFields([name, event.title ?? record.title, event.slug, series])
  return { venue, name, facts: JSON.stringify(facts), text, tags: tagsOf(record) }
}

type NewRow = Omit<EventRow, 'family' | 'line'>

/** The name of the draft of events. */
export const EVENT_DRAFT = 'events'

function draftOf(database: Database): EventDraft {
  return database.draft(EVENT_DRAFT, () => new EventDraft(database))
}

/** The events of one transaction: a list of markets names an event once for each of its markets. */
class EventDraft {
  private readonly database: Database
  /** Events as they are stored, and as this transaction changes them. */
  private readonly stored = new Map<number, EventRow | undefined>()
  private readonly changed = new Map<number, NewRow>()
  private readonly numbers = new Map<string, number>()
  private lastId: number | undefined

  constructor(database: Database) {
    this.database = database
  }

  /** The number of an event, or for a new one the next that is above `known`. */
  numberOf(venue: VenueId, eventId: string, known: number): number {
    const drafted = this.numbers.get(nameText(venue, eventId))
    if (drafted !== undefined) return drafted
    const found = this.database.get(FIND_NUMBER, eventId, venue)?.['id'] as number | undefined
    if (found !== undefined) return found
    this.lastId ??= this.database.get(LAST_NUMBER)!['id'] as number
    return Math.max(this.lastId, known) + 1
  }

  find(id: number): NewRow | undefined {
    return this.changed.get(id) ?? this.findStored(id)
  }

  change(row: NewRow): void {
    this.changed.set(row.id, row)
    this.numbers.set(nameText(row.venue, row.name), row.id)
    if (this.lastId !== undefined) this.lastId = Math.max(this.lastId, row.id)
  }

  /** Removes an event that has no market left. */
  remove({ id, venue, name }: NewRow): void {
    const { database } = this
    const row = this.findStored(id)
    this.changed.delete(id)
    this.stored.set(id, undefined)
    this.numbers.delete(nameText(venue, name))
    if (row === undefined) return
    leaveFamily(database, row.family)
    leaveFamily(database, row.line)
    saveWords(database, EVENT_TABLES, id, row, NO_PLACE)
    saveLabels(database, EVENT_TABLES, id, row, undefined)
    database.run('DELETE FROM event WHERE id = ?', id)
  }

  write(): boolean {
    if (this.changed.size === 0) return false
    for (const [id, row] of this.changed) {
      this.stored.set(id, saveEvent(this.database, this.findStored(id), row))
    }
    this.changed.clear()
    return true
  }

  private findStored(id: number): EventRow | undefined {
    if (!this.stored.has(id)) this.stored.set(id, findById(this.database, id))
    return this.stored.get(id)
  }
}

const FIND_NUMBER = 'SELECT id FROM event WHERE name = ? AND venue = ?'
const LAST_NUMBER = 'SELECT coalesce(max(id), 0) AS id FROM event'

function nameText(venue: VenueId, eventId: string): string {
  return `${venue} ${eventId}`
}

function saveEvent(database: Database, before: EventRow | undefined, after: NewRow): EventRow {
  const { category = '', series } = JSON.parse(after.facts) as EventFacts
  const shared = {
    venue: after.venue,
    status: after.live > 0 ? 'open' : '',
    category,
    endless: after.close === null ? 1 : 0,
    span: '',
  }
  const length = after.close === null ? 0 : Math.max(0, after.close - after.open)
  const facets = { ...shared, kind: EVENT_TABLES.facets, asset: after.asset, series: '' }
  const family = joinFamily(database, facets, length, before?.family ?? null)
  let line: number | null = null
  const oldLine = before?.line ?? null
  if (series === undefined) leaveFamily(database, oldLine)
  else {
    const ofSeries = { ...shared, kind: EVENT_TABLES.series, asset: '', series }
    line = joinFamily(database, ofSeries, length, oldLine)
  }
  const row: EventRow = { ...after, family, line }
  // Most revisions change only what a market has of its own, such as its volume.
  if (before !== undefined && EVENT_COLUMNS.every((name) => before[name] === row[name])) return row
  saveWords(database, EVENT_TABLES, row.id, before, row)
  saveLabels(database, EVENT_TABLES, row.id, before, row)
  const values: Column[] = EVENT_COLUMNS.map((name) => row[name])
  insertRow(database, 'INSERT OR REPLACE INTO event', EVENT_COLUMNS, values)
  return row
}

type Extent = Pick<EventRow, 'open' | 'close' | 'markets' | 'live'> & {
  readonly source: number | null
}

function extentOf(database: Database, event: number): Extent {
  const sql = `SELECT min(open) AS open, iif(count(close) = count(*), max(close), NULL) AS close,
      count(*) AS markets, total(live) AS live, max(id) AS source
    FROM listing INDEXED BY listing_event WHERE event = ?`
  return database.get(sql, event) as unknown as Extent
}

// The asset of all markets of an event; empty where they differ.
function commonAsset(database: Database, event: number): string {
  const families = readFamilies(database, familiesOfEvent(database, event))
  const assets = new Set(families.map(({ asset }) => asset))
  return assets.size === 1 ? [...assets][0]! : ''
}

/** The families that the markets of an event are in. An event may have many markets, but few families. */
export function familiesOfEvent(database: Database, event: number): number[] {
  const sql = `SELECT min(family) AS family FROM listing INDEXED BY listing_event
    WHERE event = ? AND family > ?`
  const families: number[] = []
  for (let last = 0; ;) {
    const next = database.get(sql, event, last)!['family'] as number | null
    if (next === null) return families
    families.push(next)
    last = next
  }
}

// A market without a close time may go on after all others.
function later(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(a, b)
}

function findRow(database: Database, venue: VenueId, eventId: string): EventRow | undefined {
  const row = database.get(`${READ_EVENTS} WHERE name = ? AND venue = ?`, eventId, venue)
  return row === undefined ? undefined : checked(row)
}

function findById(database: Database, id: number): EventRow | undefined {
  const row = database.get(`${READ_EVENTS} WHERE id = ?`, id)
  return row === undefined ? undefined : checked(row)
}

function checked(row: Row): EventRow {
  checkRow('event', EVENT_COLUMNS, row)
  return row as unknown as EventRow
}

function toStored(row: EventRow): StoredEvent {
  const { venue, name: eventId, open, close, markets, live, asset, facts } = row
  return {
    venue,
    eventId,
    ...(JSON.parse(facts) as EventFacts),
    ...(asset === '' ? {} : { asset }),
    markets,
    openMarkets: live,
    firstOpen: open,
    ...(close === null ? {} : { lastClose: close }),
  }
}
