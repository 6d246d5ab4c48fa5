import type { SampleColumns } from '@priorbook/sdk/tape'
import type { ReadRows } from '../../rows/index.ts'
import type { RowPage, RowQuery } from '../../store/store.ts'

/**
 * Reads the last row of every bucket that has one, with the numbers that the rows have in their stream.
 * Buckets begin at multiples of the interval. An empty bucket gives nothing: no row is carried over.
 */
export function lastOfBuckets(
  read: ReadRows<SampleColumns>,
  interval: number,
  create: () => SampleColumns,
): ReadRows<SampleColumns> {
  return async (query) => {
    const { order, limit } = query
    const rows = create()
    const ordinals: number[] = []
    const corrupt: RowPage<SampleColumns>['corrupt'][number][] = []
    let range = await begin(read, query, interval)
    while (ordinals.length <= limit) {
      const nearest = await read({ ...query, ...range, after: undefined, order, limit: 1 })
      corrupt.push(...nearest.corrupt)
      if (nearest.rows.count === 0) break
      const start = Math.floor(nearest.rows.received[0]! / interval) * interval
      const bucket = {
        start: Math.max(start, range.start ?? 0),
        end: Math.min(start + interval, range.end ?? Infinity),
      }
      const last =
        order === 'desc'
          ? nearest
          : await read({ ...query, ...bucket, after: undefined, order: 'desc', limit: 1 })
      rows.pushHeadOf(last.rows, 0)
      rows.value.push(last.rows.value[0]!)
      rows.fine.push(last.rows.fine[0]!)
      ordinals.push(last.ordinals[0]!)
      range = order === 'desc' ? { ...range, end: bucket.start } : { ...range, start: bucket.end }
    }
    return toPage(rows, ordinals, corrupt, query, create)
  }
}

type Range = { readonly start?: number | undefined; readonly end?: number | undefined }

// A walk goes on in the bucket after that of its last row.
async function begin(
  read: ReadRows<SampleColumns>,
  query: RowQuery,
  interval: number,
): Promise<Range> {
  const { after, start, end, order } = query
  if (after === undefined) return { start, end }
  const { venue, key, knownAt } = query
  const page = await read({ venue, key, knownAt, order: 'asc', after: after - 1, limit: 1 })
  const received = page.rows.received[0]
  if (received === undefined || page.rows.count === 0) return { start, end }
  const bucket = Math.floor(received / interval) * interval
  return order === 'desc'
    ? { start, end: Math.min(end ?? Infinity, bucket) }
    : { start: Math.max(start ?? 0, bucket + interval), end }
}

// Pages are ascending whatever their order; the row beyond the limit only shows that there are more.
function toPage(
  found: SampleColumns,
  ordinals: readonly number[],
  corrupt: RowPage<SampleColumns>['corrupt'],
  { order, limit }: RowQuery,
  create: () => SampleColumns,
): RowPage<SampleColumns> {
  const hasMore = ordinals.length > limit
  const places = Array.from({ length: Math.min(limit, ordinals.length) }, (_, at) => at)
  if (order === 'desc') places.reverse()
  const rows = create()
  for (const at of places) {
    rows.pushHeadOf(found, at)
    rows.value.push(found.value[at]!)
    rows.fine.push(found.fine[at]!)
  }
  return { rows, ordinals: places.map((at) => ordinals[at]!), hasMore, corrupt }
}
