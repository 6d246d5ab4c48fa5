import { PriorbookError, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { EmulatedVenue } from '../core/emulated-venue.ts'
import { EMULATED_VENUE_A } from './venuea/index.ts'
import { EMULATED_VENUE_B } from './venueb/index.ts'
import { EMULATED_VENUE_C } from './venuec/index.ts'

/** The registry of emulated venues; a venue may be without an emulation. */
const EMULATED = {
  venuea: EMULATED_VENUE_A,
  venueb: EMULATED_VENUE_B,
  venuec: EMULATED_VENUE_C,
} as const satisfies Registry

type Registry = Readonly<Partial<Record<VenueId, EmulatedVenue>>>

/** The name of a venue that is emulated. */
export type EmulatedVenueId = keyof typeof EMULATED

/** The venues that are emulated. */
export const EMULATED_VENUES: readonly EmulatedVenueId[] = VENUE_IDS.filter(
  (venue): venue is EmulatedVenueId => Object.hasOwn(EMULATED, venue),
)

/** Addresses and client credentials of every running venue. */
export type Addresses = {
  readonly [Id in EmulatedVenueId]?: ReturnType<(typeof EMULATED)[Id]['addresses']> &
    ReturnType<(typeof EMULATED)[Id]['keys']>['client']
}

/** The emulation of a venue; throws where there is none. */
export function emulatedVenue(venue: VenueId): EmulatedVenue {
  const emulated: EmulatedVenue | undefined = (EMULATED as Registry)[venue]
  if (emulated !== undefined) return emulated
  throw new PriorbookError('invalid_argument', `${venue} is not emulated`)
}
