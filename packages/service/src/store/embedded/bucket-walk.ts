import type { Gap } from '@priorbook/sdk/domain'
import { applyRows, BookColumns, Ladder, loadBase, type BookPick } from '@priorbook/sdk/tape'
import type { SamplePage, SampleQuery } from '../store.ts'
import { isDamage } from './bodies.ts'
import { corruptAt, corruptGap } from './corrupt-gap.ts'
import { placeOfOrdinal, placeOfTime, type ChunkPlace } from './directory.ts'
import type { Stream } from './streams.ts'
import { endOf, lastReceivedAtMost, toSingleRow, type Stretch } from './stretch.ts'
import type { View } from './view.ts'

// Walks through more rows bypass the chunk cache, so that they do not evict other readers' chunks.
const MOST_KEPT_ROWS = 262_144

/**
 * Interval sampling: goes from bucket to bucket and resolves each with the directory and one chunk. One
 * ladder folds the chunks; a pick is a self-contained row.
 */
export class BucketWalk {
  private readonly view: View
  private readonly stream: Stream
  private readonly query: SampleQuery
  private readonly corrupt: Gap[] = []
  private readonly damaged = new Set<number>()
  private readonly scratch = new BookColumns()
  private readonly ladder = new Ladder()
  private stretch: Stretch | undefined
  private keptRows = 0
  /** The last row of the stretch applied to the ladder, −1 for the book before it. */
  private folded = -1

  constructor(view: View, stream: Stream, query: SampleQuery) {
    this.view = view
    this.stream = stream
    this.query = query
  }

  run(): SamplePage {
    const { query } = this
    const end = endOf(query)
    const lost = this.view.lostTail(this.stream)
    if (lost !== undefined && lost.firstReceived < end) {
      this.corrupt.push(corruptGap(this.stream, lost))
    }
    const wanted = query.limit + 1
    if (query.order === 'asc') {
      const picks = this.ascend(query.start, end, wanted)
      const hasMore = picks.length > query.limit
      return { picks: picks.slice(0, query.limit), hasMore, corrupt: this.corrupt }
    }
    // From the newest back, one window of buckets at a time, skipping empty stretches.
    let picks: BookPick[] = []
    let until = end
    while (until > query.start && picks.length < wanted) {
      const last = this.lastBefore(until)
      if (last === undefined) break
      const newest = this.bucketOf(last.received) + query.interval
      const from = Math.max(query.start, newest - wanted * query.interval)
      picks = [...this.ascend(from, Math.min(until, newest), wanted), ...picks]
      until = from
    }
    const hasMore = picks.length > query.limit
    return { picks: picks.slice(-query.limit), hasMore, corrupt: this.corrupt }
  }

  private ascend(start: number, end: number, wanted: number): BookPick[] {
    const { interval } = this.query
    const picks: BookPick[] = []
    let bucket = this.bucketOf(start)
    let before = this.lastBefore(start)
    while (bucket < end && picks.length < wanted) {
      const bucketEnd = bucket + interval
      const last = this.lastBefore(Math.min(bucketEnd, end))
      if (last !== undefined && last.ordinal > (before?.ordinal ?? this.stream.removed)) {
        picks.push(this.pick(last, before, bucket, bucketEnd))
        before = last
        bucket = bucketEnd
        continue
      }
      // This bucket is empty: continue with the bucket of the next row.
      const next = last === undefined ? this.receivedAt(this.stream.removed + 1) : last.next
      if (next === undefined) break
      bucket = Math.max(bucketEnd, this.bucketOf(next))
    }
    return picks
  }

  private bucketOf(time: number): number {
    return Math.floor(time / this.query.interval) * this.query.interval
  }

  private pick(last: Found, before: Found | undefined, start: number, end: number): BookPick {
    const base = {
      ordinal: before?.ordinal ?? this.stream.removed,
      changes: before?.changes ?? this.changesRemoved(),
    }
    const damage = this.damagedBetween(base, last.ordinal)
    return {
      columns: this.rowOf(last),
      row: 0,
      sequence: last.ordinal,
      bucket: {
        start,
        end,
        ageMs: (end - last.received) / 1000,
        observations: last.ordinal - base.ordinal - damage.rows,
        changes: last.changes - base.changes - damage.changes,
        partial: start < this.query.start || end > endOf(this.query),
      },
    }
  }

  // What damaged chunks hold between two rows that can be read: most of it is of earlier buckets.
  private damagedBetween(
    base: Pick<Found, 'ordinal' | 'changes'>,
    last: number,
  ): { readonly rows: number; readonly changes: number } {
    let rows = 0
    let changes = 0
    if (this.damaged.size === 0) return { rows, changes }
    const { places } = this.view.directory(this.stream)
    let reached = base
    for (const [index, place] of places.entries()) {
      if (place.first <= base.ordinal || !this.damaged.has(place.first)) continue
      if (place.first > last) break
      rows += place.count
      const begin =
        'lost' in place
          ? reached.ordinal === place.first - 1 && reached.changes
          : place.changesBefore
      const after = places[index + 1]
      const end =
        after === undefined ? this.stream.changes : 'lost' in after ? false : after.changesBefore
      if (begin === false || end === false) continue
      changes += end - begin
      reached = { ordinal: place.first + place.count - 1, changes: end }
    }
    return { rows, changes }
  }

  // The row is in the stretch decoded last, so the ladder continues from its current row.
  private rowOf({ ordinal }: Found): BookColumns {
    const { columns, first } = this.stretch!
    const row = ordinal - first
    if (this.folded < 0 || this.folded > row) {
      loadBase(this.ladder, columns)
      this.folded = -1
    }
    applyRows(this.ladder, columns, this.folded + 1, row + 1)
    this.folded = row
    return toSingleRow(this.ladder, columns, row, this.query.depth)
  }

  // Level changes of the rows that retention removed.
  private changesRemoved(): number {
    const first = this.view.directory(this.stream).places[0]
    if (first === undefined) return this.stream.changes
    return 'lost' in first ? 0 : first.changesBefore
  }

  private lastBefore(time: number): Found | undefined {
    const { stream, view } = this
    const { places } = view.directory(stream)
    const tail = view.tailOf(stream)
    if (tail !== undefined && tail.columns.received[0]! < time) {
      const { columns, first } = view.bookTail(stream)!
      this.enter({ columns, first, changesBefore: stream.changes })
      return this.find(time)
    }
    for (let index = placeOfTime(places, time - 1); index >= 0; index--) {
      const place = places[index]!
      if (this.damaged.has(place.first)) continue
      try {
        if (!('lost' in place)) {
          this.decode(place)
          return this.find(time)
        }
      } catch (error) {
        if (!isDamage(error)) throw error
        this.stretch = undefined
      }
      this.damaged.add(place.first)
      view.onDamage?.(stream)
      this.corrupt.push(corruptAt(view, stream, place))
    }
    return undefined
  }

  private decode(place: ChunkPlace): void {
    if (this.stretch?.first === place.first) return
    const { bodies } = this.view
    const columns =
      this.keptRows < MOST_KEPT_ROWS
        ? bodies.book(this.stream, place, true)
        : bodies.bookOr(this.scratch, this.stream, place)
    this.keptRows += place.count
    const { first, changesBefore } = place
    this.enter({ columns, first, changesBefore })
  }

  private enter(stretch: Stretch): void {
    if (this.stretch?.first === stretch.first && this.stretch.columns === stretch.columns) return
    this.stretch = stretch
    this.folded = -1
  }

  private find(time: number): Found {
    const { columns, first, changesBefore } = this.stretch!
    const row = lastReceivedAtMost(columns, time - 1)
    const ordinal = first + row
    return {
      ordinal,
      received: columns.received[row]!,
      changes: changesBefore + columns.changeEnd[row]!,
      next: row + 1 < columns.count ? columns.received[row + 1]! : this.receivedAt(ordinal + 1),
    }
  }

  // When a row was received that starts a chunk or the tail; absent after the last row.
  private receivedAt(ordinal: number): number | undefined {
    const { places } = this.view.directory(this.stream)
    const place = places[placeOfOrdinal(places, ordinal)]
    if (ordinal < this.stream.next && place?.first === ordinal) return place.firstReceived
    return this.view.tailOf(this.stream)?.columns.received[0]
  }
}

/** The last row before some time. */
type Found = {
  readonly ordinal: number
  readonly received: number
  /** Level changes of all rows up to it. */
  readonly changes: number
  /** When the row after it was received. */
  readonly next: number | undefined
}
