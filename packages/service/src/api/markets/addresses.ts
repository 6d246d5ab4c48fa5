import { VENUE_IDS, VENUES, type VenueId, type VenuePaths } from '@priorbook/sdk/domain'
import { required, textParam } from '../params.ts'
import type { Param } from '../route.ts'

/** The addresses of a venue's markets, with the parameters in the path of one market. */
export type VenueAddress = VenuePaths & {
  readonly venue: VenueId
  readonly path: Readonly<Record<string, Param<string>>>
}

const MARKET_ID = required(textParam(200, 'The venue’s own identifier of the market.'))
const ASSET = required(textParam(20, 'The underlying asset, such as btc.', 'btc'))

/** The addresses of every venue, in the order of the interface document. */
export const VENUE_ADDRESSES: readonly VenueAddress[] = VENUE_IDS.map((venue) => {
  const { paths } = VENUES[venue]
  const path = { ...(paths.hasAsset ? { asset: ASSET } : {}), [paths.marketParam]: MARKET_ID }
  return { venue, ...paths, path }
})

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

/** The aliases of a route below a market. */
export function aliasOf(
  { alias }: VenueAddress,
  tail: string,
): { readonly aliases?: readonly string[] } {
  return alias === undefined ? {} : { aliases: [`${alias.market}${tail}`] }
}
