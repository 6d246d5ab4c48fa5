import type { Json } from './market.ts'
import type { Micros } from './micros.ts'
import type { Origin } from './identity.ts'
import type { VenueId } from './venues/index.ts'

/** One stored row by its number: a book, a trade or a sample of a metric. */
export type AuditTarget = {
  readonly venue: VenueId
  readonly key: string
  readonly kind: 'book' | 'trade' | 'sample'
  readonly metric?: string
  readonly sequence: number
}

/** A stored row compared with the same row derived again from the journal. */
export type AuditReport = {
  /**
   * `equal`: the raw message gives the stored row again; `different`: it gives another one;
   * `raw_expired`: retention removed the message; `raw_missing` and `raw_damaged`: it cannot be read.
   */
  readonly state: 'equal' | 'different' | 'raw_expired' | 'raw_missing' | 'raw_damaged'
  readonly detail?: string
  readonly differences: readonly string[]
  readonly journal: number
  readonly received: Micros
  /** The stored row, and the row that its message gives now. */
  readonly stored: Json
  readonly derived?: Json
  readonly normalizer: number
  readonly raw?: {
    readonly bytes: Uint8Array
    readonly received: Micros
    readonly slot: number
    readonly origin: Origin
    readonly recorder: string
    /** The request, where the message is an answer. */
    readonly request?: Json
  }
}

/** Derives a row again from the journal; undefined where no such row is stored. */
export type Auditor = (target: AuditTarget) => Promise<AuditReport | undefined>
