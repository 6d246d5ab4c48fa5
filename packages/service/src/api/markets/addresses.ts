import {
  marketAddress,
  VENUE_IDS,
  VENUES,
  type VenueId,
  type VenuePaths,
} from '@priorbook/sdk/domain'

/** The addresses of a venue's markets. */
export type VenueAddress = VenuePaths & {
  readonly venue: VenueId
  /** True for addresses that do not name the asset, where others of the venue do. */
  readonly isPlain: boolean
}

/** The addresses of every venue, in the order of the interface document. */
export const VENUE_ADDRESSES: readonly VenueAddress[] = VENUE_IDS.flatMap((venue) => {
  const { paths } = VENUES[venue]
  const own = { venue, ...paths, isPlain: false }
  const { plain } = paths
  return plain === undefined ? [own] : [own, { ...own, ...plain, hasAsset: false, isPlain: true }]
})

/** The addresses of one venue. */
export function addressOf(venue: VenueId): VenueAddress {
  return VENUE_ADDRESSES.find((address) => address.venue === venue)!
}

/** The address of one market, for hints and links. */
export function marketPath(venue: VenueId, id: string, asset?: string): string {
  return marketAddress(venue, id, asset)
}
