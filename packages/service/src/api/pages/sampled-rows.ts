import { gapId } from '@priorbook/sdk/domain'
import type { SampleColumns } from '@priorbook/sdk/tape'
import { Yielder } from '../../lib/yielder.ts'
import type { ReadRows } from '../../rows/index.ts'
import type { RowPage, RowQuery } from '../../store/store.ts'

// Rows that are read at once: more where they are of several buckets, fewer where a bucket has many.
const LEAST_ROWS = 64
const MOST_ROWS = 4096

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
    const found = new Found(create())
    const yielder = new Yielder()
    let range = await begin(read, query, interval)
    let size = LEAST_ROWS
    while (found.ordinals.length <= limit) {
      const page = await read({ ...query, ...range, after: undefined, limit: size })
      found.noteDamage(page)
      const picks = lastRows(page.rows, interval, order)
      const outer = picks.at(-1)
      if (outer === undefined) break
      const bucket = Math.floor(page.rows.received[outer]! / interval) * interval
      const isCut = order === 'asc' && page.hasMore
      for (const row of isCut ? picks.slice(0, -1) : picks) found.add(page, row)
      if (isCut) {
        // More rows of the last bucket may follow the page.
        const start = Math.max(bucket, range.start ?? 0)
        const end = Math.min(bucket + interval, range.end ?? Infinity)
        const last = await read({ ...query, start, end, after: undefined, order: 'desc', limit: 1 })
        found.noteDamage(last)
        if (last.rows.count > 0) found.add(last, 0)
      }
      if (!page.hasMore) break
      range = order === 'desc' ? { ...range, end: bucket } : { ...range, start: bucket + interval }
      size = picks.length > 1 ? Math.min(MOST_ROWS, size * 4) : LEAST_ROWS
      await yielder.yieldIfDue()
    }
    return toPage(found, query, create)
  }
}

/** The rows that were chosen so far, in the order of the walk, and the damage that was met. */
class Found {
  readonly rows: SampleColumns
  readonly ordinals: number[] = []
  private readonly damage = new Map<string, RowPage<SampleColumns>['corrupt'][number]>()

  constructor(rows: SampleColumns) {
    this.rows = rows
  }

  get corrupt(): RowPage<SampleColumns>['corrupt'] {
    return [...this.damage.values()]
  }

  add({ rows, ordinals }: RowPage<SampleColumns>, row: number): void {
    copyRow(rows, row, this.rows)
    this.ordinals.push(ordinals[row]!)
  }

  // Several reads may meet the same damage.
  noteDamage({ corrupt }: RowPage<SampleColumns>): void {
    for (const gap of corrupt) this.damage.set(gapId(gap), gap)
  }
}

function copyRow(from: SampleColumns, row: number, to: SampleColumns): void {
  to.pushHeadOf(from, row)
  to.value.push(from.value[row]!)
  to.fine.push(from.fine[row]!)
}

// The last row of each bucket of a page, in the order of the walk; pages are ascending.
function lastRows(rows: SampleColumns, interval: number, order: RowQuery['order']): number[] {
  const picks: number[] = []
  let next: number | undefined
  for (let row = rows.count - 1; row >= 0; row--) {
    const bucket = Math.floor(rows.received[row]! / interval)
    if (bucket !== next) picks.push(row)
    next = bucket
  }
  return order === 'desc' ? picks : picks.reverse()
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
  { rows: found, ordinals, corrupt }: Found,
  { order, limit }: RowQuery,
  create: () => SampleColumns,
): RowPage<SampleColumns> {
  const hasMore = ordinals.length > limit
  const places = Array.from({ length: Math.min(limit, ordinals.length) }, (_, at) => at)
  if (order === 'desc') places.reverse()
  const rows = create()
  for (const at of places) copyRow(found, at, rows)
  return { rows, ordinals: places.map((at) => ordinals[at]!), hasMore, corrupt }
}
