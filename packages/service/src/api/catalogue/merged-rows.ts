import type { Gap } from '@priorbook/sdk/domain'
import type { HeadColumns } from '@priorbook/sdk/tape'
import type { InstrumentRef, RowPage, RowQuery } from '../../store/store.ts'
import type { CursorState } from '../route.ts'
import type { Page } from './page.ts'

/** One row of one of several streams. */
export type MergedRow<Stream, Columns> = {
  readonly stream: Stream
  readonly columns: Columns
  readonly row: number
  readonly ordinal: number
  readonly received: number
}

/** A page over several streams, by (received time, stream, number). */
export type MergedPage<Stream, Columns> = {
  readonly rows: readonly MergedRow<Stream, Columns>[]
  readonly hasMore: boolean
  /** What a cursor keeps: the last number given of every stream, and the last received time. */
  readonly state: CursorState
  readonly corrupt: readonly Gap[]
}

/** Reads the next rows of several streams and merges them; each is asked for one page at most. */
export async function readMerged<Stream extends InstrumentRef, Columns extends HeadColumns>(
  streams: readonly Stream[],
  read: (query: RowQuery) => Promise<RowPage<Columns>>,
  page: Page,
  knownAt: number | undefined,
): Promise<MergedPage<Stream, Columns>> {
  const { order, limit } = page
  const queues: MergedRow<Stream, Columns>[][] = []
  const corrupt: Gap[] = []
  const state: Record<string, string | number> = {}
  let hasMore = false
  for (const stream of streams) {
    const after = page.state[stateName(stream)] as number | undefined
    if (after !== undefined) state[stateName(stream)] = after
    const answer = await read({
      venue: stream.venue,
      key: stream.key,
      order,
      start: page.from,
      end: page.end,
      limit,
      ...(after === undefined ? {} : { after }),
      ...(knownAt === undefined ? {} : { knownAt }),
    })
    corrupt.push(...answer.corrupt)
    hasMore ||= answer.hasMore
    const { rows: columns } = answer
    const rows = answer.ordinals.map((ordinal, row) => {
      return { stream, columns, row, ordinal, received: columns.received[row]! }
    })
    queues.push(order === 'asc' ? rows : rows.reverse())
  }
  const rows: MergedRow<Stream, Columns>[] = []
  const heads = queues.map(() => 0)
  while (rows.length < limit) {
    const next = pickNext(queues, heads, order)
    if (next === undefined) break
    const row = queues[next]![heads[next]!++]!
    rows.push(row)
    state[stateName(row.stream)] = row.ordinal
    state['at'] = row.received
  }
  hasMore ||= queues.some((queue, index) => heads[index]! < queue.length)
  return { rows, hasMore, state, corrupt }
}

function pickNext(
  queues: readonly (readonly { readonly received: number }[])[],
  heads: readonly number[],
  order: 'asc' | 'desc',
): number | undefined {
  let best: number | undefined
  let bestTime = 0
  for (const [index, queue] of queues.entries()) {
    const row = queue[heads[index]!]
    if (row === undefined) continue
    // Ties go to the first stream in ascending order and to the last one in descending order.
    const wins =
      best === undefined || (order === 'asc' ? row.received < bestTime : row.received >= bestTime)
    if (!wins) continue
    best = index
    bestTime = row.received
  }
  return best
}

function stateName({ key }: InstrumentRef): string {
  return `after ${key}`
}
