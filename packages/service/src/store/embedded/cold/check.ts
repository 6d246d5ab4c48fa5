import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'
import { chunkHash, type TapePlatform } from '@priorbook/sdk/tape'
import type { Problem, Progress } from '../../store.ts'
import { isDamage, nameOf, type Fetched } from '../bodies.ts'
import { isSealed, placesOfBody, type ChunkPlace } from '../directory.ts'
import type { Session } from '../session.ts'
import type { Stream } from '../streams.ts'
import { equal, RowJudge } from '../verify.ts'
import {
  coldHashOf,
  countCold,
  listSegments,
  placesIn,
  type ColdPlace,
  type Segment,
} from './cold-places.ts'
import { readIndex, readTrailer, TRAILER_BYTES, type SegmentEntry } from './segment.ts'

const READ_BYTES = 8 * 1024 * 1024
const SLICE = 100

/**
 * Reads every segment whole and checks it: its bytes, its index, and of every chunk that the tape wants the
 * checksums, the place in its stream, the chain and the rows.
 */
export async function checkCold(
  session: Session,
  platform: TapePlatform,
  progress?: Progress,
): Promise<Problem[]> {
  const { database } = session
  const problems: Problem[] = []
  const { segments: total } = await session.read(() => countCold(database))
  let done = 0
  for (let after = 0; ;) {
    const segments = await session.read(() => listSegments(database, after, SLICE))
    for (const segment of segments) {
      progress?.(done++, total, 'segments')
      problems.push(...(await checkSegment(session, platform, segment)))
      after = segment.id
    }
    if (segments.length < SLICE) return problems
  }
}

async function checkSegment(
  session: Session,
  platform: TapePlatform,
  segment: Segment,
): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  const where = `${segment.name} in ${segment.address}`
  const report = (code: Problem['code'], place: string, detail: string): void =>
    void problems.push({ code, where: place, detail })
  try {
    const places = await session.read(() => placesIn(session.database, segment))
    // Nothing here needs it; it may be gone.
    if (places.length === 0) return []
    const bytes = await readWhole(session, segment)
    if (!createHash('sha256').update(bytes).digest().equals(segment.hash)) {
      report('object_damaged', where, 'it has other bytes than were written')
    }
    const entries = readEntries(bytes)
    for (let at = 0; at < places.length; at += SLICE) {
      const fetched: Fetched = new Map()
      await session.read(() => {
        for (const place of places.slice(at, at + SLICE)) {
          checkChunk(session, platform, { place, bytes, entries, fetched }, report)
        }
      }, fetched)
      await new Promise(setImmediate)
    }
  } catch (error) {
    if (!(error instanceof PriorbookError) || error.code === 'store_closed') throw error
    report(error.code, where, error.message)
  }
  return problems
}

async function readWhole({ view }: Session, { address, name, size }: Segment): Promise<Uint8Array> {
  const { cold } = view.bodies
  if (cold === undefined) throw new PriorbookError('objects_refused', `${address} is not open here`)
  const store = cold.storeAt(address)
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at += READ_BYTES) {
    bytes.set(await store.read(name, at, Math.min(READ_BYTES, size - at)), at)
  }
  return bytes
}

function readEntries(bytes: Uint8Array): ReadonlyMap<number, SegmentEntry> {
  const { start, length, crc } = readTrailer(bytes.subarray(-TRAILER_BYTES))
  const entries = readIndex(bytes.subarray(start, start + length), crc)
  return new Map(entries.map((entry) => [entry.start, entry]))
}

type Found = {
  readonly place: ColdPlace
  readonly bytes: Uint8Array
  readonly entries: ReadonlyMap<number, SegmentEntry>
  /** Takes the bytes of the chunk, for the store to read. */
  readonly fetched: Fetched
}

function checkChunk(
  { database, view }: Session,
  platform: TapePlatform,
  { place: cold, bytes: all, entries, fetched }: Found,
  report: (code: Problem['code'], where: string, detail: string) => void,
): void {
  const named = placesOfBody(database, cold.body).find((entry) => entry !== undefined)
  // Retention removed it meanwhile, or its entries are damaged, which is reported where the stream is checked.
  if (named === undefined) return
  const stream = view.streamById(named.stream)
  const { places } = view.directory(stream)
  // More than one where it is a pack.
  const own = places.filter((place) => !('lost' in place) && place.body === cold.body)
  const [place] = own
  if (place === undefined) return
  const where = nameOf(stream, place)
  try {
    const bytes = all.subarray(cold.start, cold.start + cold.length)
    if (crc32(bytes) !== cold.crc)
      throw new PriorbookError('corrupt_chunk', 'it fails its checksum')
    const entry = entries.get(cold.start)
    const isNamed =
      entry?.length === cold.length &&
      entry.crc === cold.crc &&
      entry.venue === stream.venue &&
      entry.key === stream.key &&
      entry.first === place.first &&
      entry.count === own.reduce((sum, { count }) => sum + count, 0)
    if (!isNamed) report('corrupt_chunk', where, 'the index of its segment does not name it')
    fetched.set(cold.body, bytes)
  } catch (error) {
    if (!isDamage(error)) throw error
    report(error.code, where, error.message)
    return
  }
  for (const one of own) {
    checkRows(view, platform, stream, places.indexOf(one), report)
  }
}

// A chunk whose bytes were fetched: its place in the chain, its hash, its rows.
function checkRows(
  view: Session['view'],
  platform: TapePlatform,
  stream: Stream,
  index: number,
  report: (code: Problem['code'], where: string, detail: string) => void,
): void {
  const { places } = view.directory(stream)
  const place = places[index] as ChunkPlace
  const where = nameOf(stream, place)
  try {
    const chunk = view.bodies.open(stream, place)
    const before = places[index - 1]
    const previous = before === undefined ? stream.anchor : hashOf(view.bodies, stream, before)
    if (previous !== undefined && !equal(chunk.header.previousHash, previous)) {
      report('corrupt_chunk', where, 'it does not chain to the chunk before it')
    }
    const noted = coldHashOf(view.database, place)
    if (noted !== undefined && !equal(chunkHash(chunk, platform), noted)) {
      report('corrupt_chunk', where, 'it has another hash than was noted')
    }
    new RowJudge(stream, report).chunk(view.bodies, place)
  } catch (error) {
    if (!isDamage(error)) throw error
    report(error.code, where, error.message)
  }
}

function hashOf(
  bodies: Session['view']['bodies'],
  stream: Stream,
  place: ChunkPlace | { readonly lost: true },
): Uint8Array | undefined {
  // What is lost is reported where the stream is checked.
  if ('lost' in place || !isSealed(place)) return undefined
  return Buffer.from(bodies.chainHash(stream, place), 'hex')
}
