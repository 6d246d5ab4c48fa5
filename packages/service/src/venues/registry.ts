import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { VenueDefinition } from './capture/definition.ts'
import { VENUE_A_DEFINITION } from './venuea/index.ts'
import { VENUE_B_DEFINITION } from './venueb/index.ts'
import { VENUE_C_DEFINITION } from './venuec/index.ts'

/** The definition of every venue; the compiler forces the list to be complete. */
export const VENUE_DEFINITIONS = {
  venuea: VENUE_A_DEFINITION,
  venueb: VENUE_B_DEFINITION,
  venuec: VENUE_C_DEFINITION,
} as const satisfies Readonly<Record<VenueId, VenueDefinition>>

/** The definition of one venue. */
export function definitionOf(venue: VenueId): VenueDefinition {
  return VENUE_DEFINITIONS[venue]
}

/** The venues whose recordings can be imported. */
export const IMPORT_VENUES: readonly VenueId[] = VENUE_IDS.filter(
  (venue) => definitionOf(venue).importer !== undefined,
)

/** The venues whose past can be filled in: rounds by their topics, or history by lists. */
export const BACKFILL_VENUES: readonly VenueId[] = VENUE_IDS.filter((venue) => {
  const { backfill, history } = definitionOf(venue)
  return backfill !== undefined || history !== undefined
})
