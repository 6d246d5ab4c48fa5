import { PriorbookError } from '@priorbook/sdk/domain'
import type { CaptureNote, CaptureRequest } from '../venues/capture/contract.ts'
import { parseJson } from './json.ts'

/** What connectors and the recorder write into the journal beside messages, so that rows can be derived again. */
export type Note =
  | CaptureNote
  | { readonly note: 'file_imported'; readonly sha256: string; readonly lines: number }
  | { readonly note: 'broken_line'; readonly reason: string }
  /** The next record is the answer to this request. */
  | { readonly note: 'request'; readonly request: CaptureRequest }
  /** The recorder starts here, or ended in order; all earlier connections are closed. */
  | { readonly note: 'started'; readonly version: string }
  | { readonly note: 'stopped' }
  /** Nothing could be written for a while; `refused` counts the messages that were not kept. */
  | { readonly note: 'disk_full'; readonly refused: number }
  /**
   * A backfill walked one family of rounds (`BTC:5m`) back to `reached`, in microseconds. `topic_id` is
   * the round that ends there, the next one to request; absent where the venue named none.
   */
  | {
      readonly note: 'backfill'
      readonly family: string
      readonly reached: number
      readonly topic_id?: number
    }

const NOTES: ReadonlySet<string> = new Set([
  'connected',
  'loss',
  'failed',
  'clock',
  'file_imported',
  'broken_line',
  'request',
  'started',
  'stopped',
  'disk_full',
  'backfill',
] satisfies Note['note'][])

/** The bytes of a note. */
export function toNoteBytes(note: Note): Uint8Array {
  return Buffer.from(JSON.stringify(note))
}

/** Parses a note; the journal's checksum protects its contents. */
export function parseNote(bytes: Uint8Array): Note {
  const note = parseJson(bytes)
  if (typeof note['note'] !== 'string' || !NOTES.has(note['note'])) {
    throw new PriorbookError('unsupported_format', 'the journal holds a note of a newer Priorbook')
  }
  return note as Note
}
