import type { Micros } from '../domain/index.ts'
import { HeadColumns, HeadDecoder, openChunk } from '../tape/index.ts'
import type { Contents, Piece, StreamContents } from './contents.ts'
import { placeError } from './error.ts'
import type { ReplayPlatform } from './platform.ts'

/**
 * Finds observations that no source holds although earlier and later ones are there, such as those of a
 * day whose file is missing, and notes each as a gap `corrupt`: a book must not look as if it had stood
 * still. Times are those of the rows around the hole.
 */
export async function noteHoles(contents: Contents, platform: ReplayPlatform): Promise<void> {
  const explained = new Set<string>()
  for (const { venue, key, afterSequence } of contents.gaps.values()) {
    explained.add(`${venue}:${key}:${afterSequence}`)
  }
  for (const stream of contents.streams.values()) {
    if (stream.kind === 'book' && stream.pieces.length > 1) {
      await noteHolesOf(stream, contents, platform, explained)
    }
  }
}

async function noteHolesOf(
  stream: StreamContents,
  contents: Contents,
  platform: ReplayPlatform,
  explained: ReadonlySet<string>,
): Promise<void> {
  const { venue, key, pieces } = stream
  pieces.sort((left, right) => left.first - right.first || left.start - right.start)
  let last = 0
  let lastAt = 0
  for (const piece of pieces) {
    const rows = await toldRows(piece, last, platform)
    if (rows === undefined) continue
    const isHole = last > 0 && rows.first > last + 1 && !explained.has(`${venue}:${key}:${last}`)
    if (isHole) {
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

type ToldRows = {
  readonly first: number
  readonly last: number
  readonly firstAt: number
  readonly lastAt: number
}

const decoder = new HeadDecoder()

/** Which rows of a piece are told. Only a piece that its range cuts on a side that matters is opened. */
async function toldRows(
  piece: Piece,
  before: number,
  platform: ReplayPlatform,
): Promise<ToldRows | undefined> {
  const { first, count, firstReceived, lastReceived, start, end, store, offset, length } = piece
  if (lastReceived < start || firstReceived >= end) return undefined
  const isCutBefore = firstReceived < start && before > 0 && first > before
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
