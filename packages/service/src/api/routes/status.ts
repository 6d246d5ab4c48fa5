import { GAP_REASONS, printMicros, type Micros } from '@priorbook/sdk/domain'
import { contractOf } from '@priorbook/sdk/wire'
import type { RecorderPulse, StreamPulse, VenuePulse } from '../../lib/pulse.ts'
import type { Incident } from '../../store/store.ts'
import { callerOf } from '../auth/grant.ts'
import { readVenueState, type VenueState } from '../markets/venue-state.ts'
import { defineRoute } from '../route.ts'

/** `/v3/status`: the state of the service, with the incidents of whole venues. */
export const statusRoute = defineRoute(contractOf('status'), async ({ grant }, context) => {
  const { store, now, server } = context
  const caller = callerOf(grant)
  const recorder = server?.recorder()
  const stream = server?.stream()
  const seen = caller.terms.venues.filter((venue) => caller.allowsVenue(venue))
  const states = await Promise.all(seen.map((venue) => readVenueState(store, venue, now())))
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

function venueRow(state: VenueState, recorder: RecorderPulse | undefined) {
  const { venue, instruments, lastReceived, openGaps, incidents } = state
  const live = recorder?.venues[venue]
  const isInterrupted = incidents.some(({ end }) => end === undefined)
  // Without credentials books are polled: they are recorded as long as none of them is missing.
  const isPolled =
    live?.state === 'no_credentials' &&
    live.booksOpen > 0 &&
    (openGaps === 0 || live.booksOpen >= (live.capture?.books ?? Infinity))
  const isRecording = live?.state === 'recording' || isPolled
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
    last_received_time: lastReceived === 0 ? null : printMicros(lastReceived as Micros),
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

function incidentRow({ venue, reason, start, end, books, detail }: Incident) {
  return {
    venue,
    state: end === undefined ? 'open' : 'resolved',
    reason,
    summary: GAP_REASONS[reason],
    start_time: printMicros(start as Micros),
    end_time: end === undefined ? null : printMicros(end as Micros),
    books,
    detail: detail ?? null,
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
