import { createHash } from 'node:crypto'
import { DAY_MICROS, PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { chunkHash, type TapePlatform } from '@priorbook/sdk/tape'
import { restBetween } from '../../../lib/wait.ts'
import type { ObjectStore } from '../../../objects/object-store.ts'
import { putChecked } from '../../../objects/put-checked.ts'
import { isDamage } from '../bodies.ts'
import type { Database } from '../database.ts'
import { placeOfOrdinal, placesOfBody, type ChunkPlace, type Directory } from '../directory.ts'
import type { Session } from '../session.ts'
import type { View } from '../view.ts'
import {
  forgetSegment,
  isNeeded,
  lastMade,
  listUnused,
  moveBody,
  ownerOf,
  saveSegment,
  type ColdPlace,
} from './cold-places.ts'
import { SEGMENT_BYTES, SegmentWriter } from './segment.ts'

/** What to move, and where to. */
export type MoveOrder = {
  readonly objects: ObjectStore
  /** Only chunks whose rows are all older go. */
  readonly before: number
  readonly now: number
  /** A venue gets a segment when one is full, or so long after its last one, in microseconds. */
  readonly every: number
  readonly segmentBytes?: number
  /** How long a segment stays of which no chunk is wanted any more, in microseconds. */
  readonly keepUnused?: number
  /** How long to leave the process to others between two steps. */
  readonly restMs?: number
  readonly signal?: AbortSignal
}

const KEEP_UNUSED = 30 * DAY_MICROS

/** What was moved. */
export type MoveReport = {
  segments: number
  chunks: number
  bytes: number
  /** Segments that were removed from the storage, because retention removed all their chunks. */
  removed: number
}

type Movable = {
  readonly venue: VenueId
  readonly body: number
  readonly stream: number
  readonly first: number
  readonly day: number
  readonly length: number
}

// Bounds of a step: an append waits for it. To open and hash 24 chunks takes 5 ms.
const STEP = 256
const COPY_STEP = 24
// Max chunks that are looked at before some are moved: 30 MB of memory.
const MAX_PLANNED = 200_000

/**
 * Moves chunks into segments of other storage, oldest first. A segment is written, read back and compared;
 * only then its chunks leave the database. A kill at any moment loses nothing: at worst a segment stays
 * that nothing refers to.
 */
export async function moveCold(
  session: Session,
  platform: TapePlatform,
  order: MoveOrder,
): Promise<MoveReport> {
  const report: MoveReport = { segments: 0, chunks: 0, bytes: 0, removed: 0 }
  const failed: unknown[] = []
  for (const groups of (await plan(session, order)).values()) {
    for (const group of cut(groups, order)) {
      try {
        await moveGroup(session, platform, order, group, report)
      } catch (error) {
        // One bad object must not keep all others here; a storage that is away is asked once.
        if (!(error instanceof PriorbookError && error.code === 'object_damaged')) throw error
        failed.push(error)
      }
    }
  }
  report.removed = await removeUnused(session, order)
  if (failed.length > 0) throw failed[0]
  return report
}

/** How many bytes of chunks from before a time are in the database, nearly all of which may go. */
export function movableBytes(database: Database, before: number): number {
  const sql = `SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM body
    WHERE id IN (SELECT body FROM chunk WHERE form >= ${SEALED} AND last_received < ?)`
  return database.get(sql, before)!['bytes'] as number
}

// A backup of the tape may need a segment that the tape does not need any more, so it stays for a while.
async function removeUnused(session: Session, order: MoveOrder): Promise<number> {
  const { database } = session
  let removed = 0
  const owner = await session.write(() => database.write(() => ownerOf(database)))
  for (const segment of await session.read(() => listUnused(database))) {
    // Another tape, of which this one is a copy, may need what that one wrote.
    if (segment.address !== order.objects.address || segment.owner !== owner) continue
    const { unused } = segment
    if (unused === null) {
      await session.write(() =>
        database.write(() => saveSegment(database, { ...segment, unused: order.now })),
      )
    } else if (order.now - unused >= (order.keepUnused ?? KEEP_UNUSED)) {
      const isShared = await session.read(() => isNeeded(database, segment.name))
      if (!isShared) await order.objects.remove(segment.name)
      await session.write(() => forgetSegment(database, segment))
      removed++
    }
    await rest(order)
  }
  return removed
}

// The chunks that may go, by venue, in the order in which they go.
async function plan(session: Session, order: MoveOrder): Promise<Map<VenueId, Movable[]>> {
  const { database, view } = session
  const found = new Map<VenueId, Movable[]>()
  let planned = 0
  for (let after = 0; planned < MAX_PLANNED;) {
    const step = await session.read(() =>
      readHot(database, after).map((row) => toMovable(view, row, order)),
    )
    for (const { body, movable } of step) {
      after = body
      if (movable === undefined) continue
      const list = found.get(movable.venue)
      if (list === undefined) found.set(movable.venue, [movable])
      else list.push(movable)
      planned++
    }
    if (step.length < STEP) break
    await rest(order)
  }
  for (const [venue, list] of found) {
    const bytes = list.reduce((sum, { length }) => sum + length, 0)
    const last = await session.read(() => lastMade(database, prefixOf(venue)))
    const isDue = order.now - last >= order.every
    if (!isDue && bytes < (order.segmentBytes ?? SEGMENT_BYTES)) found.delete(venue)
    else list.sort((a, b) => a.day - b.day || a.stream - b.stream || a.first - b.first)
  }
  return found
}

function readHot(database: Database, after: number): HotRow[] {
  return database.all(
    `SELECT b.id AS body, length(b.bytes) AS length, min(c.stream) AS stream, min(c.first) AS first,
       max(c.first + c.count) AS next, max(c.form) AS form, min(c.first_received) AS began,
       max(c.last_received) AS received
     FROM body b JOIN chunk c ON c.body = b.id WHERE b.id > ? GROUP BY b.id ORDER BY b.id LIMIT ?`,
    after,
    STEP,
  ) as unknown as HotRow[]
}

// The recorder never needs the storage. So the newest chunk of a stream stays, because the next rows build on
// it, and chunks across midnight, by which the rows of a day are counted.
function toMovable(
  view: View,
  { body, length, stream: id, first, next, form, began, received }: HotRow,
  { before }: MoveOrder,
): { readonly body: number; readonly movable: Movable | undefined } {
  const day = Math.floor(received / DAY_MICROS)
  const isOneDay = Math.floor(began / DAY_MICROS) === day
  if (received >= before || form < SEALED || !isOneDay) return { body, movable: undefined }
  try {
    const stream = view.streamById(id)
    if (next >= stream.next) return { body, movable: undefined }
    return { body, movable: { venue: stream.venue, body, stream: id, first, length, day } }
  } catch (error) {
    // A damaged entry may name a stream that does not exist; the others must go all the same.
    if (!isDamage(error)) throw error
    return { body, movable: undefined }
  }
}

type HotRow = {
  readonly body: number
  readonly length: number
  readonly stream: number
  readonly first: number
  readonly next: number
  readonly form: number
  readonly began: number
  readonly received: number
}

// Chunks of this form and above are final.
const SEALED = 2

// Segments of at most a size; one ends with its day where it is not tiny, so that retention removes it whole.
function* cut(
  list: readonly Movable[],
  { segmentBytes = SEGMENT_BYTES }: MoveOrder,
): Generator<Movable[]> {
  let group: Movable[] = []
  let bytes = 0
  for (const chunk of list) {
    const isLarge = bytes + chunk.length > segmentBytes
    const isNextDay = group.at(-1)?.day !== chunk.day && bytes > segmentBytes / 4
    if (group.length > 0 && (isLarge || isNextDay)) {
      yield group
      group = []
      bytes = 0
    }
    group.push(chunk)
    bytes += chunk.length
  }
  if (group.length > 0) yield group
}

async function moveGroup(
  session: Session,
  platform: TapePlatform,
  order: MoveOrder,
  group: readonly Movable[],
  report: MoveReport,
): Promise<void> {
  const bytes = group.reduce((sum, { length }) => sum + length, 0)
  const writer = new SegmentWriter(group.length, bytes)
  const moved: Moved[] = []
  for (let at = 0; at < group.length; at += COPY_STEP) {
    const step = group.slice(at, at + COPY_STEP)
    await session.read(() => {
      for (const chunk of step) copyChunk(session, platform, chunk, writer, moved)
    })
    await rest(order)
  }
  if (moved.length === 0) return
  const segment = writer.finish()
  const hash = createHash('sha256').update(segment).digest()
  const [{ venue, day }] = group as readonly [Movable]
  const date = new Date((day * DAY_MICROS) / 1000).toISOString().slice(0, 10)
  const name = `${prefixOf(venue)}${date}/${hash.toString('hex', 0, 12)}.seg`
  await putChecked(order.objects, name, segment, hash, {
    isNeeded: () => session.read(() => isNeeded(session.database, name)),
    rest: () => rest(order),
  })
  const { now: made } = order
  const { address } = order.objects
  const size = segment.length
  const chunks = moved.reduce((sum, { places }) => sum + places.length, 0)
  const { database } = session
  const id = await session.write(() =>
    database.write(() => {
      const owner = ownerOf(database)
      return saveSegment(database, { address, name, size, chunks, hash, made, owner, unused: null })
    }),
  )
  let gone = 0
  for (let at = 0; at < moved.length; at += STEP) {
    const step = moved.slice(at, at + STEP)
    await session.write(() =>
      database.write(() => {
        for (const chunk of step) {
          if (isStill(session, chunk)) moveBody(database, id, chunk.to)
          else gone += chunk.places.length
        }
      }),
    )
    await rest(order)
  }
  report.segments++
  report.chunks += chunks - gone
  report.bytes += size
}

type Moved = {
  /** One chunk, or those of a pack. */
  readonly places: readonly ChunkPlace[]
  readonly to: Omit<ColdPlace, 'address' | 'name' | 'size'>
}

// A chunk that is damaged or gone by now stays out.
function copyChunk(
  { database, view }: Session,
  platform: TapePlatform,
  { stream: id, first, body }: Movable,
  writer: SegmentWriter,
  moved: Moved[],
): void {
  try {
    const stream = view.streamById(id)
    const { places } = view.directory(stream)
    const own = placesFrom(places, first, body)
    const [place] = own
    const bytes = place && view.bodies.stored(place)
    // A pack with a damaged entry stays: a rebuild replaces it.
    if (place === undefined || bytes === undefined || !isWhole(database, own, body)) return
    const chunks = own.map((one) => view.bodies.open(stream, one))
    const hash = Buffer.concat(chunks.map((chunk) => chunkHash(chunk, platform)))
    const { venue, market, key, kind, metric } = stream
    const { firstReceived } = place
    const { lastReceived } = own.at(-1)!
    const count = own.reduce((sum, one) => sum + one.count, 0)
    const named = { venue, market, key, kind, metric, first, count, firstReceived, lastReceived }
    const { start, length, crc } = writer.add(named, bytes)
    moved.push({ places: own, to: { body, start, length, crc, hash } })
  } catch (error) {
    if (!isDamage(error)) throw error
  }
}

// The chunks of a body, from the first of them on.
function placesFrom(all: Directory['places'], first: number, body: number): ChunkPlace[] {
  const own: ChunkPlace[] = []
  for (let at = placeOfOrdinal(all, first); at >= 0 && at < all.length; at++) {
    const place = all[at]!
    if ('lost' in place || place.body !== body) break
    own.push(place)
  }
  return own
}

function isStill({ database }: Session, { places, to: { body } }: Moved): boolean {
  const hasBody = 'SELECT 1 AS found FROM body WHERE id = ?'
  return isWhole(database, places, body) && database.get(hasBody, body) !== undefined
}

// True where these are all chunks of a body.
function isWhole(database: Database, places: readonly ChunkPlace[], body: number): boolean {
  const stored = placesOfBody(database, body)
  return (
    stored.length === places.length &&
    stored.every((own, at) => {
      const { stream, first, count } = places[at]!
      return own?.stream === stream && own.first === first && own.count === count
    })
  )
}

/** The names of the segments of a venue begin so. */
function prefixOf(venue: VenueId): string {
  return `tape/v1/${venue}/`
}

function rest({ restMs = 0, signal }: MoveOrder): Promise<void> {
  return restBetween(restMs, signal)
}
