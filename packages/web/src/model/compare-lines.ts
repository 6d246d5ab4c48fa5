import type { ContractBooksJson, ContractJson, ContractSnapshotJson } from '@priorbook/sdk/client'
import { VENUES } from '@priorbook/sdk/domain'
import type { GapJson } from '@priorbook/sdk/wire'
import { gapsOfInstrument, type GapSpan } from './gap.ts'
import { microsOf, microsOrAbsent } from './time.ts'

type Member = Pick<ContractJson['members'][number], 'venue' | 'market_id' | 'yes'>

/** The gaps that concern the book of a member which is Yes of the contract. */
export function gapsOfMember(gaps: readonly GapJson[], member: Member): readonly GapSpan[] {
  const { venue, market_id: id, yes } = member
  const own = gaps.filter((gap) => gap.venue === venue)
  const key = VENUES[venue].booksPer === 'token' ? (yes.token_id ?? id) : id
  return gapsOfInstrument(own, key, id)
}

/** Best prices from a time on, for pixels. */
type Point = {
  readonly time: number
  readonly bid: number | null
  readonly ask: number | null
  /** False where no book is known; a book that is known may be empty. */
  readonly isKnown: boolean
}

/** The best prices of one member over time: each point is valid until the next one. */
export type MemberPoints = readonly Point[]

// One microsecond: a line ends at its last instant, and the next one is empty.
const AFTER = 1

/**
 * Turns aligned snapshots into the points of one member. A book is valid until the next one, or until a gap
 * begins; what a snapshot gives a reason for is not known. `until` is how far the last book is valid.
 */
export function toPoints(
  rows: readonly ContractSnapshotJson[],
  place: number,
  gaps: readonly GapSpan[],
  until: number,
): MemberPoints {
  const points: Point[] = []
  for (const row of rows) {
    const quote = row.members[place]
    if (quote === undefined) continue
    const time = microsOrAbsent(quote.received_time)
    if (time !== undefined) {
      points.push({
        time,
        bid: pixel(quote.best_bid),
        ask: pixel(quote.best_ask),
        isKnown: true,
      })
    } else if (quote.reason !== 'no_observation') {
      points.push({ ...NOTHING, time: microsOf(row.bucket_start) })
    }
  }
  for (const { start } of gaps) points.push({ ...NOTHING, time: start + AFTER })
  points.push({ ...NOTHING, time: until + AFTER })
  // At one time the end of a line comes last: after a gap nothing is known until the next row.
  return points.sort((a, b) => a.time - b.time).filter(({ time }) => time <= until + AFTER)
}

const NOTHING = { bid: null, ask: null, isKnown: false } as const

function pixel(value: string | number | null): number | null {
  return value === null ? null : Number(value)
}

/** Lines for a chart: seconds, then two lines (bid, ask) or one (middle) per member. */
export function toCompareLines(
  members: readonly MemberPoints[],
  lines: 'quotes' | 'middle',
): [number[], ...(number | null)[][]] {
  const times = new Set<number>()
  for (const points of members) {
    for (const { time, isKnown } of points) {
      // The instant before the end of a line, so that it is drawn up to there.
      if (!isKnown) times.add(time - AFTER)
      times.add(time)
    }
  }
  const axis = [...times].sort((a, b) => a - b)
  const drawn = members.flatMap((points) => {
    const at = axis.map(cursorOf(points))
    if (lines === 'middle') return [at.map(middleOf)]
    return [at.map((point) => point?.bid ?? null), at.map((point) => point?.ask ?? null)]
  })
  return [axis.map((time) => time / 1e6), ...drawn]
}

// The point that is valid at each of ascending times.
function cursorOf(points: MemberPoints): (time: number) => Point | undefined {
  let next = 0
  return (time) => {
    while (next < points.length && points[next]!.time <= time) next++
    return points[next - 1]
  }
}

function middleOf(point: Point | undefined): number | null {
  if (point === undefined || point.bid === null || point.ask === null) return null
  return (point.bid + point.ask) / 2
}

/** The spans in which the book of a member is known. */
export function knownSpans(
  points: MemberPoints,
): readonly { readonly start: number; readonly end: number }[] {
  const spans: { start: number; end: number }[] = []
  for (const [index, { time, isKnown }] of points.entries()) {
    const end = points[index + 1]?.time ?? time
    const last = spans.at(-1)
    if (!isKnown || end <= time) continue
    if (last?.end === time) last.end = end
    else spans.push({ start: time, end })
  }
  return spans
}

/** The spans in which no member was observed. */
export function commonGaps(members: readonly (readonly GapSpan[])[]): readonly GapSpan[] {
  const [first, ...others] = members
  if (first === undefined) return []
  return others.reduce<readonly GapSpan[]>(
    (common, gaps) =>
      common.flatMap((one) =>
        gaps.flatMap((other) => {
          const start = Math.max(one.start, other.start)
          const end = Math.min(one.end ?? Infinity, other.end ?? Infinity)
          return start < end ? [{ ...one, start, end: end === Infinity ? undefined : end }] : []
        }),
      ),
    first,
  )
}

/** The books of one instant as a row of snapshots: what is valid before the first bucket. */
export function toFirstRow({ at, members }: ContractBooksJson): ContractSnapshotJson {
  return {
    bucket_start: at,
    bucket_end: at,
    members: members.map(({ bids, asks, reason, ...member }) => ({
      ...member,
      reason: reason?.code ?? null,
      best_bid: bids?.price[0] ?? null,
      best_bid_size: bids?.size[0] ?? null,
      best_ask: asks?.price[0] ?? null,
      best_ask_size: asks?.size[0] ?? null,
    })),
  }
}

/** Replaces the buckets from the first new one on. */
export function withRows(
  rows: readonly ContractSnapshotJson[],
  news: readonly ContractSnapshotJson[],
): readonly ContractSnapshotJson[] {
  const [first] = news
  if (first === undefined) return rows
  const from = microsOf(first.bucket_start)
  return [...rows.filter((row) => microsOf(row.bucket_start) < from), ...news]
}
