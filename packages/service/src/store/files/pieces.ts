import { decodeChunk, encodePart, type Chunk, type TapePlatform } from '@priorbook/sdk/tape'
import type { FilePiece } from './read-container.ts'

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

/** Rows [from, to) of a piece. */
export type JoinedPiece = {
  readonly piece: FilePiece
  readonly from: number
  readonly to: number
}

/**
 * Selects pieces of one stream so that every row is present once. Files of consecutive ranges repeat the
 * chunk at their border, and a part in one file may be sealed in a later one. Sealed chunks are used
 * whole, parts only where neither a sealed chunk nor a longer part has the rows.
 */
export function joinPieces(pieces: readonly FilePiece[]): readonly JoinedPiece[] {
  const joined: JoinedPiece[] = []
  for (const isSealed of [true, false]) {
    const own = pieces.filter((piece) => piece.isSealed === isSealed)
    own.sort((left, right) => left.first - right.first || right.count - left.count)
    for (const piece of own) {
      const free = freeRows(piece, joined)
      const isWhole = free.length === 1 && free[0]!.to - free[0]!.from === piece.count
      // A sealed chunk that overlaps another belongs to a different history of the stream.
      if (isSealed && !isWhole) continue
      joined.push(...free)
    }
    joined.sort((left, right) => firstOf(left) - firstOf(right))
  }
  return joined
}

/** The number of the first row that is kept. */
export function firstOf({ piece, from }: JoinedPiece): number {
  return piece.first + from
}

function freeRows(piece: FilePiece, taken: readonly JoinedPiece[]): JoinedPiece[] {
  let free = [{ piece, from: 0, to: piece.count }]
  for (const other of overlapping(piece, taken)) {
    const start = firstOf(other) - piece.first
    const end = other.piece.first + other.to - piece.first
    free = free.flatMap((one) =>
      [
        { ...one, to: Math.min(one.to, start) },
        { ...one, from: Math.max(one.from, end) },
      ].filter(({ from, to }) => from < to),
    )
  }
  return free
}

/** The pieces that share rows with one, from last to first. */
function* overlapping(piece: FilePiece, taken: readonly JoinedPiece[]): Generator<JoinedPiece> {
  for (let index = taken.length - 1; index >= 0; index--) {
    const other = taken[index]!
    if (other.piece.first + other.to <= piece.first) {
      // Sealed chunks are sorted, so no earlier one can reach further.
      if (piece.isSealed) return
      continue
    }
    if (firstOf(other) < piece.first + piece.count) yield other
  }
}
