import type { BookPiece } from './walk-item.ts'

/** Cuts observations into lists of at most so many rows; the number may change from list to list. */
export function* cutPieces(
  pieces: readonly BookPiece[],
  rows: () => number,
): Generator<readonly BookPiece[]> {
  let list: BookPiece[] = []
  let left = rows()
  for (const piece of pieces) {
    let { from } = piece
    while (piece.to - from >= left) {
      const to = from + left
      list.push(from === piece.from && to === piece.to ? piece : { ...piece, from, to })
      yield list
      from = to
      list = []
      left = rows()
    }
    if (from === piece.to) continue
    list.push(from === piece.from ? piece : { ...piece, from })
    left -= piece.to - from
  }
  if (list.length > 0) yield list
}
