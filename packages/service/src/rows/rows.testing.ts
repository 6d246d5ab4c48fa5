import type { Gap } from '@priorbook/sdk/domain'
import { BookColumns, TradeColumns } from '@priorbook/sdk/tape'
import type { BookPage, BookQuery, RowPage, RowQuery, StoreReader } from '../store/store.ts'

/** The received times of the rows of each stream; row i has the number i + 1. */
export type ModelStreams = Readonly<Record<string, readonly number[]>>

/** A store of rows that have nothing but received times, cut into chunks of a few rows. */
export function createModelStore(
  streams: ModelStreams,
  damage: Readonly<Record<string, readonly Gap[]>> = {},
): Pick<StoreReader, 'books' | 'trades'> & { readonly reads: string[] } {
  const reads: string[] = []
  const select = (query: RowQuery): { numbers: number[]; hasMore: boolean } => {
    const { key, order, start = 0, end = Infinity, after, limit } = query
    reads.push(key)
    const all = (streams[key] ?? []).flatMap((received, index) => {
      const number = index + 1
      const isIn = received >= start && received < end
      const isAfter = after === undefined || (order === 'asc' ? number > after : number < after)
      return isIn && isAfter ? [number] : []
    })
    const numbers = order === 'asc' ? all.slice(0, limit) : all.slice(-limit)
    return { numbers, hasMore: all.length > limit }
  }
  return {
    reads,
    async books(query: BookQuery): Promise<BookPage> {
      const { numbers, hasMore } = select(query)
      const runs = chunksOf(numbers).map(([first, last]) => {
        const begin = Math.floor((first - 1) / CHUNK) * CHUNK
        const columns = new BookColumns(2, CHUNK)
        for (const received of streams[query.key]!.slice(begin, begin + CHUNK)) {
          columns.pushHead(headOf(received))
        }
        return { columns, firstSequence: begin + 1, from: first - begin - 1, to: last - begin }
      })
      return { runs, count: numbers.length, hasMore, corrupt: damage[query.key] ?? [] }
    },
    async trades(query: RowQuery): Promise<RowPage<TradeColumns>> {
      const { numbers, hasMore } = select(query)
      const rows = new TradeColumns()
      for (const number of numbers) rows.pushHead(headOf(streams[query.key]![number - 1]!))
      return { rows, ordinals: numbers, hasMore, corrupt: damage[query.key] ?? [] }
    },
  }
}

/** A gap of an instrument with the given start and last good sequence. */
export function createGap(key: string, start: number, afterSequence: number): Gap {
  return {
    venue: 'venuec',
    scope: 'instrument',
    key,
    reason: 'disconnected',
    start: start as Gap['start'],
    end: (start + 10) as Gap['start'],
    afterSequence,
    journal: 1,
  }
}

const CHUNK = 5

function chunksOf(numbers: readonly number[]): [number, number][] {
  const chunks: [number, number][] = []
  for (const number of numbers) {
    const last = chunks.at(-1)
    if (last !== undefined && (number - 1) % CHUNK !== 0) last[1] = number
    else chunks.push([number, number])
  }
  return chunks
}

function headOf(received: number): Parameters<BookColumns['pushHead']>[0] {
  return { received, source: -1, venueSeq: -1, channel: -1, journal: 0, flags: 0 }
}
