import { chunkHash, Pack, type TapePlatform } from '@priorbook/sdk/tape'
import { isDamage } from '../bodies.ts'
import { insertBody } from '../cold/cold-places.ts'
import { placeOfOrdinal, removePlace, writePlace, type ChunkPlace } from '../directory.ts'
import { readState, STATE, writeState } from '../state.ts'
import { findStreamById, saveStream, type Stream } from '../streams.ts'
import type { View } from '../view.ts'
import type { MadePack } from './make-packs.ts'

/**
 * Puts a pack in the place of its chunks, in one transaction. Whoever made it, every chunk is read from the pack first
 * and must have the hash of the chunk that is stored: the one that signed roots, receipts and the next chunk name.
 */
export function replaceByPack(view: View, platform: TapePlatform, made: MadePack): boolean {
  const { database } = view
  if (findStreamById(database, made.stream) === undefined) return false
  const stream = view.streamById(made.stream)
  if (!isStill(view, stream, made.places) || !gives(view, platform, stream, made)) return false
  const before = stream.version
  const version = readState(database, STATE.version) + 1
  try {
    database.write(() => {
      for (const place of made.places) removePlace(database, place)
      const body = insertBody(database, made.bytes)
      for (const place of made.places) writePlace(database, { ...place, form: 'packed', body })
      stream.version = version
      saveStream(database, stream)
      writeState(database, STATE.version, version)
    })
  } catch (error) {
    stream.version = before
    throw error
  }
  view.repacked(version, stream)
  return true
}

// Retention or a move to other storage may have been faster.
function isStill(view: View, stream: Stream, places: readonly ChunkPlace[]): boolean {
  const { places: stored } = view.directory(stream)
  const hasBody = 'SELECT 1 AS found FROM body WHERE id = ?'
  return places.every((place) => {
    const own = stored[placeOfOrdinal(stored, place.first)]
    return (
      own !== undefined &&
      !('lost' in own) &&
      own.first === place.first &&
      own.form === 'sealed' &&
      own.body === place.body &&
      own.count === place.count &&
      view.database.get(hasBody, own.body) !== undefined
    )
  })
}

function gives(
  view: View,
  platform: TapePlatform,
  stream: Stream,
  { places, bytes }: MadePack,
): boolean {
  try {
    const pack = new Pack(bytes, platform)
    return (
      pack.count === places.length &&
      places.every((place) => {
        const packed = pack.chunk(place.first)
        if (packed === undefined) return false
        const hash = Buffer.from(chunkHash(packed, platform)).toString('hex')
        // The pack takes the hash of a chunk from the one after it.
        const chained = Buffer.from(pack.hashOf(place.first)!).toString('hex')
        return hash === chained && hash === view.bodies.contentHash(stream, place)
      })
    )
  } catch (error) {
    if (!isDamage(error)) throw error
    return false
  }
}
