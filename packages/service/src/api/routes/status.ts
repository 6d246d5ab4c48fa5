import { GAP_REASONS, printMicros, type Gap, type VenueId } from '@priorbook/sdk/domain'
import { contractOf, DOCUMENTED_DAYS } from '@priorbook/sdk/wire'
import type { Store } from '../../store/store.ts'
import { defineRoute } from '../route.ts'
import type { RecorderPulse, StreamPulse, VenuePulse } from '../../lib/pulse.ts'
import { callerOf } from '../auth/grant.ts'

const { status: DAYS } = DOCUMENTED_DAYS
const DAY = 86_400_000_000
const MAX_INCIDENTS = 200
// Status is asked for often and all of it is found by looking at every instrument of a venue.
const REMEMBER_MS = 2000

/** `/v3/status`: how the service is doing, with the incidents of whole venues. */
export const statusRoute = defineRoute(contractOf('status'), async ({ grant }, context) => {
  const { store, now, server } = context
  const caller = callerOf(grant)
  const recorder = server?.recorder()
  const stream = server?.stream()
  const seen = caller.terms.venues.filter((venue) => caller.allowsVenue(venue))
  const states = await Promise.all(seen.map((venue) => look(store, venue, now())))
  const venues = states.map((state) => venueRow(state, recorder))
  const incidents = states.flatMap(({ incidents }) => incidents.map(incidentRow))
  incidents.sort((a, b) => (a.start_time < b.start_time ? 1 : -1))
  const isWell = venues.every(({ state }) => state === 'recording')
  const data = {
    state: recorder === undefined ? 'not_recording' : isWell ? 'operational' : 'degraded',
    recorder:
      recorder === undefined
        ? null
        : {
            lag_p50_ms: round(recorder.lagP50Ms),
            lag_p99_ms: round(recorder.lagP99Ms),
            disk_full: recorder.isDiskFull,
          },
    stream: stream === undefined ? null : streamRow(stream),
    venues,
    incidents,
  }
  return { kind: 'data', data, count: 1, meta: {} }
})

type VenueState = {
  readonly venue: VenueId
  readonly instruments: number
  readonly lastReceived: number
  readonly openGaps: number
  readonly incidents: readonly Gap[]
}

const remembered = new WeakMap<Store, Map<VenueId, { at: number; state: VenueState }>>()

async function look(store: Store, venue: VenueId, now: number): Promise<VenueState> {
  let known = remembered.get(store)
  if (known === undefined) remembered.set(store, (known = new Map()))
  const before = known.get(venue)
  if (before !== undefined && Math.abs(now - before.at) < REMEMBER_MS * 1000) return before.state
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

// Open ends of what was never or will never be observed are no trouble of the recorder.
function isOver(reason: Gap['reason']): boolean {
  return ['before_capture', 'market_not_open', 'market_closed', 'retention'].includes(reason)
}

function venueRow(state: VenueState, recorder: RecorderPulse | undefined) {
  const { venue, instruments, lastReceived, openGaps, incidents } = state
  const live = recorder?.venues[venue]
  const isInterrupted = incidents.some(({ end }) => end === undefined)
  const isRecording = live?.state === 'recording'
  return {
    venue,
    state:
      live === undefined
        ? 'not_recording'
        : isRecording && !isInterrupted
          ? 'recording'
          : 'interrupted',
    detail: live === undefined || live.detail === '' ? null : live.detail,
    instruments,
    last_received_time: lastReceived === 0 ? null : printMicros(lastReceived as Gap['start']),
    open_gaps: openGaps,
    capture: live?.capture === undefined ? null : captureRow(live.capture, live.booksOpen),
  }
}

function captureRow(capture: VenuePulse, booksOpen: number) {
  const { markets, books, sockets, messages, quota } = capture
  const { observations, trades, samples, gaps, quarantined } = capture
  return {
    markets,
    books,
    books_open: booksOpen,
    sockets,
    messages,
    messages_per_second: round(capture.messagesPerSecond),
    observations,
    trades,
    samples,
    gaps,
    quarantined,
    quota:
      quota === undefined
        ? null
        : {
            limit: quota.limit,
            window_ms: quota.windowMs,
            used: quota.used,
            refused: quota.refused,
          },
  }
}

function streamRow({ connections, subscriptions, instruments, messagesPerSecond }: StreamPulse) {
  return { connections, subscriptions, instruments, messages_per_second: messagesPerSecond }
}

function incidentRow({ venue, reason, start, end, detail }: Gap) {
  return {
    venue,
    state: end === undefined ? 'open' : 'resolved',
    reason,
    summary: GAP_REASONS[reason],
    start_time: printMicros(start),
    end_time: end === undefined ? null : printMicros(end),
    detail: detail ?? null,
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
