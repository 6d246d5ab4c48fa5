import type { Micros, Origin } from '../domain/index.ts'

/** `message`: sent by the venue. `note`: JSON text of the recorder (connection opened, import begun). */
export type RecordKind = 'message' | 'note'

/** One raw message exactly as received, with our wall clock, which may step back. */
export type JournalRecord = {
  /** From 1, over the whole journal of one venue in one data folder; never reused. */
  readonly number: number
  readonly received: Micros
  readonly kind: RecordKind
  /** The socket that brought a message, 1 … 253; 0 for an answer, an imported line or a note. */
  readonly slot: number
  readonly bytes: Uint8Array
  readonly origin: Origin
  readonly recorder: string
}

/** Consecutive records `first` … `first + count - 1`; `bytes` are views into one buffer of the block. */
export type JournalBlock = {
  readonly kind: 'block'
  readonly first: number
  readonly count: number
  readonly origin: Origin
  readonly recorder: string
  readonly received: readonly Micros[]
  readonly kinds: readonly RecordKind[]
  readonly slots: readonly number[]
  readonly bytes: readonly Uint8Array[]
}

/**
 * Why a part of a journal cannot be read. `torn_tail` ends the newest file: a write that a crash cut
 * short, or one still under way in another process.
 */
export type DamageReason = 'bad_block' | 'bad_file_header' | 'missing_records' | 'torn_tail'

/** A part of a journal that cannot be read, and the record numbers that it may have held. */
export type JournalDamage = {
  readonly kind: 'damage'
  readonly file: string
  readonly offset: number
  /** Bytes that cannot be read; 0 where a file or a part of it is absent. */
  readonly length: number
  readonly firstMissing: number
  /** Undefined where no later block tells it; `firstMissing - 1` where no record is missing. */
  readonly lastMissing: number | undefined
  readonly reason: DamageReason
}

/** Max socket number: kinds and sockets share one byte. */
export const MAX_SLOT = 253

/** Max bytes per message. */
export const MAX_RECORD_BYTES = 32 * 1024 * 1024
