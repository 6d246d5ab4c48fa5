import {
  eventIdOf,
  PriorbookError,
  type MarketRecord,
  type MarketRevision,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { MarketPage, MarketQuery, MarketState } from '../store.ts'
import { isDamage } from './bodies.ts'
import type { Column, Database, Row } from './database.ts'
import { EVENT_DRAFT } from './events.ts'
import { KeptRecords } from './kept-records.ts'
import { MARKET_TABLES, type Listed } from './listed.ts'
import { chooseListed } from './listed-facts.ts'
import { takePage } from './list-page.ts'
import { saveListing } from './listing.ts'
import { findCut } from './revision-cut.ts'
import { packRevision, unpackRevision, type Revision } from './revision-body.ts'
import { checkColumns, checkRow, insertRow } from './row-sum.ts'

// Each revision is compressed with the last full one as its dictionary, and every 32nd is full again.
const WHOLE_EVERY = 32

const MARKET_COLUMNS = [
  'id',
  'venue',
  'market',
  'sort_time',
  'close_time',
  'series',
  'event',
  'asset',
  'span',
  'status',
  'revisions',
]
const REVISIONS = MARKET_COLUMNS.indexOf('revisions')
const REVISION_COLUMNS = ['market', 'ordinal', 'known_at', 'journal', 'body']
const MARKETS_BY_ID = `SELECT ${MARKET_COLUMNS.join(', ')}, sum FROM market
  WHERE id IN (SELECT value FROM json_each(?))`
const decoder = new TextDecoder()
const REVISION_AT = `SELECT ${REVISION_COLUMNS.join(', ')}, sum FROM revision WHERE market = ? AND ordinal = ?`
// A version and the one that it is compressed with are at most 31 short rows apart. To pass them takes less
// than to find the second one: rows of this table are long, and SQLite reads all of each that it compares.
const REVISION_AND_WHOLE = `SELECT ${REVISION_COLUMNS.join(', ')}, sum FROM revision
  WHERE market = ? AND ordinal BETWEEN ? AND ? AND +ordinal IN (?, ?) ORDER BY ordinal`

/**
 * Adds a revision of a market, unless it equals the last one; true when it was added. The caller is in
 * a write transaction.
 */
export function appendRevision(database: Database, revision: MarketRevision): boolean {
  const { record } = revision
  const market = findMarket(database, record.venue, record.marketId)
  const count = (market?.['revisions'] as number | undefined) ?? 0
  const id = (market?.['id'] as number | undefined) ?? nextMarketId(database)
  const text = JSON.stringify(record)
  if (count > 0) {
    const last = readRevision(database, id, count)
    if (last.journal >= revision.journal || last.text === text) return false
  }
  const ordinal = count + 1
  const body = packRevision(text, dictionaryOf(database, id, ordinal))
  const values: Column[] = [id, ordinal, revision.received, revision.journal, body]
  insertRow(database, 'INSERT INTO revision', REVISION_COLUMNS, values)
  saveMarket(database, id, record, ordinal, revision.received, market)
  return true
}

/** A market as known at a time, or as known last. */
export function readMarket(
  database: Database,
  venue: VenueId,
  marketId: string,
  knownAt?: number,
): MarketState | undefined {
  const market = findMarket(database, venue, marketId)
  if (market === undefined) return undefined
  const id = market['id'] as number
  if (knownAt === undefined)
    return toState(readRevision(database, id, market['revisions'] as number))
  const row = database.get(
    'SELECT max(ordinal) AS ordinal FROM revision WHERE market = ? AND known_at <= ?',
    id,
    knownAt,
  )
  const ordinal = (row?.['ordinal'] as number | null) ?? 0
  // Retention removed the version of that time.
  if (ordinal === 0 && findCut(database, id) !== undefined) return undefined
  // Detects a damaged index on time: the next revision must be later.
  if (ordinal < (market['revisions'] as number)) {
    const next = revisionRow(database, id, ordinal + 1)
    if (next.knownAt <= knownAt) {
      throw new PriorbookError('corrupt_row', `revision ${ordinal + 1} of ${marketId} is misplaced`)
    }
  }
  return ordinal === 0 ? undefined : toState(readRevision(database, id, ordinal))
}

/** The history of a market record, oldest first. */
export function listRevisions(
  database: Database,
  venue: VenueId,
  marketId: string,
  page: { after?: number | undefined; limit: number },
): MarketState[] {
  const market = findMarket(database, venue, marketId)
  if (market === undefined) return []
  const states: MarketState[] = []
  const last = market['revisions'] as number
  const kept = findCut(database, market['id'] as number) ?? 1
  const first = Math.max((page.after ?? 0) + 1, kept)
  for (let ordinal = first; ordinal <= last && states.length < page.limit; ordinal++) {
    states.push(toState(readRevision(database, market['id'] as number, ordinal)))
  }
  return states
}

/** Markets that match, in the order of the query. */
export function listMarkets(database: Database, query: MarketQuery): MarketPage {
  for (const table of ['market', 'listing', 'family']) database.ensureWhole(table)
  const { found, ...page } = takePage(database, query, MARKET_TABLES)
  const chosen = query.choose === undefined ? found : chooseListed(database, found, query.choose)
  return { markets: readListed(database, chosen), ...page }
}

type ListedState = MarketPage['markets'][number]

function readListed(database: Database, found: readonly Listed[]): ListedState[] {
  const rows = database.columns(MARKETS_BY_ID, JSON.stringify(found.map(({ id }) => id)))
  const rowOf = new Map(rows.map((row) => [row[0], row]))
  return found.map(({ id, name, venue, value }) => {
    const row = rowOf.get(id) ?? []
    const [, ownVenue, market, sortTime] = row
    if (market !== name || ownVenue !== venue) {
      throw new PriorbookError('corrupt_row', `the list of markets is damaged at ${name}`)
    }
    checkColumns('market', row)
    const state = readListedState(database, id, row[REVISIONS] as number)
    return { ...state, sortTime: sortTime as number, sortValue: value }
  })
}

// To read and unpack a record takes longer than everything else of a list.
const listedRecords = new WeakMap<Database, KeptRecords>()

function readListedState(database: Database, market: number, ordinal: number): MarketState {
  let records = listedRecords.get(database)
  if (records === undefined) listedRecords.set(database, (records = new KeptRecords()))
  const kept = records.get(market, ordinal)
  if (kept !== undefined) return toState(kept)
  const revision = readRevision(database, market, ordinal)
  records.put(market, revision)
  return toState(revision)
}

function readRevision(database: Database, market: number, ordinal: number): Revision {
  const base = wholeAtOrBefore(ordinal)
  const rows = database.columns(REVISION_AND_WHOLE, market, base, ordinal, base, ordinal)
  const { body, ...row } = checkRevision(rows.at(-1), market, ordinal)
  const dictionary =
    rows.length === 2
      ? unpackRevision(checkRevision(rows[0], market, base).body)
      : dictionaryOf(database, market, ordinal)
  return { ...row, text: decoder.decode(unpackRevision(body, dictionary)) }
}

// The last full version before a version, which it is compressed with; none where it is full itself.
function dictionaryOf(database: Database, market: number, ordinal: number): Uint8Array | undefined {
  const base = wholeAtOrBefore(ordinal)
  if (base === ordinal) return undefined
  // Where retention removed it, the first version that is left is full.
  const first = Math.max(base, findCut(database, market) ?? 0)
  if (first === ordinal) return undefined
  return unpackRevision(revisionRow(database, market, first).body)
}

/** The last place at or before a version where versions are stored whole. */
export function wholeAtOrBefore(ordinal: number): number {
  return ordinal - ((ordinal - 1) % WHOLE_EVERY)
}

/** Stores a version of a market whole, so that those before it can go; in a write transaction. */
export function storeWhole(database: Database, market: number, ordinal: number): void {
  const { knownAt, journal, text } = readRevision(database, market, ordinal)
  const values: Column[] = [market, ordinal, knownAt, journal, packRevision(text)]
  insertRow(database, 'INSERT OR REPLACE INTO revision', REVISION_COLUMNS, values)
}

/** A version of a market's record as it is stored. */
type PackedRevision = Omit<Revision, 'text'> & { readonly body: Uint8Array }

function revisionRow(database: Database, market: number, ordinal: number): PackedRevision {
  const [row] = database.columns(REVISION_AT, market, ordinal)
  return checkRevision(row, market, ordinal)
}

// The columns of a revision and its sum.
function checkRevision(
  row: readonly Column[] | undefined,
  market: number,
  ordinal: number,
): PackedRevision {
  if (row?.[1] !== ordinal) {
    throw new PriorbookError('corrupt_row', `revision ${ordinal} of market ${market} is missing`)
  }
  checkColumns('revision', row)
  const [, , knownAt, journal, body] = row
  return {
    ordinal,
    knownAt: knownAt as number,
    journal: journal as number,
    body: body as Uint8Array,
  }
}

function toState(revision: Revision): MarketState {
  return {
    record: JSON.parse(revision.text) as MarketRecord,
    knownAt: revision.knownAt,
    revision: revision.ordinal,
    journal: revision.journal,
  }
}

function findMarket(database: Database, venue: string, market: string): Row | undefined {
  const row = database.get(
    `SELECT ${MARKET_COLUMNS.join(', ')}, sum FROM market WHERE venue = ? AND market = ?`,
    venue,
    market,
  )
  if (row === undefined) {
    database.ensureWhole('market')
    return undefined
  }
  checkRow('market', MARKET_COLUMNS, row)
  if (row['venue'] !== venue || row['market'] !== market) {
    throw new PriorbookError('corrupt_row', `the index of markets is damaged at ${market}`)
  }
  return row
}

/** The newest record of a market, by its number. */
export function readRecord(database: Database, id: number): MarketRecord {
  const row = database.get('SELECT revisions FROM market WHERE id = ?', id)
  return toState(readRevision(database, id, Number(row?.['revisions'] ?? 0))).record
}

function nextMarketId(database: Database): number {
  return (database.get('SELECT coalesce(max(id), 0) AS id FROM market')!['id'] as number) + 1
}

function saveMarket(
  database: Database,
  id: number,
  record: MarketRecord,
  revisions: number,
  received: number,
  before: Row | undefined,
): void {
  // The sort position: the open time, else the received time of the first revision.
  const sortTime = record.openTime ?? (before?.['sort_time'] as number | undefined) ?? received
  const values: Column[] = [
    id,
    record.venue,
    record.marketId,
    sortTime,
    record.closeTime ?? null,
    record.seriesTicker ?? null,
    eventIdOf(record) ?? null,
    record.asset ?? null,
    record.window ?? null,
    record.status ?? null,
    revisions,
  ]
  insertRow(database, 'INSERT OR REPLACE INTO market', MARKET_COLUMNS, values)
  saveListing(database, id, record, sortTime, (market) => readRecord(database, market))
}

// Markets of one step.
const RELISTED = 500

/**
 * Lists some markets after a number again, from their newest revisions; damaged ones are left out. Returns
 * the last number, undefined after the last market.
 */
export function relistMarkets(database: Database, after: number): number | undefined {
  const rows = database.all(
    `SELECT ${MARKET_COLUMNS.join(', ')}, sum FROM market WHERE id > ? ORDER BY id LIMIT ?`,
    after,
    RELISTED,
  )
  for (const row of rows) {
    const id = row['id'] as number
    try {
      checkRow('market', MARKET_COLUMNS, row)
      const { record } = toState(readRevision(database, id, row['revisions'] as number))
      const sortTime = row['sort_time'] as number
      saveListing(database, id, record, sortTime, (market) => readRecord(database, market))
      // Damage that an event meets is of this market too.
      database.writeDraft(EVENT_DRAFT)
    } catch (error) {
      if (!isDamage(error)) throw error
    }
  }
  return rows.at(-1)?.['id'] as number | undefined
}
