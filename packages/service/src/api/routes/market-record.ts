import { marketContract, timeJson, toMarketJson } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { noticeMeta, removedRevisions, windowNotice } from '../pages/notices.ts'
import { NO_END, styleOf } from '../pages/page.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

/** The record of one market. */
export const MARKET_RECORD_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(recordRoute)

function recordRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('market', venue, address.isPlain), async (request, context) => {
    const style = styleOf(request.query)
    const { known_at: knownAt } = request.query
    const latest = await findMarket(context, address, request.path, request.grant)
    const window = request.grant.windowStart(context.now())
    const closed = latest.record.closeTime ?? NO_END
    if (closed <= window || (knownAt ?? NO_END) < window) {
      const range = { asked: 0, window, from: window, end: window }
      return { kind: 'data', data: null, count: 0, meta: noticeMeta(windowNotice(range)) }
    }
    const state =
      knownAt === undefined
        ? latest
        : await context.store.market(venue, latest.record.marketId, knownAt)
    if (state === undefined) {
      return {
        kind: 'data',
        data: null,
        count: 0,
        meta: noticeMeta(await notYet(context, latest)),
      }
    }
    return { kind: 'data', data: toMarketJson(state, style), count: 1, meta: {} }
  })
}

async function notYet(
  { store }: ApiContext,
  { record: { venue, marketId } }: MarketState,
): Promise<Notice> {
  const [first] = await store.revisions(venue, marketId, { limit: 1 })
  if (first !== undefined && first.revision > 1) {
    return { ...removedRevisions(first.revision), known_from: timeJson(first.knownAt, {}) }
  }
  return {
    code: 'not_known_yet',
    message: 'Nothing was known of the market at that time.',
    known_from: first === undefined ? null : timeJson(first.knownAt, {}),
  }
}
