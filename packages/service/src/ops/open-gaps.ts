import {
  compareGaps,
  GAP_REASONS,
  isRecordingFailure,
  VENUE_IDS,
  type Gap,
  type GapReason,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { GapQuery, StoreReader } from '../store/store.ts'

/** How many gaps of books are open now, by venue and reason. */
export type OpenGaps = readonly {
  readonly venue: VenueId
  readonly reason: GapReason
  readonly count: number
}[]

/** The reasons that an operator may have to act on. */
export const FAILURES = (Object.keys(GAP_REASONS) as GapReason[]).filter(isRecordingFailure)

/** Counts the open gaps from the sums that the store keeps. */
export async function countOpenGaps(store: StoreReader): Promise<OpenGaps> {
  const found: OpenGaps[number][] = []
  for (const venue of VENUE_IDS) {
    const { openGaps } = await store.totals(venue)
    for (const reason of FAILURES) {
      const count = openGaps[reason] ?? 0
      if (count > 0) found.push({ venue, reason, count })
    }
  }
  return found
}

/** Which open gaps to list, oldest first. */
export type OpenGapQuery = Pick<GapQuery, 'venue' | 'reason' | 'after'> & { readonly limit: number }

/** Lists open gaps, without spans in which markets were not open. */
export async function listOpenGaps(
  store: StoreReader,
  { reason, ...query }: OpenGapQuery,
): Promise<readonly Gap[]> {
  const found: Gap[] = []
  for (const one of reason === undefined ? FAILURES : [reason]) {
    found.push(...(await store.gaps({ ...query, reason: one, open: true })))
  }
  return found.toSorted(compareGaps).slice(0, query.limit)
}
