import type { VenueFacts } from './facts.ts'
import { VENUE_A } from './venuea.ts'
import { VENUE_B } from './venueb.ts'
import { VENUE_C } from './venuec.ts'

export * from './facts.ts'

/** The recorded venues, in the order of the interface document. */
export const VENUE_IDS = ['venuea', 'venueb', 'venuec'] as const

/** The name of a venue, as it stands in paths, row ids and tables. */
export type VenueId = (typeof VENUE_IDS)[number]

/** The registry of venues; the compiler forces it to be complete. */
export const VENUES: Readonly<Record<VenueId, VenueFacts>> = {
  venuea: VENUE_A,
  venueb: VENUE_B,
  venuec: VENUE_C,
}

/** True for the name of a recorded venue. */
export function isVenueId(value: unknown): value is VenueId {
  return VENUE_IDS.some((id) => id === value)
}
