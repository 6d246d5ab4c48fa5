import {
  isBackfillKey,
  printScaled,
  PriorbookError,
  VENUES,
  type Auditor,
  type AuditReport,
  type AuditTarget,
  type BookChange,
  type BookSnapshot,
  type ErrorCode,
  type Json,
  type Level,
  type Micros,
  type TapeEvent,
  type VenueFacts,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { FoundRecords, JournalRecord } from '@priorbook/sdk/journal'
import { listSegments } from '@priorbook/sdk/journal/format'
import { fetchRecords } from '../journal/index.ts'
import { Ladder, levelKey } from '@priorbook/sdk/tape'
import type { StoreReader } from '../store/store.ts'
import type { CaptureRequest } from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import { findStored, showBook, type StoredRow } from './compare-rows.ts'
import { parseMessageJson } from '../lib/message-json.ts'
import { parseJson, parseNote } from '../recorder/notes.ts'

/**
 * Creates the function that looks up a row in the journal of a data folder, derives it again and
 * compares it with the stored one; it resolves to undefined where no such row is stored.
 */
export function createAuditor(store: StoreReader, dir: string, cacheBytes?: number): Auditor {
  return async (target) => {
    const stored = await findStored(store, target)
    if (stored === undefined) return undefined
    const { venue } = target
    const normalizer = definitionOf(venue).normalizer.version
    const { journal } = stored
    const known = {
      differences: [],
      journal,
      received: stored.received as Micros,
      stored: stored.shown,
      normalizer,
    }
    const found = await readRaw({ dir, venue, ...(cacheBytes && { cacheBytes }) }, journal)
    if ('state' in found) return { ...known, ...found }
    const { record, request } = found
    if (record.received !== stored.received) {
      const detail = `record ${journal} here was received at another time: another recorder wrote this row`
      return { ...known, state: 'raw_missing', detail }
    }
    const { bytes, received, slot, origin, recorder } = record
    const raw = {
      bytes,
      received,
      slot,
      origin,
      recorder,
      ...(request === undefined ? {} : { request: request as Json }),
    }
    return { ...known, raw, ...compare(stored, target, record, request) }
  }
}

type Unreadable = Pick<AuditReport, 'state' | 'detail'>

// What says that the record is damaged. A storage that does not answer says nothing about it.
const DAMAGE: ReadonlySet<string> = new Set<ErrorCode>(['corrupt_journal', 'store_unavailable'])

async function readRaw(
  journal: Parameters<typeof fetchRecords>[0],
  number: number,
): Promise<
  Unreadable | { readonly record: JournalRecord; readonly request: CaptureRequest | undefined }
> {
  try {
    const records = await fetchWithNote(journal, number)
    const record = records.get(number)
    if (record === undefined) {
      const first = listSegments(journal.dir, journal.venue)[0]?.first ?? Infinity
      if (number < first) return { state: 'raw_expired' }
      return { state: 'raw_missing', detail: `the journal has no record ${number}` }
    }
    return { record, request: requestOf(records, record) }
  } catch (error) {
    if (!(error instanceof PriorbookError) || !DAMAGE.has(error.code)) throw error
    return { state: 'raw_damaged', detail: error.message }
  }
}

// Fetches a record with the one before it, which may be the note of its request: both are mostly in one block.
async function fetchWithNote(
  journal: Parameters<typeof fetchRecords>[0],
  number: number,
): Promise<FoundRecords> {
  try {
    return await fetchRecords(journal, number - 1, number)
  } catch (error) {
    // The one before may be in a storage that does not answer; a message of a socket has no request.
    const alone = await fetchRecords(journal, number, number)
    if ((alone.get(number)?.slot ?? 0) === 0) throw error
    return alone
  }
}

// The note before an answer contains its request; retention may have removed only the note.
function requestOf(
  records: FoundRecords,
  { number, kind, slot }: JournalRecord,
): CaptureRequest | undefined {
  if (slot > 0 || kind !== 'message') return undefined
  const before = records.get(number - 1)
  if (before?.kind !== 'note') return undefined
  const note = parseNote(before.bytes)
  return note.note === 'request' ? note.request : undefined
}

function compare(
  stored: StoredRow,
  target: AuditTarget,
  record: JournalRecord,
  request: CaptureRequest | undefined,
): Pick<AuditReport, 'state' | 'detail' | 'differences' | 'derived'> {
  try {
    const events = normalize(target.venue, record, request)
    const { shown, differences } = deriveRow(stored, target, events, VENUES[target.venue])
    return {
      state: differences.length === 0 ? 'equal' : 'different',
      differences,
      ...(shown === undefined ? {} : { derived: shown }),
    }
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    const detail = `the normalizer rejects the message: ${error.message}`
    return { state: 'different', detail, differences: [detail] }
  }
}

function normalize(
  venue: VenueId,
  record: JournalRecord,
  request: CaptureRequest | undefined,
): readonly TapeEvent[] {
  const normalizer = definitionOf(venue).normalizer
  const at = { received: record.received, journal: record.number }
  if (record.slot > 0) return normalizer.frame(parseMessageJson(record.bytes), at).events
  if (request !== undefined) {
    return normalizer.answer(request, parseMessageJson(record.bytes), at).events
  }
  // A line of an imported recording wraps the message.
  const line = parseJson(record.bytes)
  return 'response' in line
    ? normalizer.answer({ kind: 'event' }, line['response'], at).events
    : normalizer.frame(line['event'], at).events
}

/** The row that a message yields now, and its differences from the stored one. */
type Derived = { readonly shown: Json | undefined; readonly differences: readonly string[] }

/** Derives a row again from the events of its message. */
function deriveRow(
  stored: StoredRow,
  target: AuditTarget,
  events: readonly TapeEvent[],
  facts: VenueFacts,
): Derived {
  const { key } = target
  switch (stored.kind) {
    case 'book': {
      const books = events.filter(
        (event) =>
          (event.kind === 'snapshot' || event.kind === 'change') && event.instrument.key === key,
      ) as (BookSnapshot | BookChange)[]
      return deriveBook(stored, books, facts)
    }
    case 'trade':
      return deriveTrade(stored, key, events, facts)
    case 'sample':
      return deriveSample(stored, target, events)
  }
}

const NOTHING: Derived = { shown: undefined, differences: ['the message gives no such row'] }

// Applies the message to the book before the row; a full book does not need one.
function deriveBook(
  stored: StoredRow & { kind: 'book' },
  events: readonly (BookSnapshot | BookChange)[],
  facts: VenueFacts,
): Derived {
  if (events.length === 0) return NOTHING
  const ladder = stored.before?.clone() ?? new Ladder(facts.priceDecimals)
  ladder.rescale(facts.priceDecimals)
  for (const event of events) {
    if (event.kind === 'snapshot') {
      ladder.clear()
      for (const side of ['bid', 'ask'] as const) {
        const levels: readonly Level[] = side === 'bid' ? event.bids : event.asks
        for (const { price, size } of levels) ladder.apply(levelKey(side, price), size)
      }
      continue
    }
    for (const { side, price, size } of event.changes) {
      const at = levelKey(side, price)
      ladder.apply(at, event.signed ? ladder.sizeAt(at) + size : size)
    }
  }
  const wanted = stored.after.clone()
  wanted.rescale(facts.priceDecimals)
  return {
    shown: showBook(ladder, facts.sizeDecimals),
    differences: compareLadders(wanted, ladder, facts),
  }
}

function compareLadders(stored: Ladder, derived: Ladder, facts: VenueFacts): string[] {
  const keys = new Set([...stored.keys(), ...derived.keys()])
  const differences: string[] = []
  for (const key of keys) {
    const [own, other] = [stored.sizeAt(key), derived.sizeAt(key)]
    if (own === other) continue
    const place = `${(key & 1) === 0 ? 'bid' : 'ask'} ${printScaled(key >> 1, facts.priceDecimals)}`
    const print = (size: number): string => printScaled(size, facts.sizeDecimals)
    differences.push(`${place}: stored ${print(own)}, derived ${print(other)}`)
  }
  return differences
}

function deriveTrade(
  stored: StoredRow & { kind: 'trade' },
  key: string,
  events: readonly TapeEvent[],
  facts: VenueFacts,
): Derived {
  const trade = events.find(
    (event) =>
      event.kind === 'trade' && event.instrument.key === key && event.tradeId === stored.tradeId,
  )
  if (trade?.kind !== 'trade') return NOTHING
  const shown = {
    trade_id: trade.tradeId,
    price: printScaled(trade.price, facts.priceDecimals),
    size: printScaled(trade.size, facts.sizeDecimals),
    taker_side: trade.taker ?? null,
    // Rows of versions that did not keep what the message said cannot be compared with it.
    ...(stored.native === undefined ? {} : { native: trade.native ?? null }),
  }
  return { shown, differences: compareFields(stored.shown, shown) }
}

function deriveSample(
  stored: StoredRow & { kind: 'sample' },
  { key, metric = '' }: AuditTarget,
  events: readonly TapeEvent[],
): Derived {
  const samples = events.filter(
    (event) =>
      event.kind === 'sample' &&
      event.instrument.key === key &&
      event.metric === metric &&
      // An answer of a history has many values, each of its own time.
      (!isBackfillKey(key) || event.received === stored.received),
  )
  const sample = samples.at(-1)
  if (sample?.kind !== 'sample') return NOTHING
  const shown = { [metric]: sample.value }
  return { shown, differences: compareFields(stored.shown, shown) }
}

function compareFields(stored: Json, derived: Readonly<Record<string, Json>>): string[] {
  const own = stored as Readonly<Record<string, Json>>
  return Object.entries(derived).flatMap(([name, value]) =>
    JSON.stringify(own[name]) === JSON.stringify(value)
      ? []
      : [`${name}: stored ${JSON.stringify(own[name])}, derived ${JSON.stringify(value)}`],
  )
}
