import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import type { Setting, SettingValues } from '../../lib/setting.ts'
import type {
  CaptureLog,
  CaptureRequest,
  CaptureSink,
  Connector,
  ConnectorContext,
  Normalizer,
} from './contract.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HistorySource } from './history.ts'
import type { Quota, QuotaOptions } from './quota.ts'
import type { SelectionOptions } from './selection/selection.ts'

/** The settings that every venue has; a venue adds its own. */
export type VenueSettings = {
  readonly enabled: Setting<boolean>
  readonly [name: string]: Setting<unknown>
}

/** Where a connector goes and what it records. */
type Upstream<Settings> = {
  readonly config: SettingValues<Settings>
  /** Addresses and credentials of the emulator, which replace settings of the same names. */
  readonly emulated?: Readonly<Record<string, string>>
  /** How many times faster than life the venue runs; 1 unless it is emulated. */
  readonly speed: number
}

/** Reads the recorded messages of a venue. */
export type RecordingImporter = {
  /** The key of the instrument that a recorded line is about; absent where it names none. */
  keyOf(line: Readonly<Record<string, unknown>>): string | undefined
}

/** Everything that the service knows of a venue beside its facts in the SDK. */
export type VenueDefinition<Settings extends VenueSettings = VenueSettings> = {
  readonly normalizer: Normalizer
  /** The record of a market that no catalogue answer has named yet. `frame` is the message that did. */
  toBareMarket(marketId: string, frame: unknown): MarketRecord
  /** The venue's section of the configuration. */
  readonly settings: Settings
  /**
   * True where the quota's window is so long (a minute) that a recorder which starts again must count
   * the calls of the one before it.
   */
  readonly quotaOutlivesRestart: boolean
  createConnector(upstream: Upstream<Settings>, context: ConnectorContext): Connector
  /** The addresses that a connector with these settings reaches, by setting. */
  addressesOf(config: SettingValues<Settings>): Readonly<Record<string, string>>
  /** Which markets the settings select; absent where they are not selected by rules. */
  toSelection?(upstream: Pick<Upstream<Settings>, 'config' | 'emulated'>): SelectionOptions
  /** How a feed of trades apart from the books is continued; absent where the venue has none. */
  readonly feed?: {
    /** The names of its facts. */
    readonly facts: readonly string[]
    /** True for requests of the feed: they do not count towards the venue's quota. */
    isRequest(request: CaptureRequest): boolean
  }
  /** How recordings of the venue are imported; absent where there is no recording format. */
  readonly importer?: RecordingImporter
  /** How the catalogue of past rounds is filled in; absent where the venue has no such history. */
  readonly backfill?: CatalogueBackfill<Settings>
  /** How history from before capture is fetched by lists; absent where the venue has none. */
  readonly history?: HistorySource<Settings>
}

/** Defines a venue. */
export function defineVenue<const Settings extends VenueSettings>(
  definition: VenueDefinition<Settings>,
): VenueDefinition<Settings> {
  return definition
}

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
