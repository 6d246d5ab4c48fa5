import { DAY_MICROS, isRecordingFailure, type GapReason, type VenueId } from '@priorbook/sdk/domain'
import { DOCUMENTED_DAYS } from '@priorbook/sdk/wire'
import type { Incident, StoreReader } from '../../store/store.ts'

const { status: DAYS } = DOCUMENTED_DAYS
// Max incidents per venue.
const MAX_INCIDENTS = 200

/** What the store knows of a venue as a whole. */
export type VenueState = {
  readonly venue: VenueId
  readonly instruments: number
  readonly lastReceived: number
  readonly openGaps: number
  readonly incidents: readonly Incident[]
}

/** Reads the state of a venue from the sums that the store keeps. */
export async function readVenueState(
  store: StoreReader,
  venue: VenueId,
  now: number,
): Promise<VenueState> {
  const { instruments, lastReceived, openGaps } = await store.totals(venue)
  const range = { start: now - DAYS * DAY_MICROS, end: now, limit: MAX_INCIDENTS }
  const failures = Object.entries(openGaps).filter(([reason]) =>
    isRecordingFailure(reason as GapReason),
  )
  return {
    venue,
    instruments,
    lastReceived,
    openGaps: failures.reduce((sum, [, count]) => sum + count, 0),
    incidents: await store.incidents({ venue, ...range }),
  }
}
