import type { GapReason, VenueId } from '@priorbook/sdk/domain'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { FaultKind } from '../../packages/emulator/src/faults/fault.ts'

/** What went wrong on a venue's wire, by the log: what a gap may name as its reason. */
export type Incidents = {
  /** Frames that were lost, swapped or spoiled, and connections that closed or were refused. */
  readonly moments: readonly { readonly kind: Moment; readonly at: number }[]
  readonly spans: readonly Readonly<Span>[]
}

/**
 * A fault; a socket without a data frame for longer than its watchdog waits, whatever kept it; or the time
 * in which a frame was kept back and others went before it.
 */
type Span = { kind: FaultKind | 'silence' | 'held'; from: number; to: number }

type Moment = 'lost' | 'spoiled' | 'closed' | 'failed'

/** What each reason needs within its gap: one of these moments, or one of these spans. */
type Causes = { readonly moments: readonly Moment[]; readonly spans: readonly Span['kind'][] }

const CAUSES: Readonly<Partial<Record<GapReason, Causes>>> = {
  // A clock that is set back makes changes look old.
  sequence_break: { moments: ['lost', 'spoiled'], spans: ['clock_skew', 'held'] },
  rejected: { moments: ['spoiled'], spans: [] },
  disconnected: { moments: ['closed', 'failed'], spans: ['refuse', 'http_5xx', 'http_slow'] },
  venue_silent: {
    moments: [],
    spans: [
      'silence',
      'stall',
      'half_open',
      'slow',
      'http_5xx',
      'http_slow',
      'refuse',
      'malformed',
    ],
  },
  quota: { moments: [], spans: ['http_429', 'http_slow', 'http_5xx', 'refuse'] },
}

/** Reasons that tell of time without news: they stand for themselves once it is this long (µs). */
const SILENCES: Readonly<Partial<Record<GapReason, number>>> = {
  venue_silent: 2_500_000,
  quota: 3_000_000,
}
const WATCHDOG_MICROS = 5_000_000
const SLOWEST_MICROS = 2_000_000

/** Gathers what went wrong of each venue. */
export function gatherIncidents(entries: readonly TruthEntry[]): ReadonlyMap<VenueId, Incidents> {
  const found = new Map<VenueId, { moments: { kind: Moment; at: number }[]; spans: Span[] }>()
  const faults = new Map<string, Span>()
  const heard = new Map<string, number>()
  for (const entry of entries) {
    const { venue, at } = entry
    let own = found.get(venue)
    if (own === undefined) found.set(venue, (own = { moments: [], spans: [] }))
    if (entry.type === 'fault') {
      const name = `${venue} ${entry.fault.id}`
      const span = faults.get(name) ?? { kind: entry.fault.fault.kind, from: at, to: Infinity }
      // Times of a wrong clock are on the wire for as long as a slow one holds them.
      const isClock = span.kind === 'clock_skew'
      if (entry.state === 'ended') span.to = at + (isClock ? SLOWEST_MICROS : 0)
      else own.spans.push(span)
      faults.set(name, span)
      continue
    }
    const kind = momentOf(entry)
    if (kind !== undefined) own.moments.push({ kind, at })
    const since = entry.type === 'frame' ? entry.held : undefined
    if (since !== undefined) own.spans.push({ kind: 'held', from: since, to: at })
    const isLost = kind === 'lost' && entry.type === 'frame' && entry.delivered !== 'reordered'
    if ((entry.type !== 'frame' && entry.type !== 'connection') || isLost) continue
    const from = heard.get(entry.connection) ?? at
    if (at - from > WATCHDOG_MICROS) own.spans.push({ kind: 'silence', from, to: at })
    heard.set(entry.connection, at)
  }
  return found
}

/** True when a fault, a silence or the end of a connection lies in this time. */
export function isTroubled(incidents: Incidents | undefined, from: number, to: number): boolean {
  const { moments = [], spans = [] } = incidents ?? {}
  return (
    spans.some((one) => one.from <= to && one.to >= from) ||
    moments.some(({ kind, at }) => kind === 'closed' && from <= at && at <= to)
  )
}

/** Why the reason of a gap is not the right one; undefined where the log bears it out. */
export function judgeReason(
  reason: GapReason,
  from: number,
  to: number,
  incidents: Incidents | undefined,
): string | undefined {
  const causes = CAUSES[reason]
  const silence = SILENCES[reason]
  if (causes === undefined || (silence !== undefined && to - from >= silence)) return undefined
  const { moments = [], spans = [] } = incidents ?? {}
  const isBorneOut =
    moments.some(({ kind, at }) => causes.moments.includes(kind) && from <= at && at <= to) ||
    spans.some((one) => causes.spans.includes(one.kind) && one.from <= to && one.to >= from)
  return isBorneOut ? undefined : `nothing in it is a ${reason}`
}

function momentOf(entry: TruthEntry): Moment | undefined {
  if (entry.type === 'untaken') return 'failed'
  if (entry.type === 'answer') return entry.status === 200 ? undefined : 'failed'
  if (entry.type === 'connection') return entry.state === 'opened' ? undefined : 'closed'
  if (entry.type !== 'frame') return undefined
  switch (entry.delivered) {
    case 'dropped':
    case 'stalled':
    case 'reordered':
      return 'lost'
    case 'malformed':
    case 'oversized':
      return 'spoiled'
    default:
      return undefined
  }
}
