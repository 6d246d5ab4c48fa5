import type { Micros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import {
  printList,
  printPositions,
  readList,
  readPositions,
  ReceiptCounts,
} from '../../rows/index.ts'
import type { InstrumentFacts } from '../../store/store.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext, CursorState, Grant } from '../route.ts'
import type { BookTarget } from './book-target.ts'

/**
 * The state of a walk over pages of books. The first page fixes which rows it covers: those stored then,
 * from the start of the range to its pinned end. Rows stored later belong to another walk.
 */
export type Walk = {
  /** Buckets that end after this time may still change. */
  readonly settled: number
  /** Inclusive received time; 0: from the first row. */
  readonly start: number
  /** The start that `meta.range` shows: that of the first row where none was given; −1: no rows. */
  readonly shownStart: number
  /** Exclusive received time, pinned. */
  readonly end: number
  readonly lanes: readonly WalkLane[]
  /** The received time of the last row before this page; absent on the first page. */
  readonly received?: number | undefined
  readonly receipt: ReceiptCounts
  /** True where an earlier version of the service served the first pages: their rows are not counted. */
  readonly isReceiptPartial: boolean
  /** The requested range, where it is one by source time. */
  readonly sourceRange?: SourceRange | undefined
  /** The start of the plan's window, where it cuts the range. */
  readonly cutAt?: Micros | undefined
}

/** One instrument of a walk. */
export type WalkLane = {
  readonly instrument: MarketInstrument
  /** The last sequence that the walk has passed; absent before the first. */
  readonly position?: number | undefined
  /** The last sequence that was stored when the walk began, and its received time; 0: none. */
  readonly last: number
  readonly lastReceived: number
  /** Interval sampling: where the next bucket starts (ascending) or ends (descending). */
  readonly bound?: number | undefined
}

/** A range by source time: start inclusive, end exclusive. */
export type SourceRange = { readonly sourceStart: number; readonly sourceEnd: number }

/** The parameters of a paged request that decide its walk. */
export type WalkQuery = {
  readonly start_time?: Micros | undefined
  readonly end_time?: Micros | undefined
  readonly clock?: 'received' | 'source' | undefined
  readonly known_at?: Micros | undefined
}

// Larger than any sequence or time, and one more is still exact.
const UNBOUNDED = Number.MAX_SAFE_INTEGER - 1

// A bucket that ended less than this before the first page may still get rows that are being stored.
const SETTLE_MICROS = 1_000_000

// The start of a plan's window moves on: for this long a walk keeps the one it began with.
const WINDOW_GRACE_MICROS = 3_600_000_000

/** Begins a walk: pins its end and the rows that it covers. */
export async function openWalk(
  context: ApiContext,
  grant: Grant,
  { instruments, cache }: BookTarget,
  query: WalkQuery,
): Promise<Walk> {
  const { start_time: startTime, end_time: endTime, known_at: knownAt } = query
  if (startTime !== undefined && endTime !== undefined && endTime <= startTime) {
    throw new Problem('invalid_range', 'end_time is not after start_time', {
      param: 'end_time',
      hint: 'The range is from start_time up to, but without, end_time.',
    })
  }
  const now = context.now()
  const recorded: (InstrumentFacts | undefined)[] = []
  for (const { key } of instruments) recorded.push(await cache.instrument(key))
  const firstReceived = Math.min(...recorded.map((facts) => facts?.firstReceived ?? Infinity))
  // The recorder's clock may be ahead of ours: stored rows have been received.
  const present = Math.max(now, ...recorded.map((facts) => (facts?.lastReceived ?? 0) + 1))
  const latest = Math.min(present, knownAt === undefined ? Infinity : knownAt + 1)
  const sourceRange = sourceRangeOf(query)
  const asked =
    sourceRange === undefined ? { start: startTime ?? 0, end: endTime ?? Infinity } : ALL
  const window = grant.windowStart(now)
  const end = Math.min(asked.end, latest)
  const start = Math.min(Math.max(asked.start, window), Math.max(end, asked.start))
  const shown = sourceRange === undefined ? start : sourceRange.sourceStart
  const isPast = knownAt !== undefined && knownAt < now
  const isCut = (asked.start > 0 ? asked.start : firstReceived) < window
  return {
    settled: Math.min(end, now - SETTLE_MICROS),
    start,
    shownStart: shown > 0 ? shown : Number.isFinite(firstReceived) ? firstReceived : -1,
    end,
    lanes: instruments.map((instrument, index) => toLane(instrument, recorded[index], end, isPast)),
    receipt: new ReceiptCounts(),
    isReceiptPartial: false,
    sourceRange,
    cutAt: isCut ? window : undefined,
  }
}

/** Continues a walk from its cursor. */
export function resumeWalk(
  context: ApiContext,
  grant: Grant,
  instruments: readonly MarketInstrument[],
  query: WalkQuery,
  state: CursorState,
): Walk {
  const walk = fromCursorState(state, instruments)
  const window = grant.windowStart(context.now())
  const isCut = walk.start < window - WINDOW_GRACE_MICROS
  return {
    ...walk,
    start: isCut ? window : walk.start,
    sourceRange: sourceRangeOf(query),
    cutAt: isCut ? window : undefined,
  }
}

/** The walk as a cursor holds it. */
export function toCursorState({ lanes, ...walk }: Walk): CursorState {
  const positions = lanes.map(({ position }) => position)
  const bounds = lanes.map(({ bound }) => bound)
  const keys = lanes.map(({ instrument }) => instrument.key)
  return {
    d: walk.settled,
    s: walk.start,
    v: walk.shownStart,
    e: walk.end,
    ...printPositions({ lanes: positions, received: walk.received }),
    l: printList(lanes.map(({ last }) => last)),
    r: printList(lanes.map(({ lastReceived }) => lastReceived)),
    ...(bounds.some((bound) => bound !== undefined) && { b: printList(bounds) }),
    [walk.isReceiptPartial ? 'c' : 'n']: walk.isReceiptPartial
      ? String(walk.receipt.rows)
      : walk.receipt.toText(keys),
  }
}

// Cursors of version 0.1 have a member `c` that begins with the number of rows; the rest of it was for
// another form of receipt. Only signed states come here.
function fromCursorState(state: CursorState, instruments: readonly MarketInstrument[]): Walk {
  const keys = instruments.map(({ key }) => key)
  const positions = readPositions(state, keys)
  const last = readList(state['l'], keys.length)
  const lastReceived = readList(state['r'], keys.length)
  const bounds = readList(state['b'], keys.length)
  const isReceiptPartial = state['n'] === undefined
  const receipt = ReceiptCounts.fromText(isReceiptPartial ? '0' : String(state['n']), keys)
  if (isReceiptPartial) receipt.rows = Number(String(state['c']).split(' ', 1)[0])
  return {
    settled: Number(state['d']),
    start: Number(state['s']),
    shownStart: Number(state['v']),
    end: Number(state['e']),
    lanes: instruments.map((instrument, lane) => ({
      instrument,
      position: positions.lanes[lane],
      last: last[lane] ?? 0,
      lastReceived: lastReceived[lane] ?? 0,
      bound: bounds[lane],
    })),
    received: positions.received,
    receipt,
    isReceiptPartial,
  }
}

// Sequences of rows known in the past may differ, and where a later row is stored none can come before
// it: both are pinned by time alone.
function toLane(
  instrument: MarketInstrument,
  facts: InstrumentFacts | undefined,
  end: number,
  isPast: boolean,
): WalkLane {
  const { lastSequence: last = 0, lastReceived = 0 } = facts ?? {}
  return isPast || lastReceived >= end
    ? { instrument, last: UNBOUNDED, lastReceived: UNBOUNDED }
    : { instrument, last, lastReceived }
}

const ALL = { start: 0, end: Infinity }

function sourceRangeOf({ clock, start_time, end_time }: WalkQuery): SourceRange | undefined {
  if (clock !== 'source') return undefined
  return { sourceStart: start_time ?? 0, sourceEnd: end_time ?? Infinity }
}
