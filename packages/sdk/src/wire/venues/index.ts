import type { VenueId } from '../../domain/index.ts'
import { VENUE_A_WIRE } from './venuea.ts'
import { VENUE_B_WIRE } from './venueb.ts'
import { VENUE_C_WIRE } from './venuec.ts'

export type { VenueAMarketJson } from './venuea.ts'
export type { VenueBMarketJson } from './venueb.ts'
export type { VenueCMarketJson } from './venuec.ts'

/** What the wire knows of one venue alone. */
type VenueWire = {
  /** The schema of a market record. */
  readonly schema: object
  /** Renders what the venue's market records have beyond the common members. */
  readonly toMembers: unknown
  /** The filters of its list of markets. */
  readonly filters: object
  /** What the docs of routes say of it alone. */
  readonly texts: {
    readonly markets: {
      readonly summary: string
      readonly description: string
      readonly params: Readonly<Record<string, string>>
    }
    /** Which outcome an evaluated order means. */
    readonly outcomeRule: string
  }
}

/** What the wire knows of each venue; the compiler forces the list to be complete. */
export const VENUE_WIRE = {
  venuea: VENUE_A_WIRE,
  venueb: VENUE_B_WIRE,
  venuec: VENUE_C_WIRE,
} satisfies Readonly<Record<VenueId, VenueWire>>
