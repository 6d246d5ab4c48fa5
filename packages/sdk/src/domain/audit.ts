import type { Json } from './market.ts'
import type { Micros } from './micros.ts'
import type { Origin } from './origin.ts'
import type { VenueId } from './venues/index.ts'

/** One stored row: an observation, a trade or a sample of a metric, by its number. */
export type AuditTarget = {
  readonly venue: VenueId
  readonly key: string
  readonly kind: 'book' | 'trade' | 'sample'
  readonly metric?: string
  readonly sequence: number
}

/** What the journal and a fresh look by the normalizer say of a stored row. */
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
  /** The row as it is stored and as the message gives it now, in Priorbook's words. */
  readonly stored: Json
  readonly derived?: Json
  readonly normalizer: number
  readonly raw?: {
    readonly bytes: Uint8Array
    readonly received: Micros
    readonly slot: number
    readonly origin: Origin
    readonly recorder: string
    /** What was asked, where the message is an answer. */
    readonly request?: Json
  }
}

/** Looks a row up in the journal and derives it again; undefined where no such row is stored. */
export type Auditor = (target: AuditTarget) => Promise<AuditReport | undefined>
