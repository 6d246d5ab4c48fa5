import type { VenueId } from '@priorbook/sdk/domain'
import { VENUE_ADDRESSES } from './addresses.ts'

/** The address of one market, for hints and links. */
export function marketPath(venue: VenueId, id: string, asset = 'btc'): string {
  const address = VENUE_ADDRESSES.find((one) => one.venue === venue)!
  return address.market
    .replace('{asset}', encodeURIComponent(asset.toLowerCase()))
    .replace(`{${address.marketParam}}`, encodeURIComponent(id))
}
