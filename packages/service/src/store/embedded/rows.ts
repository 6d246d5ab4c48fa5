import type { Gap } from '@priorbook/sdk/domain'
import { SampleColumns, TradeColumns, type HeadColumns } from '@priorbook/sdk/tape'
import type { RowPage, RowQuery } from '../store.ts'
import { isDamage } from './bodies.ts'
import { lastReceivedAtMost } from './stretch.ts'
import { corruptGap } from './corrupt-gap.ts'
import { type ChunkPlace } from './directory.ts'
import type { Stream } from './streams.ts'
import { pushSamples, pushTrades } from './tail.ts'
import type { View } from './view.ts'

/** How one kind of rows is decoded and copied. */
type RowKind<Columns extends HeadColumns> = {
  /** With room for some rows. */
  readonly create: (rows: number) => Columns
  readonly decode: (stream: Stream, place: ChunkPlace) => Columns
  readonly tail: (stream: Stream) => Columns | undefined
  readonly push: (into: Columns, other: Columns, from: number, to: number) => void
}

// Room for the first rows of a page: a start of the recorder asks for one of every book.
const FIRST_ROWS = 64

/** A page of trades. */
export function readTrades(view: View, query: RowQuery): RowPage<TradeColumns> {
  return readRows(view, view.stream(query, 'trade', '', query.knownAt), query, {
    create: (room) => new TradeColumns(room),
    decode: (stream, place) => view.bodies.trades(stream, place),
    tail: (stream) => {
      const tail = view.tailOf(stream)
      return tail?.kind === 'trade' ? tail.columns : undefined
    },
    push: pushTrades,
  })
}

/** A page of samples of one metric. */
export function readSamples(
  view: View,
  query: RowQuery & { metric: string },
): RowPage<SampleColumns> {
  return readRows(view, view.stream(query, 'sample', query.metric, query.knownAt), query, {
    create: (room) => new SampleColumns(room),
    decode: (stream, place) => view.bodies.samples(stream, place),
    tail: (stream) => {
      const tail = view.tailOf(stream)
      return tail?.kind === 'sample' ? tail.columns : undefined
    },
    push: pushSamples,
  })
}

function readRows<Columns extends HeadColumns>(
  view: View,
  stream: Stream | undefined,
  query: RowQuery,
  kind: RowKind<Columns>,
): RowPage<Columns> {
  const room = Math.min(query.limit + 1, FIRST_ROWS)
  const rows = kind.create(room)
  const ordinals: number[] = []
  const corrupt: Gap[] = []
  if (stream === undefined) return { rows, ordinals, hasMore: false, corrupt }
  const start = query.start ?? 0
  const end = Math.min(query.end ?? Infinity, (query.knownAt ?? Infinity) + 1)
  const down = query.order === 'desc'
  const pieces: { columns: Columns; first: number; from: number; to: number }[] = []
  let wanted = query.limit + 1
  for (const piece of piecesOf(view, stream, query, kind, corrupt)) {
    let from = lastReceivedAtMost(piece.columns, start - 1) + 1
    let to = lastReceivedAtMost(piece.columns, end - 1) + 1
    if (query.after !== undefined) {
      if (down) to = Math.min(to, query.after - piece.first)
      else from = Math.max(from, query.after + 1 - piece.first)
    }
    if (to > from) {
      if (down) from = Math.max(from, to - wanted)
      else to = Math.min(to, from + wanted)
      pieces.push({ ...piece, from, to })
      wanted -= to - from
      if (wanted === 0) break
    }
  }
  const hasMore = wanted === 0
  const lost = view.lostTail(stream)
  const reached = down ? query.after === undefined : !hasMore
  if (lost !== undefined && reached && lost.firstReceived < end) {
    corrupt.push(corruptGap(stream, lost))
  }
  if (down) pieces.reverse()
  for (const { columns, first, from, to } of pieces) {
    kind.push(rows, columns, from, to)
    for (let row = from; row < to; row++) ordinals.push(first + row)
  }
  if (!hasMore) return { rows, ordinals, hasMore, corrupt }
  // One extra row was read to detect `hasMore`; drop the farthest one.
  const kept = kind.create(room)
  const skip = down ? 1 : 0
  kind.push(kept, rows, skip, skip + query.limit)
  return { rows: kept, ordinals: ordinals.slice(skip, skip + query.limit), hasMore, corrupt }
}

// Chunks and tail in page order, without those outside its range.
function* piecesOf<Columns extends HeadColumns>(
  view: View,
  stream: Stream,
  query: RowQuery,
  kind: RowKind<Columns>,
  corrupt: Gap[],
): Generator<{ columns: Columns; first: number }> {
  const down = query.order === 'desc'
  const { places } = view.directory(stream)
  const columns = kind.tail(stream)
  const tail = columns === undefined ? undefined : { columns, first: view.tailOf(stream)!.first }
  if (down && tail !== undefined) yield tail
  for (const place of down ? places.toReversed() : places) {
    if (query.start !== undefined && place.lastReceived < query.start) continue
    if (query.end !== undefined && place.firstReceived >= query.end) continue
    const past = down ? place.first >= (query.after ?? Infinity) : false
    if (past || place.first + place.count - 1 <= (down ? 0 : (query.after ?? 0))) continue
    if ('lost' in place) {
      corrupt.push(corruptGap(stream, place))
      continue
    }
    try {
      yield { columns: kind.decode(stream, place), first: place.first }
    } catch (error) {
      if (!isDamage(error)) throw error
      corrupt.push(corruptGap(stream, place))
    }
  }
  if (!down && tail !== undefined) yield tail
}
