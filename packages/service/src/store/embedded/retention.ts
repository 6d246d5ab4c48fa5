import type { Micros } from '@priorbook/sdk/domain'
import { chunkHash, type TapePlatform } from '@priorbook/sdk/tape'
import type { RetentionReport } from '../store.ts'
import { isDamage } from './bodies.ts'
import { removePlace, type ChunkPlace } from './directory.ts'
import { saveGap } from './gaps.ts'
import { recountStream, sharesOf } from './recount.ts'
import { readState, STATE, writeState } from './state.ts'
import { listStreams, saveStream, type Stream } from './streams.ts'
import { recountExtents } from './tally.ts'
import type { View } from './view.ts'

/**
 * Removes whole sealed chunks whose newest row is older than a time and writes a gap for them. The
 * newest chunk of a stream stays: the next rows build on its book and its received time.
 */
export function removeOlder(view: View, platform: TapePlatform, before: number): RetentionReport {
  let chunks = 0
  let rows = 0
  const { database } = view
  for (const { id } of listStreams(view.database)) {
    const stream = view.streamById(id)
    const removed = removeFrom(view, platform, stream, before)
    chunks += removed.chunks
    rows += removed.rows
  }
  if (chunks > 0) database.write(() => recountExtents(database))
  return { chunks, rows }
}

function removeFrom(
  view: View,
  platform: TapePlatform,
  stream: Stream,
  before: number,
): RetentionReport {
  const { places } = view.directory(stream)
  const old: ChunkPlace[] = []
  for (const place of places.slice(0, -1)) {
    if ('lost' in place || place.form !== 'sealed' || place.lastReceived >= before) break
    old.push(place)
  }
  const last = old.at(-1)
  if (last === undefined) return { chunks: 0, rows: 0 }
  const start = old[0]!.firstReceived as Micros
  // The hash of the last removed chunk stays, so that the rest of the chain can still be proved.
  let anchor = stream.anchor
  try {
    anchor = chunkHash(view.bodies.open(stream, last), platform)
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  const rows = last.first + last.count - 1 - stream.removed
  const version = readState(view.database, STATE.version) + 1
  const firstGap = view.database.get(
    "SELECT start FROM gap WHERE venue = ? AND key = ? AND reason = 'retention'",
    stream.venue,
    stream.key,
  )
  const shares = sharesOf(view, stream)
  view.database.write(() => {
    for (const place of old) removePlace(view.database, place)
    stream.removed = last.first + last.count - 1
    stream.anchor = anchor
    stream.version = version
    saveStream(view.database, stream)
    writeState(view.database, STATE.version, version)
    if (stream.kind === 'book') {
      saveGap(view.database, {
        venue: stream.venue,
        scope: 'instrument',
        key: stream.key,
        reason: 'retention',
        start: ((firstGap?.['start'] as number | undefined) ?? start) as Micros,
        end: (last.lastReceived + 1) as Micros,
        afterSequence: 0,
        detail: `sequences up to ${stream.removed} were removed by age`,
        journal: 0,
      })
    }
    view.repacked(version, stream)
    recountStream(view, stream, shares)
  })
  return { chunks: old.length, rows }
}
