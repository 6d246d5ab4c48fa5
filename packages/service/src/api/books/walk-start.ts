import type { Micros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { ApiContext, CursorState, Grant } from '../route.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { InstrumentFacts } from '../../store/store.ts'
import type { BookTarget } from './book-target.ts'
import { Receipt } from './receipt.ts'
import type { SourceRange } from './source-rows.ts'
import { fromCursorState, type Lane, type Walk } from './walk.ts'

/** What a paged request asks for. */
export type WalkRequest = {
  readonly startTime: Micros | undefined
  readonly endTime: Micros | undefined
  readonly clock: 'received' | 'source'
  readonly knownAt: Micros | undefined
}

/** A walk with what the plan does to it. */
export type OpenedWalk = {
  readonly walk: Walk
  readonly source?: SourceRange | undefined
  /** Where the plan's window starts, if it leaves something of the range out. */
  readonly cutAt?: Micros | undefined
}

// Larger than any sequence or time, and one more is still exact.
const UNBOUNDED = Number.MAX_SAFE_INTEGER - 1

// A bucket that ended less than this before the first page may still get rows that are on their way.
const SETTLE_MICROS = 1_000_000

// The start of a plan's window moves on: a walk keeps the one it began with for so long.
const WINDOW_GRACE_MICROS = 3_600_000_000

/** Begins a walk: pins its end and the rows that it goes over. */
export async function openWalk(
  context: ApiContext,
  grant: Grant,
  { instruments, known }: Pick<BookTarget, 'instruments' | 'known'>,
  request: WalkRequest,
): Promise<OpenedWalk> {
  const { startTime, endTime, clock, knownAt } = request
  if (startTime !== undefined && endTime !== undefined && endTime <= startTime) {
    throw new Problem('invalid_range', 'end_time is not after start_time', {
      param: 'end_time',
      hint: 'The range is from start_time up to, but without, end_time.',
    })
  }
  const now = context.now()
  const recorded: (InstrumentFacts | undefined)[] = []
  for (const { key } of instruments) recorded.push(await known.instrument(key))
  const firstReceived = Math.min(...recorded.map((facts) => facts?.firstReceived ?? Infinity))
  // The recorder's clock may be ahead of ours: what is stored has been received.
  const present = Math.max(now, ...recorded.map((facts) => (facts?.lastReceived ?? 0) + 1))
  const latest = Math.min(present, knownAt === undefined ? Infinity : knownAt + 1)
  const asked = clock === 'received' ? { start: startTime ?? 0, end: endTime ?? Infinity } : ALL
  const window = grant.windowStart(now)
  const end = Math.min(asked.end, latest)
  const start = Math.min(Math.max(asked.start, window), Math.max(end, asked.start))
  const shown = clock === 'received' ? start : (startTime ?? 0)
  const isPast = knownAt !== undefined && knownAt < now
  const walk: Walk = {
    settled: Math.min(end, now - SETTLE_MICROS),
    start,
    shownStart: shown > 0 ? shown : Number.isFinite(firstReceived) ? firstReceived : -1,
    end,
    lanes: instruments.map((instrument, index) => toLane(instrument, recorded[index], end, isPast)),
    receipt: Receipt.create(),
  }
  const isCut = (asked.start > 0 ? asked.start : firstReceived) < window
  return {
    walk,
    ...(clock === 'source' && { source: toSourceRange(request) }),
    ...(isCut && { cutAt: window }),
  }
}

// The rows that a walk goes over. What was known in the past may have other sequences, and where a later
// row is stored no other one can come before it: both are pinned by time alone.
function toLane(
  instrument: MarketInstrument,
  facts: InstrumentFacts | undefined,
  end: number,
  isPast: boolean,
): Lane {
  const { lastSequence: last = 0, lastReceived = 0 } = facts ?? {}
  return isPast || lastReceived >= end
    ? { instrument, last: UNBOUNDED, lastReceived: UNBOUNDED }
    : { instrument, last, lastReceived }
}

/** Goes on with a walk where its cursor says. */
export function resumeWalk(
  context: ApiContext,
  grant: Grant,
  instruments: readonly MarketInstrument[],
  request: WalkRequest,
  state: CursorState,
): OpenedWalk {
  const walk = fromCursorState(state, instruments)
  const window = grant.windowStart(context.now())
  const isCut = walk.start < window - WINDOW_GRACE_MICROS
  return {
    walk: isCut ? { ...walk, start: window } : walk,
    ...(request.clock === 'source' && { source: toSourceRange(request) }),
    ...(isCut && { cutAt: window }),
  }
}

const ALL = { start: 0, end: Infinity }

function toSourceRange({ startTime, endTime }: WalkRequest): SourceRange {
  return { sourceStart: startTime ?? 0, sourceEnd: endTime ?? Infinity }
}
