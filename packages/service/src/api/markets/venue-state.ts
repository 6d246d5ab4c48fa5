import type { Gap, VenueId } from '@priorbook/sdk/domain'
import { DOCUMENTED_DAYS } from '@priorbook/sdk/wire'
import type { StoreReader } from '../../store/store.ts'

const { status: DAYS } = DOCUMENTED_DAYS
const DAY = 86_400_000_000
// Max incidents per venue.
const MAX_INCIDENTS = 200
// Clients poll the status, and every read visits all instruments of a venue.
const MAX_AGE_MS = 2000

/** What the store knows of a venue as a whole. */
export type VenueState = {
  readonly venue: VenueId
  readonly instruments: number
  readonly lastReceived: number
  readonly openGaps: number
  readonly incidents: readonly Gap[]
}

const cached = new WeakMap<StoreReader, Map<VenueId, { at: number; state: VenueState }>>()

/** Reads the state of a venue; it may be two seconds old. */
export async function readVenueState(
  store: StoreReader,
  venue: VenueId,
  now: number,
): Promise<VenueState> {
  let known = cached.get(store)
  if (known === undefined) cached.set(store, (known = new Map()))
  const before = known.get(venue)
  if (before !== undefined && Math.abs(now - before.at) < MAX_AGE_MS * 1000) return before.state
  const facts = await store.instruments(venue)
  const open = (await store.gaps({ venue, open: true })).filter(({ reason }) => !isOver(reason))
  const lately = await store.gaps({ venue, key: '', start: now - DAYS * DAY, end: now })
  const whole = [...lately, ...open].filter(({ scope }) => scope === 'venue')
  const state: VenueState = {
    venue,
    instruments: facts.length,
    lastReceived: facts.reduce((last, { lastReceived }) => Math.max(last, lastReceived), 0),
    openGaps: open.length,
    incidents: [...new Map(whole.map((gap) => [`${gap.start} ${gap.reason}`, gap])).values()].slice(
      -MAX_INCIDENTS,
    ),
  }
  known.set(venue, { at: now, state })
  return state
}

// Open gaps for these reasons are not failures of the recorder.
function isOver(reason: Gap['reason']): boolean {
  return ['before_capture', 'market_not_open', 'market_closed', 'retention'].includes(reason)
}
