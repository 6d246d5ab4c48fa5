import type { BookColumns, Ladder } from '../tape/index.ts'
import type { Track } from './market-state.ts'

/** Takes over a whole book. */
export function copyLadder(track: Track, source: Ladder): void {
  const { ladder } = track
  ladder.clear()
  ladder.rescale(source.decimals)
  for (const key of source.keys()) ladder.apply(key, source.size[key]!)
  track.rescaled()
  track.started = true
}

/**
 * Applies a row to our own book: orders that arrive between two rows must meet the first of them, and
 * the replay's ladder is already at the second when its event comes.
 */
export function applyChanges(track: Track, columns: BookColumns, row: number): void {
  const { ladder } = track
  if (columns.priceDecimals > ladder.decimals) {
    ladder.rescale(columns.priceDecimals)
    track.rescaled()
  }
  const { key, size, changeEnd } = columns
  const end = changeEnd[row]!
  let index = row === 0 ? 0 : changeEnd[row - 1]!
  if (columns.priceDecimals === ladder.decimals) {
    for (; index < end; index++) ladder.apply(key[index]!, size[index]!)
    return
  }
  const factor = 10 ** (ladder.decimals - columns.priceDecimals)
  for (; index < end; index++) {
    const level = key[index]!
    ladder.apply((level >>> 1) * factor * 2 + (level & 1), size[index]!)
  }
}
