import type { Gap } from '@priorbook/sdk/domain'
import { applyRow, applyRows, Ladder, loadBase, type BookRun } from '@priorbook/sdk/tape'
import type { AsOf, BookPage, BookQuery, InstrumentRef, SamplePage, SampleQuery } from '../store.ts'
import { isDamage } from './bodies.ts'
import { BucketWalk } from './bucket-walk.ts'
import { corruptAt, corruptGap, missingRows } from './corrupt-gap.ts'
import { placeOfOrdinal, placeOfTime, type ChunkPlace, type Directory } from './directory.ts'
import { listGaps } from './gaps.ts'
import { KeptBooks, type KeptBook } from './kept-books.ts'
import type { Stream } from './streams.ts'
import { endOf, lastReceivedAtMost, toSingleRow, type Stretch } from './stretch.ts'
import type { View } from './view.ts'

// Max instruments whose gaps are kept until the next commit.
const KEPT_GAPS = 4096

/** Reads observations of one instrument out of chunks and tail. */
export class BookReader {
  private readonly view: View
  private readonly kept = new KeptBooks()
  private readonly keptGaps = new Map<number, { stamp: string; gaps: readonly Gap[] }>()

  constructor(view: View) {
    this.view = view
  }

  /** A page by sequence; runs ascend whatever the order. */
  page(query: BookQuery): BookPage {
    const stream = this.view.stream(query, 'book', '', query.knownAt)
    if (stream === undefined) return { runs: [], count: 0, hasMore: false, corrupt: [] }
    const end = endOf(query)
    return query.order === 'asc'
      ? this.forward(stream, query, end)
      : this.backward(stream, query, end)
  }

  /** The newest observation, its book kept in memory between calls. */
  latest(ref: InstrumentRef): BookRun | undefined {
    const stream = this.view.stream(ref, 'book')
    if (stream === undefined) return undefined
    // Newer rows may be lost, so the newest known row may not be the latest.
    if (this.view.damagedLog !== undefined) throw this.view.damagedLog.error
    const last = this.view.lastOrdinal(stream)
    if (last <= stream.removed) return undefined
    const known = this.kept.get(stream.id)?.newest
    if (known?.run.firstSequence === last && known.version === stream.version) return known.run
    const stretch = this.stretchAt(stream, last, true)
    const row = last - stretch.first
    const kept = this.bookAt(stream, stretch, last)
    const columns = toSingleRow(kept.ladder, stretch.columns, row)
    const run = { columns, firstSequence: last, from: 0, to: 1 }
    // Rows of the tail are in memory and change when the log is repaired, so they are not cached.
    kept.newest = stretch.chunk === undefined ? undefined : { run, version: stream.version }
    return run
  }

  /** The book after the newest row of a stream; the caller must not change it, nor keep it. */
  newestBook(stream: Stream, last: number): Ladder {
    return this.bookAt(stream, this.stretchAt(stream, last, true, false), last).ladder
  }

  /** The last observation at or before a time, unless the time lies in a gap. */
  asOf(query: InstrumentRef & { at: number; knownAt?: number | undefined }): AsOf {
    const stream = this.view.stream(query, 'book', '', query.knownAt)
    if (stream === undefined) return {}
    const at = Math.min(query.at, query.knownAt ?? query.at)
    const lost = this.view.lostTail(stream)
    if (lost !== undefined && lost.firstReceived <= at) return { gap: corruptGap(stream, lost) }
    const tail = this.view.tailOf(stream)
    const fromTail = tail !== undefined && tail.columns.received[0]! <= at
    const { places } = this.view.directory(stream)
    const index = placeOfTime(places, at)
    const seen = fromTail || index >= 0
    const gap = this.gapAt(stream, at, seen)
    if (!seen) return gap === undefined ? {} : { gap }
    try {
      const place = places[index]
      const ordinal = fromTail ? tail.first : place!.first
      const stretch = this.stretchAt(stream, ordinal, true)
      const row = lastReceivedAtMost(stretch.columns, at)
      const sequence = stretch.first + row
      if (gap !== undefined) {
        return { gap, lastBefore: { sequence, received: stretch.columns.received[row]! } }
      }
      return { run: toRun(stretch, row, row + 1) }
    } catch (error) {
      if (!isDamage(error)) throw error
      this.view.onDamage?.(stream)
      const { end, ...lost } = corruptAt(this.view, stream, places[index]!)
      // After the last rows of a stream nothing tells the book again.
      return { gap: end === undefined || end <= at ? lost : { ...lost, end } }
    }
  }

  /** The last observation of every non-empty bucket; reads one chunk per bucket. */
  sample(query: SampleQuery): SamplePage {
    const stream = this.view.stream(query, 'book', '', query.knownAt)
    if (stream === undefined) return { picks: [], hasMore: false, corrupt: [] }
    return new BucketWalk(this.view, stream, query).run()
  }

  /** The decoded chunk or tail that holds a row; damage throws. A chunk comes with its hash unless `isHashed` is false. */
  stretchAt(stream: Stream, ordinal: number, numbers: boolean, isHashed = true): Stretch {
    if (ordinal >= stream.next) {
      const tail = this.view.bookTail(stream, numbers)
      if (tail !== undefined && tail.first <= ordinal) {
        return { columns: tail.columns, first: tail.first, changesBefore: stream.changes }
      }
    }
    const place = this.placeOf(stream, ordinal)
    const { bodies } = this.view
    const { first, changesBefore } = place
    if (!isHashed) return { columns: bodies.book(stream, place, numbers), first, changesBefore }
    const { columns, hash } = bodies.hashedBook(stream, place, numbers)
    return { columns, first, changesBefore, chunk: hash }
  }

  private stretchOf(stream: Stream, ordinal: number, query: BookQuery): Stretch {
    const { numbers = true, hashes, levels = true } = query
    return levels ? this.stretchAt(stream, ordinal, numbers, hashes) : this.headsAt(stream, ordinal)
  }

  // Without the book before the tail: of most books that would be another chunk to decode.
  private headsAt(stream: Stream, ordinal: number): Stretch {
    if (ordinal >= stream.next) {
      const tail = this.view.tailOf(stream)
      if (tail?.kind === 'book' && tail.first <= ordinal) {
        return { columns: tail.columns, first: tail.first, changesBefore: stream.changes }
      }
    }
    const place = this.placeOf(stream, ordinal)
    const { first, changesBefore } = place
    return { columns: this.view.bodies.heads(stream, place), first, changesBefore }
  }

  private placeOf(stream: Stream, ordinal: number): ChunkPlace {
    const { places } = this.view.directory(stream)
    const place = places[placeOfOrdinal(places, ordinal)]
    if (place === undefined || 'lost' in place) throw missingRows(stream, ordinal)
    return place
  }

  private forward(stream: Stream, query: BookQuery, end: number): BookPage {
    const last = this.view.lastOrdinal(stream)
    const corrupt: Gap[] = []
    const runs: BookRun[] = []
    let count = 0
    const start = query.start ?? 0
    let ordinal = Math.max(query.after ?? 0, stream.removed) + 1
    // A position before the range does not widen it.
    const within =
      query.after !== undefined &&
      (ordinal > last || this.receivedAt(stream, ordinal, query) >= start)
    if (!within) ordinal = this.firstAtOrAfter(stream, start, query, corrupt)
    while (ordinal <= last && count < query.limit) {
      const stretch = this.readOrSkip(stream, ordinal, query, corrupt)
      if ('next' in stretch) {
        ordinal = stretch.next
        continue
      }
      const { columns, first } = stretch
      const from = ordinal - first
      const stop = lastReceivedAtMost(columns, end - 1) + 1
      const to = Math.min(stop, columns.count, from + query.limit - count)
      if (to > from) runs.push(toRun(stretch, from, to))
      count += Math.max(0, to - from)
      ordinal = first + Math.max(to, from)
      if (stop < columns.count && to === stop) break
      if (to <= from) break
    }
    const hasMore =
      count === query.limit && ordinal <= last && this.receivedAt(stream, ordinal, query) < end
    if (ordinal > last) this.nameLostTail(stream, end, corrupt)
    return { runs, count, hasMore, corrupt }
  }

  private backward(stream: Stream, query: BookQuery, end: number): BookPage {
    const corrupt: Gap[] = []
    const runs: BookRun[] = []
    const start = query.start ?? 0
    let count = 0
    const last = this.view.lastOrdinal(stream)
    let ordinal = Math.min(last, (query.after ?? Infinity) - 1)
    const within =
      query.after !== undefined &&
      (ordinal <= stream.removed || this.receivedAt(stream, ordinal, query) < end)
    if (!within) ordinal = Math.min(last, this.firstAtOrAfter(stream, end, query, corrupt) - 1)
    if (query.after === undefined) this.nameLostTail(stream, end, corrupt)
    while (ordinal > stream.removed && count < query.limit) {
      const stretch = this.readOrSkip(stream, ordinal, query, corrupt)
      if ('next' in stretch) {
        ordinal = stretch.first - 1
        continue
      }
      const { columns, first } = stretch
      const to = ordinal - first + 1
      const stop = lastReceivedAtMost(columns, start - 1) + 1
      const from = Math.max(stop, to - (query.limit - count), 0)
      if (to > from) runs.unshift(toRun(stretch, from, to))
      count += Math.max(0, to - from)
      ordinal = first + Math.min(from, to) - 1
      if (stop > 0 && from === stop) break
      if (to <= from) break
    }
    const hasMore =
      count === query.limit &&
      ordinal > stream.removed &&
      (start === 0 || this.receivedAt(stream, ordinal, query) >= start)
    return { runs, count, hasMore, corrupt }
  }

  private nameLostTail(stream: Stream, end: number, corrupt: Gap[]): void {
    const lost = this.view.lostTail(stream)
    if (lost !== undefined && lost.firstReceived < end) corrupt.push(corruptGap(stream, lost))
  }

  // Damaged rows are skipped and reported; all other rows stay readable.
  private readOrSkip(
    stream: Stream,
    ordinal: number,
    query: BookQuery,
    corrupt: Gap[],
  ): Stretch | { readonly first: number; readonly next: number } {
    try {
      return this.stretchOf(stream, ordinal, query)
    } catch (error) {
      if (!isDamage(error)) throw error
      const { places } = this.view.directory(stream)
      const place = places[placeOfOrdinal(places, ordinal)]
      const inTail = ordinal >= stream.next || place === undefined
      const last = this.view.lastOrdinal(stream)
      if (!inTail) {
        this.view.onDamage?.(stream)
        corrupt.push(corruptAt(this.view, stream, place))
        return { first: place.first, next: place.first + place.count }
      }
      const lost = {
        first: stream.next,
        count: last - stream.next + 1,
        firstReceived: lastKnownOf(places.at(-1)),
        lastReceived: this.view.lastReceived(stream),
      }
      corrupt.push(corruptGap(stream, lost))
      return { first: lost.first, next: lost.first + lost.count }
    }
  }

  // The first row received at or after a time; the row after the last when there is none.
  private firstAtOrAfter(stream: Stream, time: number, query: BookQuery, corrupt: Gap[]): number {
    const { places } = this.view.directory(stream)
    const tail = this.view.tailOf(stream)
    if (tail !== undefined && tail.columns.received[0]! < time) {
      return tail.first + lastReceivedAtMost(tail.columns, time - 1) + 1
    }
    const index = placeOfTime(places, time - 1)
    const place = places[index]
    if (place === undefined) return stream.removed + 1
    if (place.lastReceived < time) return place.first + place.count
    try {
      const stretch = this.stretchOf(stream, place.first, { ...query, numbers: true })
      return stretch.first + lastReceivedAtMost(stretch.columns, time - 1) + 1
    } catch (error) {
      if (!isDamage(error)) throw error
      corrupt.push(corruptAt(this.view, stream, place))
      return place.first + place.count
    }
  }

  private receivedAt(stream: Stream, ordinal: number, query: BookQuery): number {
    const { places } = this.view.directory(stream)
    const place = places[placeOfOrdinal(places, ordinal)]
    if (ordinal < stream.next && place !== undefined && place.first === ordinal) {
      return place.firstReceived
    }
    try {
      const stretch = this.stretchOf(stream, ordinal, query)
      return stretch.columns.received[ordinal - stretch.first]!
    } catch (error) {
      if (!isDamage(error)) throw error
      return place?.firstReceived ?? 0
    }
  }

  private gapAt(stream: Stream, at: number, seen: boolean): Gap | undefined {
    // The instant of a real observation is not in the gap that starts with it.
    const inside = (gap: Gap): boolean =>
      (seen ? gap.start < at : gap.start <= at) && (gap.end === undefined || at < gap.end)
    return this.gapsOf(stream).find(inside)
  }

  // Gaps of the instrument, its market and its venue, cached until the next commit.
  private gapsOf(stream: Stream): readonly Gap[] {
    const { stamp } = this.view
    const kept = this.keptGaps.get(stream.id)
    if (kept?.stamp === stamp) return kept.gaps
    const { venue } = stream
    const keys = [...new Set([stream.key, stream.market, ''])]
    const gaps = keys.flatMap((key) => listGaps(this.view.database, { venue, key }))
    this.keptGaps.set(stream.id, { stamp, gaps })
    if (this.keptGaps.size > KEPT_GAPS) this.keptGaps.delete(this.keptGaps.keys().next().value!)
    return gaps
  }

  private bookAt(stream: Stream, stretch: Stretch, last: number): KeptBook {
    let kept = this.kept.get(stream.id)
    // The writer may truncate the log while repairing damage, under a reader that has read further.
    const reachable =
      kept !== undefined && kept.ordinal >= stretch.first - 1 && kept.ordinal <= last
    if (kept === undefined || !reachable || kept.ladder.decimals < stretch.columns.priceDecimals) {
      const ladder = new Ladder(stretch.columns.priceDecimals)
      loadBase(ladder, stretch.columns)
      kept = { ladder, ordinal: stretch.first - 1, newest: undefined }
    }
    if (kept.ladder.decimals === stretch.columns.priceDecimals) {
      for (let row = kept.ordinal + 1 - stretch.first; row <= last - stretch.first; row++) {
        applyRow(kept.ladder, stretch.columns, row)
      }
    } else {
      loadBase(kept.ladder, stretch.columns)
      applyRows(kept.ladder, stretch.columns, 0, last - stretch.first + 1)
    }
    kept.ordinal = last
    this.kept.put(stream.id, kept)
    return kept
  }
}

// For a lost place only the row before it is known.
function lastKnownOf(place: Directory['places'][number] | undefined): number {
  if (place === undefined) return 0
  return 'lost' in place ? place.firstReceived : place.lastReceived
}

function toRun(stretch: Stretch, from: number, to: number): BookRun {
  const { columns, first: firstSequence, chunk } = stretch
  return { columns, firstSequence, from, to, chunk }
}
