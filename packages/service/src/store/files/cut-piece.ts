import { decodeChunk, encodePart, type Chunk, type TapePlatform } from '@priorbook/sdk/tape'

/** Repacks rows [from, to) of a chunk as a part, with the number of level changes before them. */
export function cutPiece(
  chunk: Chunk,
  from: number,
  to: number,
  changesBefore: number | undefined,
  platform: TapePlatform,
): Uint8Array {
  const { header } = chunk
  const { venue, market, key, origin, recorder, normalizer } = header
  const name = { venue, market, key, origin, recorder, normalizer, first: header.first + from }
  const rows = decodeChunk(chunk, platform)
  const passed = rows.kind === 'book' ? rows.columns.changeStart(from) : 0
  const before = changesBefore === undefined ? header.changesBefore : changesBefore - passed
  return encodePart(rows, from, to, name, before, platform)
}
