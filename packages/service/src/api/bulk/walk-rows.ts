import type { Gap } from '@priorbook/sdk/domain'
import type { HeadColumns } from '@priorbook/sdk/tape'
import type { RowPage, RowQuery } from '../../store/store.ts'
import type { GapQueue } from './gap-queue.ts'
import type { BulkScope } from './scope.ts'
import type { RowPlace } from './walk-item.ts'

const PAGE_ROWS = 2048

/** Reads a page of one kind of rows. */
export type ReadRows<Columns> = (query: RowQuery) => Promise<RowPage<Columns>>

/** Some rows, or a gap that lies before the next ones. */
export type RowsOrGap<Columns> =
  | { readonly rows: readonly RowPlace<Columns>[] }
  | { readonly rows?: undefined; readonly gap: Gap }

/** The trades or samples of several series by received time, with the gaps between them. */
export async function* walkRows<Columns extends HeadColumns>(
  read: ReadRows<Columns>,
  scope: BulkScope,
  keys: readonly string[],
  gaps: GapQueue,
): AsyncGenerator<RowsOrGap<Columns>> {
  const lanes = keys.map((key, source) => new RowLane(read, scope, key, source))
  for (;;) {
    for (const lane of lanes) if (lane.rows.length === 0) gaps.add(await lane.load())
    if (lanes.every((lane) => lane.rows.length === 0)) return
    const waiting = lanes.filter((lane) => lane.hasMore)
    const horizon = Math.min(...waiting.map((lane) => lane.lastReceived))
    const ready = lanes.flatMap((lane) => lane.takeBefore(horizon)).sort(byReceived)
    if (ready.length === 0) {
      for (const lane of waiting) gaps.add(await lane.load())
      continue
    }
    let from = 0
    for (const [index, place] of ready.entries()) {
      // The sequence of a gap is one of observations: here the time alone decides.
      if (!gaps.isBefore(receivedOf(place), '', 0)) continue
      if (index > from) yield { rows: ready.slice(from, index) }
      from = index
      while (gaps.isBefore(receivedOf(place), '', 0)) yield { gap: gaps.take()! }
    }
    yield { rows: ready.slice(from) }
  }
}

class RowLane<Columns extends HeadColumns> {
  rows: RowPlace<Columns>[] = []
  hasMore = true
  private readonly read: ReadRows<Columns>
  private readonly scope: BulkScope
  private readonly key: string
  private readonly source: number
  private after: number | undefined

  constructor(read: ReadRows<Columns>, scope: BulkScope, key: string, source: number) {
    this.read = read
    this.scope = scope
    this.key = key
    this.source = source
  }

  async load(): Promise<RowPage<Columns>['corrupt']> {
    if (!this.hasMore) return []
    const { venue, start, end, knownAt } = this.scope
    const page = await this.read({
      venue,
      key: this.key,
      order: 'asc',
      start,
      end,
      limit: PAGE_ROWS,
      ...(this.after === undefined ? {} : { after: this.after }),
      ...(knownAt === undefined ? {} : { knownAt }),
    })
    const { source } = this
    for (const [row, ordinal] of page.ordinals.entries()) {
      this.rows.push({ columns: page.rows, row, ordinal, source })
    }
    this.hasMore = page.hasMore
    this.after = page.ordinals.at(-1) ?? this.after
    return page.corrupt
  }

  get lastReceived(): number {
    return receivedOf(this.rows.at(-1)!)
  }

  takeBefore(time: number): RowPlace<Columns>[] {
    let count = this.rows.length
    while (count > 0 && receivedOf(this.rows[count - 1]!) >= time) count--
    return this.rows.splice(0, count)
  }
}

function receivedOf({ columns, row }: RowPlace<HeadColumns>): number {
  return columns.received[row]!
}

function byReceived(left: RowPlace<HeadColumns>, right: RowPlace<HeadColumns>): number {
  return (
    receivedOf(left) - receivedOf(right) ||
    left.ordinal - right.ordinal ||
    left.source - right.source
  )
}
