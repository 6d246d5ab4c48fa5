import { isBackfillKey, PriorbookError, type Micros, type VenueId } from '@priorbook/sdk/domain'
import type { RetentionReport } from '../store.ts'
import { isDamage } from './bodies.ts'
import { lastColdHash } from './cold/cold-places.ts'
import { placeOfOrdinal, removeThrough, type ChunkPlace } from './directory.ts'
import { findRetention, hasMarketClosed, removeGap, saveGap } from './gaps.ts'
import { recountStream, sharesOf } from './recount.ts'
import { readState, STATE, writeState } from './state.ts'
import { findStream, saveStream, type Stream } from './streams.ts'
import { collectFirstRows, saveFirstRows, type FirstRows } from './tally.ts'
import type { View } from './view.ts'

/** One step of a removal. */
export type RemovalOrder = {
  /** Absent removes from all venues. */
  readonly venue?: VenueId | undefined
  /** Only rows that were received before this time go. */
  readonly before: number
  /** Where the step before stopped; 0 at first. */
  readonly after: number
  /** Counts what would go, and keeps it. */
  readonly isDryRun?: boolean
}

/** What a step removed, and where the next one goes on; absent after the last. */
export type RemovalStep = RetentionReport & { readonly next: number | undefined }

// Bounds of a step: an append waits for it.
const STEP_STREAMS = 512
const STEP_CHUNKS = 64

/** Removes all chunks whose newest row is older than a time, step by step. */
export function removeOlder(view: View, before: number): RetentionReport {
  const sum = { chunks: 0, rows: 0, bytes: 0 }
  // Trades and samples follow the book of their key, so a second round finds what the first could not.
  for (let round = 0; round < 2; round++) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const step: RemovalStep = removeStep(view, { before, after })
      sum.chunks += step.chunks
      sum.rows += step.rows
      sum.bytes += step.bytes
      after = step.next
    }
  }
  return sum
}

/**
 * Removes some chunks that are older than a time, in one transaction, and writes gaps for them. The
 * newest chunk of an open book stays, because the next rows build on it.
 */
export function removeStep(view: View, order: RemovalOrder): RemovalStep {
  const { database } = view
  const { after, before, venue = null, isDryRun = false } = order
  const until = after + STEP_STREAMS
  const end = (database.get('SELECT max(id) AS id FROM stream')?.['id'] as number | null) ?? 0
  const ids = database.all(
    `SELECT id FROM stream WHERE id > ? AND id <= ? AND (? IS NULL OR venue = ?) AND (
       SELECT last_received FROM chunk WHERE stream = stream.id ORDER BY first LIMIT 1) < ?
     ORDER BY id`,
    after,
    until,
    venue,
    venue,
    before,
  )
  const sum = { chunks: 0, rows: 0, bytes: 0 }
  let next = until < end ? until : undefined
  const version = readState(database, STATE.version) + 1
  const touched: { readonly stream: Stream; readonly row: Stream }[] = []
  const work = (): void => {
    for (const { id } of ids as { id: number }[]) {
      if (sum.chunks >= STEP_CHUNKS) {
        next = id - 1
        break
      }
      const stream = view.streamById(id)
      const all = oldPlaces(view, stream, before)
      const old = isDryRun ? all : wholePacks(all.slice(0, STEP_CHUNKS), all)
      if (old.length === 0) continue
      if (old.length < all.length) next = id - 1
      sum.chunks += old.length
      sum.rows += old.reduce((rows, place) => rows + place.count, 0)
      sum.bytes += old.reduce((bytes, place) => bytes + view.bodies.size(place), 0)
      if (isDryRun) continue
      touched.push({ stream, row: { ...stream } })
      removePlaces(view, stream, old, version)
      if (next === id - 1) break
    }
    if (touched.length > 0) writeState(database, STATE.version, version)
    const seen = after === 0 ? undefined : firsts.get(view)
    if (
      !isDryRun &&
      next === undefined &&
      (touched.length > 0 || seen?.hasRemoved === true) &&
      (after === 0 || seen !== undefined)
    ) {
      saveFirstRows(database, collectFirstRows(database, order.venue, after, end, seen?.rows))
    }
  }
  try {
    if (isDryRun) database.read(work)
    else if (ids.length > 0 || next === undefined) database.write(work)
  } catch (error) {
    for (const { stream, row } of touched) Object.assign(stream, row)
    throw error
  }
  for (const { stream } of touched) view.repacked(version, stream)
  if (!isDryRun) noteFirsts(view, order, next, touched.length > 0)
  return { ...sum, next }
}

// What the steps of a walk over all streams have seen of first rows. The last step writes it: no step reads
// all streams, for which an append would wait.
const firsts = new WeakMap<View, { readonly rows: FirstRows; readonly hasRemoved: boolean }>()

function noteFirsts(
  view: View,
  { venue, after }: RemovalOrder,
  next: number | undefined,
  hasRemoved: boolean,
): void {
  const before = after === 0 ? undefined : firsts.get(view)
  if (next === undefined || (after > 0 && before === undefined)) {
    firsts.delete(view)
    return
  }
  const rows = view.database.read(() =>
    collectFirstRows(view.database, venue, after, next, before?.rows),
  )
  firsts.set(view, { rows, hasRemoved: hasRemoved || before?.hasRemoved === true })
}

// The first places without those of a pack that goes on behind them: packs go whole.
function wholePacks(first: readonly ChunkPlace[], all: readonly ChunkPlace[]): ChunkPlace[] {
  const next = all[first.length]
  return next === undefined ? [...first] : first.filter(({ body }) => body !== next.body)
}

// The chunks of a stream that may go, oldest first. Damaged entries between them go with them.
function oldPlaces(view: View, stream: Stream, before: number): ChunkPlace[] {
  const { places } = view.directory(stream)
  const limit = limitOf(view, stream, before)
  const last = isOver(view, stream) ? places.length : places.length - 1
  const old: ChunkPlace[] = []
  for (const place of places.slice(0, last)) {
    if ('lost' in place) continue
    if (place.lastReceived >= limit) return wholePacks(old, [...old, place])
    old.push(place)
  }
  const [newest] = places.slice(last)
  return newest === undefined || 'lost' in newest ? old : wholePacks(old, [...old, newest])
}

// True where no row will build on what is stored: of an ended market, of a replaced generation, or of
// samples and of rows from a venue's history, which stand alone.
function isOver(view: View, stream: Stream): boolean {
  if (view.tailOf(stream) !== undefined) return false
  const standsAlone = stream.kind === 'sample' || isBackfillKey(stream.key)
  return stream.knownTo !== null || standsAlone || hasMarketClosed(view.database, stream)
}

// One retention gap covers books, trades and samples of a key, so trades and samples are kept as long as
// the books of the same time.
function limitOf(view: View, stream: Stream, before: number): number {
  if (stream.kind === 'book' || stream.knownTo !== null) return before
  const book = findStream(view.database, { ...stream, kind: 'book', metric: '' })
  if (book === undefined) return before
  const own = view.streamById(book.id)
  if (view.lastOrdinal(own) <= own.removed) return before
  return Math.min(before, findRetention(view.database, stream)?.end ?? 0)
}

function removePlaces(
  view: View,
  stream: Stream,
  old: readonly ChunkPlace[],
  version: number,
): void {
  const { database } = view
  const last = old.at(-1)!
  const removed = last.first + last.count - 1
  const anchor = anchorAfter(view, stream, last)
  const shares = sharesOf(view, stream)
  removeThrough(database, old)
  stream.removed = removed
  stream.anchor = anchor
  stream.version = version
  saveStream(database, stream)
  // The rows of a replaced generation are served only to those who ask for the past.
  if (stream.knownTo !== null) return
  declare(view, stream, old[0]!.firstReceived, last.lastReceived)
  recountStream(view, stream, shares)
}

// The hash of the last removed chunk stays, so that the rest of the chain can still be proved.
function anchorAfter(view: View, stream: Stream, last: ChunkPlace): Uint8Array {
  const end = last.first + last.count
  if (end === stream.next) return stream.head
  const { places } = view.directory(stream)
  const next = places[placeOfOrdinal(places, end)]
  const isEndOfBody = next !== undefined && !('lost' in next) && next.body !== last.body
  try {
    // Also where another entry of the pack is damaged: the storage must not be needed for a removal.
    const cold = isEndOfBody ? lastColdHash(view.database, last.body) : undefined
    return cold ?? Buffer.from(view.bodies.chainHash(stream, last), 'hex')
  } catch (error) {
    const isAway = error instanceof PriorbookError && error.code === 'objects_unavailable'
    if (!isDamage(error) && !isAway) throw error
    return stream.anchor
  }
}

function declare(view: View, stream: Stream, first: number, last: number): void {
  const { database } = view
  const { venue, key } = stream
  const known = findRetention(database, stream)
  const start = Math.min(known?.start ?? first, first) as Micros
  const end = Math.max(known?.end ?? 0, last + 1) as Micros
  if (known !== undefined && known.start !== start) removeGap(database, known)
  const detail = 'the rows were removed by age or to save space'
  const gap = { venue, scope: 'instrument', key, reason: 'retention', start, end } as const
  saveGap(database, { ...gap, afterSequence: 0, detail, journal: 0 })
}
