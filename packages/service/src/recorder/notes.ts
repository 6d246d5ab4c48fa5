import * as v from 'valibot'
import {
  CAPTURE_TIERS,
  GAP_REASONS,
  PriorbookError,
  showValue,
  type GapReason,
} from '@priorbook/sdk/domain'
import { MAX_SLOT } from '@priorbook/sdk/journal'
import { parseMessageJson } from '../lib/message-json.ts'
import type { CaptureNote, CaptureRequest } from '../venues/capture/contract.ts'

/** What connectors and the recorder write into the journal beside messages, so that rows can be derived again. */
export type Note =
  | CaptureNote
  | { readonly note: 'file_imported'; readonly sha256: string; readonly lines: number }
  | { readonly note: 'broken_line'; readonly reason: string }
  /** The next record is the answer to this request; when it was sent, `asked` was the newest record. */
  | { readonly note: 'request'; readonly request: CaptureRequest; readonly asked?: number }
  /** The recorder starts here, or ended in order; all earlier connections are closed. */
  | { readonly note: 'started'; readonly version: string }
  | { readonly note: 'stopped' }
  /**
   * Another recorder wrote the tape up to here. This one recorded beside it and goes on: over the sockets
   * (`slots`) that are open, with the books that were proved to be the same. Records before `since` are from
   * the other one's time.
   */
  | {
      readonly note: 'took_over'
      readonly slots: readonly number[]
      readonly since: number
      readonly books: readonly JoinedBook[]
    }
  /** Nothing could be written for a while; `refused` counts the messages that were not kept. */
  | { readonly note: 'disk_full'; readonly refused: number }
  /**
   * A backfill walked one family of rounds (`BTC:5m`) back to `reached`, in microseconds. `topic_id` is
   * the round that ends there, the next one to request; absent where the venue named none. With `from`, all
   * that the venue has of a family from there up to `reached` was requested.
   */
  | {
      readonly note: 'backfill'
      readonly family: string
      readonly reached: number
      readonly topic_id?: number
      readonly from?: number
    }
  | HistoryGap

/** What a venue's history does not give: [start, end) of a market, in microseconds of the venue's clock. */
export type HistoryGap = {
  readonly note: 'history_gap'
  readonly market: string
  /** What is missing: trades by default. */
  readonly of?: 'prices'
  readonly start: number
  readonly end: number
  readonly why: string
}

/**
 * A book that goes on after a takeover: the last message that led to the book of the tape, the socket and the
 * subscription that feed the book (`slot` 0: none), and the last record that the tape has.
 */
export type JoinedBook = {
  readonly key: string
  readonly slot: number
  readonly sid: number
  /** The message was an answer. */
  readonly answer?: boolean
  readonly received: number
  readonly source?: number
  readonly seq?: number
  readonly journal: number
}

const whole = v.pipe(v.number(), v.safeInteger())
const count = v.pipe(whole, v.minValue(0))
// The numbers that sockets have in the journal; a restart loads what belongs to these.
const slot = v.pipe(whole, v.minValue(1), v.maxValue(MAX_SLOT))
const request = v.looseObject({ kind: v.string() })

// The fields of every kind of note that deriving rows relies on. A note that lacks one is quarantined.
const NOTES = {
  connected: v.looseObject({ slot }),
  loss: v.looseObject({
    reason: v.picklist(Object.keys(GAP_REASONS) as GapReason[]),
    why: v.string(),
    slot: v.optional(slot),
    sid: v.optional(count),
    keys: v.optional(v.array(v.string())),
  }),
  failed: v.looseObject({}),
  feed_lost: v.looseObject({
    reason: v.picklist(Object.keys(GAP_REASONS) as GapReason[]),
    why: v.string(),
  }),
  clock: v.looseObject({ offset_us: whole }),
  tier: v.looseObject({
    tier: v.picklist(CAPTURE_TIERS),
    why: v.string(),
    markets: v.array(v.string()),
  }),
  walked: v.looseObject({ since: count, rules: count }),
  file_imported: v.looseObject({ sha256: v.string(), lines: count }),
  broken_line: v.looseObject({ reason: v.string() }),
  request: v.looseObject({ request, asked: v.optional(count) }),
  started: v.looseObject({}),
  stopped: v.looseObject({}),
  took_over: v.looseObject({
    slots: v.array(slot),
    since: count,
    books: v.array(
      v.looseObject({
        key: v.string(),
        slot: v.union([v.literal(0), slot]),
        sid: count,
        answer: v.optional(v.boolean()),
        received: count,
        source: v.optional(count),
        seq: v.optional(count),
        journal: count,
      }),
    ),
  }),
  disk_full: v.looseObject({ refused: count }),
  backfill: v.looseObject({
    family: v.string(),
    reached: count,
    topic_id: v.optional(count),
    from: v.optional(count),
  }),
  history_gap: v.looseObject({
    market: v.string(),
    of: v.optional(v.literal('prices')),
    start: count,
    end: count,
    why: v.string(),
  }),
} satisfies Record<Note['note'], v.GenericSchema>

/** The bytes of a note. */
export function toNoteBytes(note: Note): Uint8Array {
  return Buffer.from(JSON.stringify(note))
}

/** Parses a note; throws for one that this version does not know or cannot read. */
export function parseNote(bytes: Uint8Array): Note {
  const note = parseJson(bytes)
  const kind = note['note']
  if (typeof kind !== 'string' || !Object.hasOwn(NOTES, kind)) {
    throw new PriorbookError('unsupported_format', 'the journal holds a note of a newer Priorbook')
  }
  const { success, issues } = v.safeParse(NOTES[kind as Note['note']], note)
  if (!success) {
    const detail = `a note of kind ${kind}: ${issues[0].message}`
    throw new PriorbookError('invalid_message', detail)
  }
  return note as Note
}

/** Parses the JSON of a line or a note; throws where it is not an object. */
export function parseJson(bytes: Uint8Array): Record<string, unknown> {
  const value = parseMessageJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PriorbookError('invalid_line', `it is ${showValue(value)}, not an object`)
  }
  return value as Record<string, unknown>
}
