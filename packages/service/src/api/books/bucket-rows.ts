import type { Gap } from '@priorbook/sdk/domain'
import type { BookPick } from '@priorbook/sdk/tape'
import type { Store } from '../../store/store.ts'
import type { PageRows, PickPart, RowsQuery } from './page-rows.ts'
import type { Walk } from './walk.ts'

/** The last observation of every bucket that has one. */
export async function readBuckets(
  store: Store,
  walk: Walk,
  query: RowsQuery & { readonly interval: number },
): Promise<PageRows<PickPart>> {
  const { order, limit, interval, knownAt } = query
  const isDown = order === 'desc'
  const picks: PickPart[] = []
  const corrupt: Gap[] = []
  let hasMore = false
  for (const [source, { instrument, bound, lastReceived }] of walk.lanes.entries()) {
    const start = isDown ? walk.start : (bound ?? walk.start)
    const end = Math.min(walk.end, lastReceived + 1, (isDown ? bound : undefined) ?? Infinity)
    if (start >= end) continue
    const { venue, key } = instrument
    const page = await store.sampleBooks({
      venue,
      key,
      start,
      end,
      interval,
      limit,
      order,
      ...(knownAt !== undefined && { knownAt }),
    })
    for (const pick of page.picks) picks.push({ ...pick, source, bucket: bucketOf(pick, walk) })
    hasMore ||= page.hasMore
    corrupt.push(...page.corrupt)
  }
  if (walk.lanes.length > 1) picks.sort(comparePicks)
  const parts = isDown ? picks.slice(-limit) : picks.slice(0, limit)
  const lanes = [...walk.lanes]
  for (const { source, sequence, bucket } of isDown ? parts.toReversed() : parts) {
    const next = isDown ? bucket!.start : bucket!.end
    lanes[source] = { ...lanes[source]!, position: sequence, bound: next }
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
    left.source - right.source
  )
}
