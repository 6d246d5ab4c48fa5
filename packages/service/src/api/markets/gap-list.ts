import { parseReferenceKey, type Gap, type GapIdentity, type VenueId } from '@priorbook/sdk/domain'
import { sharedGapKeys } from '../../rows/index.ts'
import { fromHistoryKey, type GapQuery, type StoreReader } from '../../store/store.ts'
import type { CursorState, ApiContext } from '../route.ts'
import { sees } from './find.ts'
import type { PlanFilter } from './plan-filter.ts'

/** The members of a cursor that name the last gap of a page. */
export function gapState(gap: Gap): CursorState {
  const { start, afterSequence: sequence, venue, key, reason, scope } = gap
  return { start, sequence, venue, key, reason, scope }
}

/** Reads them back; undefined on the first page. */
export function gapInState(state: CursorState): GapIdentity | undefined {
  const { start, sequence: afterSequence, venue, key, reason, scope } = state
  if (start === undefined) return undefined
  return { start, afterSequence, venue, key, reason, scope } as GapIdentity
}

/** The wanted gaps after a gap of the list, at most `limit + 1`, read page by page. */
export async function gapsAfter(
  store: StoreReader,
  query: GapQuery,
  last: GapIdentity | undefined,
  limit: number,
  isWanted: (gap: Gap) => Promise<boolean>,
): Promise<Gap[]> {
  const found: Gap[] = []
  let after = last
  for (;;) {
    const gaps = await store.gaps({ ...query, after, limit: limit + 1 })
    for (const gap of gaps) {
      if (await isWanted(gap)) found.push(gap)
      if (found.length > limit) return found
    }
    if (gaps.length <= limit) return found
    after = gaps.at(-1)!
  }
}

/** A filter of the gaps that a plan includes: by venue, and by asset where the plan has not all. */
export function gapFilter({ store }: ApiContext, plan: PlanFilter): (gap: Gap) => Promise<boolean> {
  const { grant } = plan
  const known = new Map<string, boolean>()
  const isShown = async (venue: VenueId, key: string): Promise<boolean> => {
    if (grant.allows(venue, undefined)) return true
    if (!sees(grant, venue)) {
      plan.leaveOutVenue(venue)
      return false
    }
    if (sharedGapKeys(venue).includes(key)) return true
    const reference = parseReferenceKey(key)
    if (reference !== undefined) return plan.includesAsset(venue, reference.asset)
    const own = fromHistoryKey(key)
    // A token may have only rows of its history.
    const marketId =
      (await store.marketOf({ venue, key })) ?? (await store.marketOf({ venue, key: own })) ?? own
    const state = await store.market(venue, marketId)
    return plan.includes(state?.record ?? { venue, marketId })
  }
  return async ({ venue, key }) => {
    const name = `${venue} ${key}`
    const before = known.get(name)
    if (before !== undefined) return before
    const answer = await isShown(venue, key)
    known.set(name, answer)
    return answer
  }
}
