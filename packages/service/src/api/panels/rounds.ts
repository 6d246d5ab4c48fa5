import type { MarketRecord, VenueId } from '@priorbook/sdk/domain'
import { walkMarkets } from '../markets/lists.ts'
import type { PlanFilter } from '../markets/plan-filter.ts'
import type { ApiContext, CursorState } from '../route.ts'

/** Which rounds: those of an asset and a length that close in [from, end), at some venues or at all. */
export type RoundQuery = {
  readonly asset: string
  readonly window: string
  readonly venues: readonly VenueId[] | undefined
  readonly from: number
  readonly end: number
  readonly order: 'asc' | 'desc'
}

/** A round and its place in the walk. */
export type Round = {
  readonly record: MarketRecord
  readonly closeTime: number
  readonly place: CursorState
}

/** The next rounds of a walk, by (close time, venue, id). */
export type WalkedRounds = {
  readonly rounds: readonly Round[]
  /** Where the walk goes on; undefined at its end. */
  readonly next: CursorState | undefined
}

/** Reads at most `limit` rounds after a place; from the first one where it is undefined. */
export async function walkRounds(
  context: ApiContext,
  query: RoundQuery,
  plan: PlanFilter,
  after: CursorState | undefined,
  limit: number,
): Promise<WalkedRounds> {
  const { asset, window, venues, from, order } = query
  const isWanted = (venue: VenueId): boolean => venues?.includes(venue) ?? true
  const filters = {
    asset,
    window,
    sort: 'close_time',
    ...(venues?.length === 1 && { venue: venues[0] }),
    // The range of the store leaves out what closes at its start.
    ...(from > 0 && { start: from - 1 }),
  } as const
  // One more than asked tells whether there is a next page.
  const page = { limit: limit + 1, order, state: after ?? edgeOf(query) }
  const { markets, next, hasMore } = await walkMarkets(context, filters, page, {
    includesAll: plan.includesAll && venues === undefined,
    includesAsset: (venue, own) => isWanted(venue) && plan.includesAsset(venue, own),
    includes: (record) => isWanted(record.venue) && plan.includes(record),
  })
  const found: Round[] = []
  for (const { record, sortTime, sortValue } of markets) {
    if (sortValue === null || isBeyond(query, sortValue)) return cut(found, limit, undefined)
    const { venue, marketId } = record
    const place = { time: sortTime, venue, id: marketId, value: sortValue }
    found.push({ record, closeTime: sortValue, place })
  }
  const last = next?.['value']
  const isOver = !hasMore || typeof last !== 'number' || isBeyond(query, last)
  return cut(found, limit, isOver ? undefined : next)
}

function cut(found: readonly Round[], limit: number, next: CursorState | undefined): WalkedRounds {
  if (found.length <= limit) return { rounds: found, next }
  return { rounds: found.slice(0, limit), next: found[limit - 1]!.place }
}

// Before the first round of the range: no venue and no id comes before the empty ones. Newest first the
// order is reversed, and rounds that close at the end itself come before this place.
function edgeOf({ from, end, order }: RoundQuery): CursorState {
  return { time: 0, venue: '', id: '', value: order === 'asc' ? from : end }
}

function isBeyond({ from, end, order }: RoundQuery, closeTime: number): boolean {
  return order === 'asc' ? closeTime >= end : closeTime < from
}
