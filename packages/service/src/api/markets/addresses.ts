import { VENUE_IDS, VENUES, type VenueId, type VenuePaths } from '@priorbook/sdk/domain'

/** The addresses of a venue's markets. */
export type VenueAddress = VenuePaths & { readonly venue: VenueId }

/** The addresses of every venue, in the order of the interface document. */
export const VENUE_ADDRESSES: readonly VenueAddress[] = VENUE_IDS.map((venue) => ({
  venue,
  ...VENUES[venue].paths,
}))

/** The addresses of one venue. */
export function addressOf(venue: VenueId): VenueAddress {
  return VENUE_ADDRESSES[VENUE_IDS.indexOf(venue)]!
}

/** The address of one market, for hints and links. */
export function marketPath(venue: VenueId, id: string, asset = 'btc'): string {
  const { market, marketParam } = VENUES[venue].paths
  return market
    .replace('{asset}', encodeURIComponent(asset.toLowerCase()))
    .replace(`{${marketParam}}`, encodeURIComponent(id))
}
