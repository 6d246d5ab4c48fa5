import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import { foldRuns } from '../../packages/service/src/recorder/folded-rows.testing.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

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
