import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { VENUE_ADDRESSES } from '../kit/addresses.ts'
import { findMarket } from '../kit/market-lookup.ts'
import type { ApiContext, Grant } from '../kit/route.ts'

/** A market by its id alone or with its venue, for routes that are not below a market's path. */
export async function findAnywhere(
  context: ApiContext,
  grant: Grant,
  id: string,
  venue: VenueId | undefined,
): Promise<MarketState> {
  const venues = venue === undefined ? VENUE_IDS.filter((one) => sees(grant, one)) : [venue]
  let first: Problem | undefined
  for (const one of venues) {
    const address = VENUE_ADDRESSES.find((each) => each.venue === one)!
    try {
      return await findMarket(context, address, { [address.marketParam]: id }, grant)
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'unknown_market') throw error
      first ??= error
    }
  }
  throw new Problem('unknown_market', `no market ${JSON.stringify(id.slice(0, 100))} is recorded`, {
    param: 'market',
    ...(first?.fields.hint === undefined ? {} : { hint: first.fields.hint }),
  })
}

/** True when a plan includes anything of a venue; btc is in every plan. */
export function sees(grant: Grant, venue: VenueId): boolean {
  return grant.allows(venue, undefined) || grant.allows(venue, 'btc')
}
