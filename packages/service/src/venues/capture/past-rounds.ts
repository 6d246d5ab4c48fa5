import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import type { SettingValues } from '../../lib/setting.ts'
import type { CaptureLog, CaptureSink } from './contract.ts'
import type { Quota, QuotaOptions } from './quota.ts'

/** A round known before a backfill begins: from the store, or the position where the last one stopped. */
export type KnownRound = {
  readonly window: string
  readonly topicId: string
  readonly open: Micros
  readonly close: Micros
  /** Nothing is left to request. */
  readonly isComplete: boolean
}

/** How many rounds of a backfill are in which state. */
export type RoundCounts = {
  readonly expected: number
  readonly complete: number
  /** Over, but without a result so far: the next backfill requests them again. */
  readonly unresolved: number
  /** Not named by any answer, or named and not available. */
  readonly missing: number
}

/** The result of a backfill. */
export type BackfillEnd = {
  /** Counts of all windows together. */
  readonly counts: RoundCounts
  readonly calls: number
}

/** The progress of a backfill, reported after every requested round. */
export type BackfillProgress = {
  /** The window that advanced, how far back it has come, and the topic of the round that ends there. */
  readonly window: string
  readonly reached: Micros
  readonly next?: string
} & BackfillEnd

/** The REST interface that a backfill calls. */
export type BackfillUpstream = {
  readonly restBase: string
  readonly apiKey: string
  readonly apiSecret: string
  /** A quota instead of its limits is shared. */
  readonly quota: QuotaOptions | Quota
  /** Max attempts per call while the venue does not answer. */
  readonly attempts?: number
}

/** What to backfill. */
export type BackfillOptions = BackfillUpstream & {
  readonly asset: string
  /** Rounds that lie completely in [start, end] are filled in; the caller checks the floor. */
  readonly start: Micros
  readonly end: Micros
  readonly known: readonly KnownRound[]
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** The clock that spaces the calls; the system's by default. */
  readonly clock?: Clock
}

/** How a venue fills in the catalogue of its past rounds. */
export type CatalogueBackfill<Settings> = {
  readonly assets: readonly string[]
  readonly windows: readonly string[]
  /** Since when the catalogue of an asset is kept; absent for unknown assets. */
  floorOf(asset: string): Micros | undefined
  /** True when nothing is left to request for a market. */
  isComplete(record: MarketRecord): boolean
  toUpstream(config: SettingValues<Settings>): BackfillUpstream & { readonly quota: QuotaOptions }
  /** Requests rounds backwards and passes every answer to the sink; returns early on abort. */
  walk(
    options: BackfillOptions,
    signal: AbortSignal,
  ): AsyncGenerator<BackfillProgress, BackfillEnd, void>
}
