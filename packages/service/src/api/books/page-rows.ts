import type { Gap } from '@priorbook/sdk/domain'
import type { BookPick, BookRun } from '@priorbook/sdk/tape'
import { interleaveRuns } from '@priorbook/sdk/wire'
import type { Order, Store } from '../../store/store.ts'
import type { Lane, Walk } from './walk.ts'

/** A run or a pick with the number of its lane. */
export type RunPart = BookRun & { readonly source: number }
export type PickPart = BookPick & { readonly source: number }
export type PagePart = RunPart | PickPart

/** The rows of one page, oldest first whatever the order, and where the walk stands after them. */
export type PageRows<Part extends PagePart = PagePart> = {
  readonly parts: readonly Part[]
  readonly count: number
  readonly lanes: readonly Lane[]
  readonly hasMore: boolean
  readonly corrupt: readonly Gap[]
  /** The received time of the last row that was passed, in the order of the walk. */
  readonly received?: number | undefined
}

/** What to read. */
export type RowsQuery = {
  readonly order: Order
  readonly limit: number
  readonly knownAt?: number | undefined
}

/** Reads the next rows of all lanes, merged by (received time, sequence, lane). */
export async function readRows(
  store: Store,
  walk: Walk,
  query: RowsQuery,
): Promise<PageRows<RunPart>> {
  const { order, limit, knownAt } = query
  const isDown = order === 'desc'
  const lists: (readonly BookRun[])[] = []
  const corrupt: Gap[] = []
  let fetched = 0
  let hasMore = false
  for (const { instrument, position, last } of walk.lanes) {
    const after = position ?? (isDown ? last + 1 : undefined)
    const page = await store.books({
      venue: instrument.venue,
      key: instrument.key,
      order,
      start: walk.start,
      end: walk.end,
      limit,
      numbers: true,
      ...(after !== undefined && { after }),
      ...(knownAt !== undefined && { knownAt }),
    })
    const runs = isDown ? page.runs : cutAfter(page.runs, last)
    const newest = runs.at(-1)
    const isAtEnd = !isDown && newest !== undefined && newest.firstSequence + newest.to > last
    fetched += countOf(runs)
    // Without a run there is nothing before the pinned end: what is left came later.
    hasMore ||= page.hasMore && newest !== undefined && !isAtEnd
    corrupt.push(...page.corrupt)
    lists.push(runs)
  }
  const merged: RunPart[] =
    lists.length === 1
      ? lists[0]!.map((run) => ({ ...run, source: 0 }))
      : Array.from(interleaveRuns(lists))
  const parts = isDown ? lastRows(merged, fetched - limit) : firstRows(merged, limit)
  const count = Math.min(fetched, limit)
  const tail = isDown ? parts[0] : parts.at(-1)
  return {
    parts,
    count,
    lanes: movedOn(walk.lanes, parts, isDown),
    hasMore: hasMore || fetched > limit,
    corrupt,
    received:
      tail === undefined ? walk.received : tail.columns.received[isDown ? tail.from : tail.to - 1]!,
  }
}

function countOf(runs: readonly BookRun[]): number {
  return runs.reduce((sum, { from, to }) => sum + to - from, 0)
}

function cutAfter(runs: readonly BookRun[], last: number): readonly BookRun[] {
  const newest = runs.at(-1)
  if (newest === undefined || newest.firstSequence + newest.to - 1 <= last) return runs
  return runs.flatMap((run) => {
    const to = Math.min(run.to, last - run.firstSequence + 1)
    return to > run.from ? [{ ...run, to }] : []
  })
}

function firstRows(parts: readonly RunPart[], limit: number): RunPart[] {
  const taken: RunPart[] = []
  let left = limit
  for (const part of parts) {
    if (left === 0) break
    const to = Math.min(part.to, part.from + left)
    taken.push({ ...part, to })
    left -= to - part.from
  }
  return taken
}

function lastRows(parts: readonly RunPart[], skip: number): RunPart[] {
  const taken: RunPart[] = []
  let left = Math.max(0, skip)
  for (const part of parts) {
    const from = Math.min(part.to, part.from + left)
    left -= from - part.from
    if (from < part.to) taken.push({ ...part, from })
  }
  return taken
}

function movedOn(lanes: readonly Lane[], parts: readonly RunPart[], isDown: boolean): Lane[] {
  const moved = [...lanes]
  for (const part of isDown ? parts.toReversed() : parts) {
    const row = isDown ? part.from : part.to - 1
    moved[part.source] = { ...moved[part.source]!, position: part.firstSequence + row }
  }
  return moved
}
