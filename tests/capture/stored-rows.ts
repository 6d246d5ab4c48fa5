import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import { foldRuns } from '../../packages/service/src/recorder/folded-rows.testing.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import type { Expected } from './wire-log.ts'

/** One stored row with its whole book. */
export type Row = {
  readonly received: number
  readonly sequence: number
  readonly book: string
  readonly seq: number
  /** The venue's time, in µs. */
  readonly source: number
  readonly isAnswer: boolean
}

/** Reads all rows of an instrument. */
export async function readRows(store: Store, venue: VenueId, key: string): Promise<Row[]> {
  const { sizeDecimals } = VENUES[venue]
  const rows: Row[] = []
  let after: number | undefined
  for (;;) {
    const page = await store.books({
      venue,
      key,
      order: 'asc',
      limit: 5000,
      numbers: true,
      ...(after === undefined ? {} : { after }),
    })
    for (const { columns, row, sequence, book } of foldRuns(page.runs, sizeDecimals)) {
      rows.push({
        received: columns.received[row]!,
        sequence,
        book,
        seq: columns.venueSeq[row]!,
        source: columns.source[row]!,
        isAnswer: columns.channel[row] === ABSENT,
      })
    }
    if (!page.hasMore) return rows
    after = rows.at(-1)!.sequence
  }
}

/**
 * Gives every row the payload it came from: the next one in the order of the wire with the same book
 * and, where the venue names them, number or time. A row without one was invented.
 */
export function match(venue: VenueId, expected: readonly Expected[], rows: readonly Row[]): Row[] {
  const strangers: Row[] = []
  // Frames and answers come on wires of their own: a recorder that is late with one is not with the other.
  const reached = { frame: 0, answer: 0 }
  for (const row of rows) {
    const wire = row.isAnswer ? 'answer' : 'frame'
    let found: number | undefined
    // Some may overtake others by a little, so a payload is looked for around.
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
