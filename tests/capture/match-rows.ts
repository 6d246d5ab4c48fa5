import type { VenueId } from '@priorbook/sdk/domain'
import type { Row } from './stored-rows.ts'
import type { Expected } from './wire-log.ts'

/**
 * Assigns every stored row the payload it came from: the next one in wire order with the same book and,
 * where the venue sends them, the same number or time. Returns the rows that no payload explains.
 */
export function matchRows(
  venue: VenueId,
  expected: readonly Expected[],
  rows: readonly Row[],
): Row[] {
  const strangers: Row[] = []
  // Frames and answers travel separately, so the recorder may lag on one and not on the other.
  const reached = { frame: 0, answer: 0 }
  for (const row of rows) {
    const wire = row.isAnswer ? 'answer' : 'frame'
    let found: number | undefined
    // Messages may overtake each other by a few places, so search from a little before.
    for (let next = Math.max(0, reached[wire] - 64); next < expected.length; next++) {
      const one = expected[next]!
      if (one.at > row.received + 50_000) break
      if (one.matched !== undefined || one.book !== row.book) continue
      if (one.isAnswer !== row.isAnswer) continue
      if (!one.delivered && !one.isSpoiled) continue
      if (venue === 'venueb' && (one.seq ?? -1) !== row.seq) continue
      const { time } = one.payload
      if (time !== undefined && !one.isSpoiled && time * 1000 !== row.source) continue
      found = next
      break
    }
    if (found === undefined) {
      strangers.push(row)
      continue
    }
    expected[found]!.matched = row
    reached[wire] = Math.max(reached[wire], found + 1)
  }
  return strangers
}
