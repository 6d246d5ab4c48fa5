import type { Gap } from '@priorbook/sdk/domain'
import { ABSENT, type BookPick } from '@priorbook/sdk/tape'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { BookLane, Merge, shiftRuns, type RunPart } from '../../rows/index.ts'
import type { Order, StoreReader } from '../../store/store.ts'
import type { SourceRange, Walk, WalkLane } from './book-walk.ts'

/** The observation chosen for a bucket, with the number of its lane. */
export type PickPart = BookPick & { readonly lane: number }
/** Rows of one lane on a page: a run of them, or single ones picked by interval. */
export type PagePart = RunPart | PickPart

/** The rows of one page, oldest first whatever the order, and the positions of the walk after them. */
export type PageRows<Part extends PagePart = PagePart> = {
  readonly parts: readonly Part[]
  readonly count: number
  readonly lanes: readonly WalkLane[]
  readonly hasMore: boolean
  /** Damaged spans that reading skipped. */
  readonly corrupt: readonly Gap[]
  /** The received time of the last row that was passed, in the order of the walk. */
  readonly received?: number | undefined
}

/** Which rows to read. */
export type RowsQuery = {
  readonly order: Order
  readonly limit: number
  readonly knownAt?: number | undefined
}

/** Reads the next rows of all lanes, by received time, sequence and lane. */
export async function readRows(
  store: StoreReader,
  walk: Walk,
  query: RowsQuery,
): Promise<PageRows<RunPart>> {
  const { order, limit, knownAt } = query
  const { start, end } = walk
  const corrupt: Gap[] = []
  const onDamage = (gaps: readonly Gap[]): void => void corrupt.push(...gaps)
  const lanes = walk.lanes.map(({ instrument: { venue, key }, position: after, last }, lane) => {
    const rows = { venue, key, order, start, end, after, last, knownAt, pageRows: limit }
    return new BookLane(store, rows, { lane, onDamage })
  })
  const parts = await shiftRuns(new Merge(lanes), limit)
  const isDown = order === 'desc'
  const tail = parts.at(-1)
  const received = tail?.columns.received[isDown ? tail.from : tail.to - 1]
  return {
    parts: isDown ? parts.reverse() : parts,
    count: parts.reduce((sum, { from, to }) => sum + to - from, 0),
    lanes: walk.lanes.map((lane, index) => ({ ...lane, position: lanes[index]!.position })),
    hasMore: lanes.some(({ isDone }) => !isDone),
    corrupt,
    received: received ?? walk.received,
  }
}

/** Reads the last observation of every bucket that has one. */
export async function readBuckets(
  store: StoreReader,
  walk: Walk,
  query: RowsQuery & { readonly interval: number },
): Promise<PageRows<PickPart>> {
  const { order, limit, interval, knownAt } = query
  const isDown = order === 'desc'
  const picks: PickPart[] = []
  const corrupt: Gap[] = []
  let hasMore = false
  for (const [lane, { instrument, bound, lastReceived }] of walk.lanes.entries()) {
    const start = isDown ? walk.start : (bound ?? walk.start)
    const end = Math.min(walk.end, lastReceived + 1, (isDown ? bound : undefined) ?? Infinity)
    if (start >= end) continue
    const { venue, key } = instrument
    const buckets = { venue, key, start, end, interval, limit, order, knownAt }
    const page = await store.booksByInterval(buckets)
    for (const pick of page.picks) picks.push({ ...pick, lane, bucket: bucketOf(pick, walk) })
    hasMore ||= page.hasMore
    corrupt.push(...page.corrupt)
  }
  if (walk.lanes.length > 1) picks.sort(comparePicks)
  const parts = isDown ? picks.slice(-limit) : picks.slice(0, limit)
  const lanes = [...walk.lanes]
  for (const { lane, sequence, bucket } of isDown ? parts.toReversed() : parts) {
    const next = isDown ? bucket!.start : bucket!.end
    lanes[lane] = { ...lanes[lane]!, position: sequence, bound: next }
  }
  const tail = isDown ? parts[0] : parts.at(-1)
  return {
    parts,
    count: parts.length,
    lanes,
    hasMore: hasMore || picks.length > limit,
    corrupt,
    received: tail === undefined ? walk.received : tail.columns.received[tail.row]!,
  }
}

function bucketOf(pick: BookPick, walk: Walk): NonNullable<BookPick['bucket']> {
  const bucket = pick.bucket!
  const isOpen = bucket.end > walk.settled
  return { ...bucket, partial: bucket.start < walk.start || isOpen }
}

function comparePicks(left: PickPart, right: PickPart): number {
  return (
    left.columns.received[left.row]! - right.columns.received[right.row]! ||
    left.sequence - right.sequence ||
    left.lane - right.lane
  )
}

/** Rows by source time. */
export type SourceRows = PageRows<RunPart> & {
  /** How many rows had no source time. */
  readonly excluded: number
  /** True when the page is short because the scan reached its limit. */
  readonly isUnfinished: boolean
}

// Rows scanned per read of the store, and per request: then it answers with what it has found.
const SCAN_BLOCK = 1024
const SCAN_MAX = 65_536

/**
 * Reads rows by source time, in received order; rows without one are left out and counted. Source times
 * are not ordered (late rows, clocks that differ), so every row of the walk is scanned.
 */
export async function readRowsBySource(
  store: StoreReader,
  walk: Walk,
  query: RowsQuery & SourceRange,
): Promise<SourceRows> {
  const { order, limit, sourceStart, sourceEnd } = query
  const isDown = order === 'desc'
  const found: RunPart[] = []
  const corrupt: Gap[] = []
  const positions = walk.lanes.map(({ position }) => position)
  let { received } = walk
  let excluded = 0

  const lanesNow = (): WalkLane[] =>
    walk.lanes.map((lane, index) => ({ ...lane, position: positions[index] }))
  const finish = (hasMore: boolean, isUnfinished: boolean): SourceRows => ({
    parts: joinRows(isDown ? found.toReversed() : found),
    count: found.length,
    lanes: lanesNow(),
    hasMore,
    corrupt,
    received,
    excluded,
    isUnfinished,
  })
  /** Passes a row; false when it matches and the page is full. */
  const pass = (part: RunPart, row: number): boolean => {
    const time = part.columns.source[row]!
    const isFound = time !== ABSENT && time >= sourceStart && time < sourceEnd
    if (isFound && found.length === limit) return false
    positions[part.lane] = part.firstSequence + row
    received = part.columns.received[row]!
    if (time === ABSENT) excluded++
    if (isFound) found.push({ ...part, from: row, to: row + 1 })
    return true
  }

  for (let scanned = 0; scanned < SCAN_MAX;) {
    const from = { ...walk, lanes: lanesNow(), received }
    const block = await readRows(store, from, { ...query, limit: SCAN_BLOCK })
    corrupt.push(...block.corrupt)
    scanned += block.count
    for (const part of isDown ? block.parts.toReversed() : block.parts) {
      for (let index = 0; index < part.to - part.from; index++) {
        if (!pass(part, isDown ? part.to - 1 - index : part.from + index)) {
          return finish(true, false)
        }
      }
    }
    if (!block.hasMore) return finish(false, false)
    await yieldToEventLoop()
  }
  return finish(true, true)
}

// Neighbouring rows become one run again, so that the renderer does not seek.
function joinRows(rows: readonly RunPart[]): RunPart[] {
  const parts: RunPart[] = []
  for (const part of rows) {
    const before = parts.at(-1)
    const isNext =
      before !== undefined &&
      before.columns === part.columns &&
      before.lane === part.lane &&
      before.to === part.from
    if (isNext) parts[parts.length - 1] = { ...before, to: part.to }
    else parts.push(part)
  }
  return parts
}
