import type { VenueId } from '@priorbook/sdk/domain'
import type { VenueAddress } from '../kit/addresses.ts'

/** The section of the docs that the routes of a venue stand in. */
export const TAGS: Readonly<Record<VenueId, string>> = {
  venuea: 'Venue A',
  venueb: 'Venue B',
  venuec: 'Venue C',
}

/** The other addresses of a route that hangs under a market. */
export function aliasOf(
  { alias }: VenueAddress,
  tail: string,
): { readonly aliases?: readonly string[] } {
  return alias === undefined ? {} : { aliases: [`${alias.market}${tail}`] }
}
