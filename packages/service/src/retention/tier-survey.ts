import type { VenueId } from '@priorbook/sdk/domain'
import {
  KEPT_START,
  type EmbeddedStore,
  type KeptPlace,
  type TapeTier,
} from '../store/embedded/open.ts'
import { AgeBuckets } from './age-buckets.ts'

/** What a tape keeps of one kind of data, by venue and age. */
export type TierSurvey = ReadonlyMap<VenueId, AgeBuckets>

/**
 * Adds up what a tape keeps of one kind of data, step by step: as many steps as it has thousands of chunks. `rest` lets
 * others run between two of them, and is told what was counted so far.
 */
export async function surveyTier(
  store: Pick<EmbeddedStore, 'listKept'>,
  tier: TapeTier,
  rest: (counted: TierSurvey) => Promise<void>,
): Promise<TierSurvey> {
  const kept = new Map<VenueId, AgeBuckets>()
  for (let at: KeptPlace | undefined = KEPT_START; at !== undefined;) {
    const { pieces, next } = await store.listKept(tier, at)
    for (const { venue, received, bytes } of pieces) {
      let buckets = kept.get(venue)
      if (buckets === undefined) kept.set(venue, (buckets = new AgeBuckets()))
      buckets.add(received, bytes)
    }
    at = next
    await rest(kept)
  }
  return kept
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
// A survey is followed by a rest of twenty times its length, so that surveys take little even of their share.
const REST_FACTOR = 20

/**
 * How long a survey that took so long stays good enough. A limit of bytes needs it: at least every hour, and again at
 * once where the limit is near. Ages do not: there it only says how much is kept.
 */
export function restAfterSurvey(
  tookMs: number,
  { hasByteLimit, isNear }: { readonly hasByteLimit: boolean; readonly isNear: boolean },
): number {
  if (isNear) return 0
  return Math.min(tookMs * REST_FACTOR, hasByteLimit ? HOUR_MS : DAY_MS)
}
