import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Setting, SettingValues } from '../../lib/setting.ts'
import type { Connector, ConnectorContext, Normalizer } from './contract.ts'
import type { CatalogueBackfill } from './past-rounds.ts'

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
  /** How recordings of the venue are imported; absent where there is no recording format. */
  readonly importer?: RecordingImporter
  /** How the catalogue of past rounds is filled in; absent where the venue has no such history. */
  readonly backfill?: CatalogueBackfill<Settings>
}

/** Defines a venue. */
export function defineVenue<const Settings extends VenueSettings>(
  definition: VenueDefinition<Settings>,
): VenueDefinition<Settings> {
  return definition
}
