import { crc32 } from 'node:zlib'
import { instrumentName } from '@priorbook/sdk/domain'
import type { TapePlatform } from '@priorbook/sdk/tape'
import { isDamage, nameOf } from './bodies.ts'
import { findCold, insertBody } from './cold/cold-places.ts'
import { Database } from './database.ts'
import { isSealed, writePlace, type ChunkPlace } from './directory.ts'
import { listGaps, removeGaps, saveGap } from './gaps.ts'
import { recount } from './recount.ts'
import { copyParity } from './parity.ts'
import { noteSealed } from './sealed-queue.ts'
import { readState, STATE, writeState } from './state.ts'
import { createStream, listStreams, saveStream, type Stream } from './streams.ts'
import { View } from './view.ts'

/**
 * Adopts streams of a rebuilt tape that came out different. The old rows stay as the generation known
 * before `knownFrom`, and reads with an earlier `knownAt` still return them. Both tapes must be
 * sealed. Returns the names of the replaced streams.
 */
export function adoptStreams(
  view: View,
  rebuiltFile: string,
  platform: TapePlatform,
  knownFrom: number,
): string[] {
  const other = new Database(rebuiltFile, true)
  try {
    const rebuilt = new View(other, platform)
    const adopted: string[] = []
    const damaged = damagedInstruments(view.database)
    for (const { id } of listStreams(other)) {
      const stream = rebuilt.streamById(id)
      const own = view.stream(stream, stream.kind, stream.metric)
      if (own !== undefined) {
        const isDamaged = damaged.has(instrumentName(stream))
        if (sameRows(view, own, rebuilt, stream, isDamaged)) continue
      }
      view.database.write(() => {
        adoptStream(view, own, rebuilt, stream, knownFrom)
        if (stream.kind === 'book') copyParity(other, view.database, stream)
      })
      if (own !== undefined) view.forgetStream(own)
      adopted.push(nameOf(stream, { first: 1, count: stream.next - 1 }))
    }
    view.followAdoptions()
    if (adopted.length > 0) recount(view)
    return adopted
  } finally {
    other.close()
  }
}

// Rows are equal when their chunks have equal starts and bytes; a damaged chunk equals nothing.
function sameRows(
  view: View,
  own: Stream,
  rebuilt: View,
  stream: Stream,
  isDamaged: boolean,
): boolean {
  const places = view.directory(own).places
  const again = rebuilt.directory(stream).places
  if (own.removed > 0 || places.length !== again.length) return false
  // First: where an entry is damaged, those of the same pack do not tell their hashes.
  if (places.some((place) => 'lost' in place)) return false
  return places.every((place, index) => {
    const other = again[index]!
    if ('lost' in place || 'lost' in other) return false
    // Sealed chunks are packed later, by which their rows do not change.
    if (place.form === 'packed' || other.form === 'packed') {
      const known = hashOf(view, own, place, isDamaged)
      return known !== undefined && known === hashOf(rebuilt, stream, other, false)
    }
    const fresh = rebuilt.bodies.bytes(stream, other)
    const cold = orDamaged(() => findCold(view.database, place.body))
    if (cold === 'damaged') return false
    if (cold !== undefined && fresh !== undefined) {
      // What other storage lost was noted as a gap when a reader met it.
      return !isDamaged && cold.length === fresh.length && cold.crc === crc32(fresh)
    }
    const bytes = view.bodies.bytes(own, place)
    return bytes !== undefined && fresh !== undefined && Buffer.compare(bytes, fresh) === 0
  })
}

// Undefined where the chunk is damaged.
function hashOf(
  { bodies, database }: View,
  stream: Stream,
  place: ChunkPlace,
  isDamaged: boolean,
): string | undefined {
  const hash = orDamaged(() => {
    if (findCold(database, place.body) === undefined) return bodies.contentHash(stream, place)
    // What other storage lost was noted as a gap when a reader met it.
    return isDamaged ? undefined : bodies.chainHash(stream, place)
  })
  return hash === 'damaged' ? undefined : hash
}

function orDamaged<T>(read: () => T): T | 'damaged' {
  try {
    return read()
  } catch (error) {
    if (!isDamage(error)) throw error
    return 'damaged'
  }
}

function damagedInstruments(database: Database): ReadonlySet<string> {
  const noted = listGaps(database, { reason: 'corrupt' }).filter(({ journal }) => journal === 0)
  return new Set(noted.map(instrumentName))
}

function adoptStream(
  view: View,
  own: Stream | undefined,
  rebuilt: View,
  stream: Stream,
  knownFrom: number,
): void {
  const { database } = view
  const version = readState(database, STATE.version) + 1
  if (own !== undefined) saveStream(database, { ...own, knownTo: knownFrom, version })
  const generation = (own?.generation ?? 0) + 1
  const created = createStream(database, stream, stream.maker, { generation, knownFrom, next: 1 })
  for (const place of rebuilt.directory(stream).places) {
    if ('lost' in place) continue
    const body = insertBody(database, rebuilt.bodies.bytes(stream, place) ?? new Uint8Array(0))
    const form = isSealed(place) ? 'sealed' : place.form
    writePlace(database, { ...place, stream: created.id, form, body })
    if (isSealed(place)) noteSealed(database, created.id, place.first)
  }
  const { next, changes, head } = stream
  saveStream(database, { ...created, next, changes, head, version })
  if (stream.kind === 'book') {
    removeGaps(database, stream)
    for (const gap of listGaps(rebuilt.database, { venue: stream.venue, key: stream.key })) {
      saveGap(database, gap)
    }
  }
  writeState(database, STATE.version, version)
  writeState(database, STATE.adoptions, readState(database, STATE.adoptions) + 1)
}
