import {
  PriorbookError,
  VENUES,
  type Auditor,
  type AuditReport,
  type AuditTarget,
  type Json,
  type Micros,
  type TapeEvent,
  type VenueId,
} from '@priorbook/sdk/domain'
import { journalStats, readRecord, type JournalRecord } from '@priorbook/sdk/journal'
import type { StoreReader } from '../store/store.ts'
import type { CaptureRequest } from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import { findStored, type StoredRow } from './audit-row.ts'
import { deriveRow } from './audit-derive.ts'
import { parseJson, parseValue } from '../recorder/json.ts'
import { parseNote } from '../recorder/notes.ts'

/**
 * Creates the function that looks up a row in the journal of a data folder, derives it again and
 * compares it with the stored one; it resolves to undefined where no such row is stored.
 */
export function createAuditor(store: StoreReader, journalDir: string): Auditor {
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
    const found = readRaw(journalDir, venue, journal)
    if ('state' in found) return { ...known, ...found }
    const { record, request } = found
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

function readRaw(
  dir: string,
  venue: VenueId,
  number: number,
): Unreadable | { readonly record: JournalRecord; readonly request: CaptureRequest | undefined } {
  try {
    const record = readRecord({ dir, venue }, number)
    if (record === undefined) {
      const first = journalStats(dir, venue).first ?? Infinity
      if (number < first) return { state: 'raw_expired' }
      return { state: 'raw_missing', detail: `the journal has no record ${number}` }
    }
    return { record, request: requestOf(dir, venue, record) }
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return { state: 'raw_damaged', detail: error.message }
  }
}

// The note before an answer contains its request; retention may have removed only the note.
function requestOf(
  dir: string,
  venue: VenueId,
  { number, kind, slot }: JournalRecord,
): CaptureRequest | undefined {
  if (slot > 0 || kind !== 'message' || number < 2) return undefined
  const before = readRecord({ dir, venue }, number - 1)
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
  if (record.slot > 0) return normalizer.frame(parseValue(record.bytes), at).events
  if (request !== undefined) {
    return normalizer.answer(request, parseValue(record.bytes), at).events
  }
  // A line of an imported recording wraps the message.
  const line = parseJson(record.bytes)
  return 'response' in line
    ? normalizer.answer({ kind: 'event' }, line['response'], at).events
    : normalizer.frame(line['event'], at).events
}
