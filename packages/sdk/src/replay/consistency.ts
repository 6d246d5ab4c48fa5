import type { Micros } from '../domain/index.ts'
import { chunkHash, HeadColumns, HeadDecoder, openChunk } from '../tape/index.ts'
import { byFirstEmitted, type Contents, type Piece, type StreamContents } from './contents.ts'
import { placeError, ReplayError } from './error.ts'
import type { ReplayPlatform } from './source.ts'

/**
 * Rejects sources whose chunks of the same rows differ, such as downloads from before and after a rebuild:
 * mixing their rows would make a history that never happened.
 */
export async function rejectContradictions(
  contents: Contents,
  platform: ReplayPlatform,
): Promise<void> {
  for (const { venue, key, pieces } of contents.streams.values()) {
    const known = new Map<number, Piece>()
    for (const piece of pieces) {
      if (piece.check === undefined) continue
      const other = known.get(piece.first)
      if (other === undefined) known.set(piece.first, piece)
      else if (!(await isSame(piece, other, platform))) {
        throw new ReplayError(
          'corrupt_chunk',
          `${venue}:${key} from row ${piece.first} on differs from ${other.store.name}: download both again`,
          { source: piece.store.name, offset: piece.offset },
        )
      }
    }
  }
}

async function isSame(left: Piece, right: Piece, platform: ReplayPlatform): Promise<boolean> {
  if (left.check === right.check && left.length === right.length) return true
  if (left.count !== right.count) return false
  // Versions of zstd compress the same rows differently; the hash is of the uncompressed rows.
  const [one, other] = [await hashOf(left, platform), await hashOf(right, platform)]
  return one.every((byte, index) => byte === other[index])
}

async function hashOf(
  { store, offset, length }: Piece,
  platform: ReplayPlatform,
): Promise<Uint8Array> {
  return chunkHash(openChunk(await store.read(offset, length), platform), platform)
}

/**
 * Adds a gap `corrupt` for book rows that no source holds although earlier and later ones are there, such
 * as those of a day whose file is missing. The gap lasts from the row before to the row after.
 */
export async function addMissingRows(contents: Contents, platform: ReplayPlatform): Promise<void> {
  const explained = new Set<string>()
  for (const { venue, key, afterSequence } of contents.gaps.values()) {
    explained.add(`${venue}:${key}:${afterSequence}`)
  }
  for (const stream of contents.streams.values()) {
    if (stream.kind === 'book' && stream.pieces.length > 1) {
      await addMissingRowsOf(stream, contents, platform, explained)
    }
  }
}

async function addMissingRowsOf(
  stream: StreamContents,
  contents: Contents,
  platform: ReplayPlatform,
  explained: ReadonlySet<string>,
): Promise<void> {
  const { venue, key, pieces } = stream
  pieces.sort(byFirstEmitted)
  let last = 0
  let lastAt = 0
  for (const piece of pieces) {
    const rows = await rowsInRange(piece, last, platform)
    if (rows === undefined) continue
    const isMissing = last > 0 && rows.first > last + 1 && !explained.has(`${venue}:${key}:${last}`)
    if (isMissing) {
      contents.addGap({
        venue,
        scope: 'instrument',
        key,
        reason: 'corrupt',
        start: lastAt as Micros,
        end: rows.firstAt as Micros,
        afterSequence: last,
        detail: `${rows.first - last - 1} book rows are in none of the files`,
        journal: 0,
      })
    }
    if (rows.last <= last) continue
    last = rows.last
    lastAt = rows.lastAt
  }
}

type RowRange = {
  readonly first: number
  readonly last: number
  readonly firstAt: number
  readonly lastAt: number
}

const decoder = new HeadDecoder()

/** The rows of a piece within its range. Only a piece that the range cuts is decoded. */
async function rowsInRange(
  piece: Piece,
  before: number,
  platform: ReplayPlatform,
): Promise<RowRange | undefined> {
  const { first, count, firstReceived, lastReceived, start, end, store, offset, length } = piece
  if (lastReceived < start || firstReceived >= end) return undefined
  const isCutBefore = firstReceived < start && before > 0 && first + count - 1 > before
  if (!isCutBefore && lastReceived < end) {
    return { first, last: first + count - 1, firstAt: firstReceived, lastAt: lastReceived }
  }
  const heads = new HeadColumns(count)
  try {
    const chunk = openChunk(await store.read(offset, length), platform)
    decoder.decode(chunk, platform, heads, { numbers: false })
  } catch (error) {
    throw placeError(error, { source: store.name, offset })
  }
  let from = 0
  while (from < count && heads.received[from]! < start) from++
  let to = count
  while (to > from && heads.received[to - 1]! >= end) to--
  if (to === from) return undefined
  return {
    first: first + from,
    last: first + to - 1,
    firstAt: heads.received[from]!,
    lastAt: heads.received[to - 1]!,
  }
}
