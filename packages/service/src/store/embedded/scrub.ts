import { instrumentName, type Gap } from '@priorbook/sdk/domain'
import type { InstrumentRef } from '../store.ts'
import { isDamage, nameOf } from './bodies.ts'
import { isCold } from './cold/cold-places.ts'
import { corruptAt } from './corrupt-gap.ts'
import { readDirectory, type ChunkPlace, type LostPlace } from './directory.ts'
import { listGaps, removeGap, saveGap } from './gaps.ts'
import { recountStream, sharesOf } from './recount.ts'
import { readState, STATE, writeState } from './state.ts'
import { findStreamById, listStreamsOf, type Stream } from './streams.ts'
import type { View } from './view.ts'

/** Where a walk over all chunks is. */
export type ScrubPlace = { readonly stream: number; readonly first: number }

/** Where such a walk begins. */
export const SCRUB_START: ScrubPlace = { stream: 0, first: 0 }

/** What a step looked at and found; `next` is absent after the last chunk. */
export type ScrubStep = {
  readonly chunks: number
  readonly bytes: number
  /** The names of damaged chunks, with the reason. */
  readonly damaged: readonly string[]
  readonly next: ScrubPlace | undefined
}

// Bounds of a step: an append waits for it.
const STEP_CHUNKS = 32
const STEP_BYTES = 262_144
const STEP_STREAMS = 64

type Places = readonly (ChunkPlace | LostPlace)[]

/**
 * Checks the next chunks of the tape. Damage of books becomes a stored gap `corrupt`, with the bounds that a
 * page reports in place of the rows, so that lists of gaps, coverage and replay tell it too. Gaps of chunks
 * that are whole again, or gone, are removed.
 */
export function scrubStep(view: View, after: ScrubPlace): ScrubStep {
  const { database } = view
  view.bodies.forgetPacks()
  const ids = database.all(
    'SELECT id FROM stream WHERE id >= ? ORDER BY id LIMIT ?',
    after.stream,
    STEP_STREAMS + 1,
  )
  const sum = { chunks: 0, bytes: 0 }
  const damaged: string[] = []
  for (const [index, row] of ids.entries()) {
    const id = row['id'] as number
    if (index === STEP_STREAMS) return { ...sum, damaged, next: { stream: id, first: 0 } }
    const stream = readOwn(view, id)
    if (stream === undefined) continue
    const { places } = readDirectory(database, stream)
    const from = id === after.stream ? after.first : 0
    const found: Found[] = []
    let stop: number | undefined
    for (const place of places.filter(({ first }) => first >= from)) {
      if (sum.chunks >= STEP_CHUNKS || sum.bytes >= STEP_BYTES) {
        stop = place.first
        break
      }
      sum.chunks++
      sum.bytes += sizeOf(view, place)
      // Chunks in other storage are checked by `verify`: to read them all the time would be paid for.
      if ('lost' in place || !isCold(database, place.body)) {
        found.push({ place, why: damageOf(view, stream, place) })
      }
    }
    for (const { place, why } of found) {
      if (why !== undefined) damaged.push(`${nameOf(stream, place)}: ${why}`)
    }
    try {
      noteDamage(view, stream, found, stop === undefined ? places : undefined)
    } catch (error) {
      // Damage in the list of gaps must not keep the other streams from being looked at.
      if (!isDamage(error)) throw error
      damaged.push(`${instrumentName(stream)}: ${error.message}`)
    }
    if (stop !== undefined) return { ...sum, damaged, next: { stream: id, first: stop } }
  }
  return { ...sum, damaged, next: undefined }
}

/** Checks all chunks of one instrument, after a reader met damage there. */
export function scrubInstrument(view: View, ref: InstrumentRef): readonly string[] {
  const damaged: string[] = []
  view.bodies.forgetPacks()
  for (const { id } of listStreamsOf(view.database, ref)) {
    const stream = view.streamById(id)
    const { places } = readDirectory(view.database, stream)
    const found = places.map((place) => ({ place, why: damageOf(view, stream, place) }))
    for (const { place, why } of found) {
      if (why !== undefined) damaged.push(`${nameOf(stream, place)}: ${why}`)
    }
    noteDamage(view, stream, found, places)
  }
  return damaged
}

type Found = { readonly place: Places[number]; readonly why: string | undefined }

// A stream with rows in the log is the one that the writer changes; others are not worth remembering.
function readOwn(view: View, id: number): Stream | undefined {
  try {
    return view.tail.streams.has(id) ? view.streamById(id) : findStreamById(view.database, id)
  } catch (error) {
    // A damaged row of the stream itself: `verify` names it.
    if (isDamage(error)) return undefined
    throw error
  }
}

function damageOf(view: View, stream: Stream, place: Places[number]): string | undefined {
  if ('lost' in place) return 'its directory entry is damaged or missing'
  try {
    view.bodies.open(stream, place)
    return undefined
  } catch (error) {
    if (!isDamage(error)) throw error
    return error.message
  }
}

function sizeOf(view: View, place: Places[number]): number {
  return 'lost' in place ? 0 : view.bodies.size(place)
}

// `all` are the places of the stream where the walk has seen its last one: then gaps of places that do not
// exist any more, because retention or a rebuild replaced them, are removed too.
function noteDamage(
  view: View,
  stream: Stream,
  found: readonly Found[],
  all: Places | undefined,
): void {
  // A gap of an instrument speaks of its book; trades and samples report damage on their own pages.
  if (stream.kind !== 'book' || stream.knownTo !== null) return
  const { database } = view
  const { venue, key } = stream
  const noted = listGaps(database, { venue, key, reason: 'corrupt' }).filter(
    // Damage of the journal has a record, and stays.
    ({ journal }) => journal === 0,
  )
  const wanted = found
    .filter(({ why }) => why !== undefined)
    .map(({ place }) => corruptAt(view, stream, place))
    // The end of an unknown number of rows is not known yet.
    .filter(({ end }) => end !== undefined)
  const isSame = (a: Gap, b: Gap): boolean =>
    a.start === b.start && a.end === b.end && a.afterSequence === b.afterSequence
  const seen = new Set(found.map(({ place }) => place.first - 1))
  const stored = new Set(all?.map(({ first }) => first - 1))
  const isOver = (gap: Gap): boolean =>
    seen.has(gap.afterSequence) || (all !== undefined && !stored.has(gap.afterSequence))
  const added = wanted.filter((gap) => !noted.some((one) => isSame(one, gap)))
  const gone = noted.filter((gap) => isOver(gap) && !wanted.some((one) => isSame(one, gap)))
  if (added.length === 0 && gone.length === 0) return
  const version = readState(database, STATE.version) + 1
  const shares = sharesOf(view, stream)
  database.write(() => {
    for (const gap of gone) removeGap(database, gap)
    for (const gap of added) saveGap(database, gap)
    recountStream(view, stream, shares)
    writeState(database, STATE.version, version)
  })
  view.repacked(version, stream)
}
