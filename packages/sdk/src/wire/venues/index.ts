import type { VenueId } from '../../domain/index.ts'
import {
  toVenueAMembers,
  VENUE_A_LIST_FILTERS,
  VENUE_A_MARKET_SCHEMA,
  VENUE_A_TEXTS,
} from './venuea.ts'
import {
  toVenueBMembers,
  VENUE_B_LIST_FILTERS,
  VENUE_B_MARKET_SCHEMA,
  VENUE_B_TEXTS,
} from './venueb.ts'
import {
  toVenueCMembers,
  VENUE_C_LIST_FILTERS,
  VENUE_C_MARKET_SCHEMA,
  VENUE_C_TEXTS,
} from './venuec.ts'

export type { VenueAMarketJson } from './venuea.ts'
export type { VenueBMarketJson } from './venueb.ts'
export type { VenueCMarketJson } from './venuec.ts'

/** The schema of a market record, by venue. */
export const MARKET_SCHEMAS = {
  venuea: VENUE_A_MARKET_SCHEMA,
  venueb: VENUE_B_MARKET_SCHEMA,
  venuec: VENUE_C_MARKET_SCHEMA,
} satisfies Readonly<Record<VenueId, object>>

/** What each venue's market records have beyond the common members. */
export const TO_MARKET_MEMBERS = {
  venuea: toVenueAMembers,
  venueb: toVenueBMembers,
  venuec: toVenueCMembers,
} satisfies Readonly<Record<VenueId, unknown>>

/** The filters of each venue's list of markets. */
export const LIST_FILTERS = {
  venuea: VENUE_A_LIST_FILTERS,
  venueb: VENUE_B_LIST_FILTERS,
  venuec: VENUE_C_LIST_FILTERS,
} satisfies Readonly<Record<VenueId, object>>

/** What the docs of routes say of one venue alone. */
export type VenueTexts = {
  readonly markets: {
    readonly summary: string
    readonly description: string
    readonly params: Readonly<Record<string, string>>
  }
  /** Which outcome an evaluated order means. */
  readonly outcomeRule: string
}

/** These texts, by venue. */
export const VENUE_TEXTS: Readonly<Record<VenueId, VenueTexts>> = {
  venuea: VENUE_A_TEXTS,
  venueb: VENUE_B_TEXTS,
  venuec: VENUE_C_TEXTS,
}
