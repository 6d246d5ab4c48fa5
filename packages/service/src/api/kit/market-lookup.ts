import type { VenueId } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import type { VenueAddress } from './addresses.ts'
import { hintFor } from './market-hint.ts'
import { marketPath } from './market-path.ts'
import { planAsset } from './plan-asset.ts'
import type { ApiContext, Grant } from './route.ts'

/**
 * The market that a path names, as known last. The plan is asked first, so that a key learns nothing
 * of markets that it may not see; then a wrong kind of identifier gets a hint that names the right one.
 * `read` may know the market already.
 */
export async function findMarket(
  context: ApiContext,
  address: VenueAddress,
  path: Readonly<Record<string, string | undefined>>,
  grant?: Grant,
  read: (venue: VenueId, id: string) => Promise<MarketState | undefined> = (venue, id) =>
    context.store.market(venue, id),
): Promise<MarketState> {
  const { venue } = address
  const id = path[address.marketParam] ?? ''
  const asset = venue === 'venuec' ? path['asset']?.toUpperCase() : undefined
  grant?.requireVenue(venue)
  if (asset !== undefined) grant?.requireAsset(venue, asset)
  const state = await read(venue, id)
  if (state === undefined) {
    if (asset !== undefined) await requireRecordedAsset(context, asset)
    throw new Problem('unknown_market', `no market ${show(id)} of this venue is recorded`, {
      param: address.marketParam,
      hint: await hintFor(
        context,
        address,
        id,
        (record) => grant?.allows(record.venue, planAsset(record)) ?? true,
      ),
    })
  }
  grant?.requireAsset(venue, planAsset(state.record))
  const own = state.record.asset
  if (asset !== undefined && own !== undefined && own.toUpperCase() !== asset) {
    throw new Problem('unknown_market', `market ${show(id)} is not one of ${asset}`, {
      param: 'asset',
      hint: `Its asset is ${own}: ${marketPath('venuec', id, own)}`,
    })
  }
  return state
}

/** Throws `unknown_asset`, naming the recorded ones, when venue C has no market of an asset. */
export async function requireRecordedAsset(context: ApiContext, asset: string): Promise<void> {
  const { store } = context
  const wanted = asset.toUpperCase()
  const { markets } = await store.markets({ venue: 'venuec', asset: wanted, limit: 1 })
  if (markets.length > 0) return
  const newest = await store.markets({ venue: 'venuec', order: 'desc', limit: LOOKED_AT })
  const names = newest.markets.flatMap(({ record }) => record.asset?.toLowerCase() ?? [])
  const allowed = [...new Set(names)].sort()
  throw new Problem('unknown_asset', `no markets of ${show(asset)} are recorded`, {
    param: 'asset',
    allowed,
    hint:
      allowed.length === 0
        ? 'No market of a known asset is recorded yet.'
        : `Recorded: ${allowed.join(', ')}.`,
  })
}

// Rounds of every asset open all the time: the newest few hundred markets name them all.
const LOOKED_AT = 500

function show(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
