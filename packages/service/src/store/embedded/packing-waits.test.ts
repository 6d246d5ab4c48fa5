import { toMicros, type Gap, type PriceTicks, type SizeUnits } from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { expect, it } from 'vitest'
import type { AppendBatch } from '../store.ts'
import { createTapeFolder } from './tape-folder.testing.ts'
import { NOTHING_CARRIED } from './writer.ts'

const START = 1_790_000_000_000_000
const MAKER = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
const BOOKS = 20
/** Rows that start a pass of packing. */
const ROWS = 10

function createWriter(): {
  readonly append: (ended: number) => Promise<void>
  readonly chunks: () => number
} {
  const folder = createTapeFolder()
  const limits = { rows: ROWS, step: 10_000, carried: NOTHING_CARRIED }
  const store = folder.open({ limits })
  const books = Array.from({ length: BOOKS }, (_, index) => {
    const key = `KXMANY-${index}`
    return new BookAssembler({ venue: 'venueb', market: key, key })
  })
  let journal = 0
  const observe = (book: BookAssembler): Observation => {
    const taken = book.take({
      kind: 'snapshot',
      instrument: book.instrument,
      received: toMicros(START + ++journal * 1000),
      journal,
      bids: [{ price: 4000 as PriceTicks, size: (journal * 1_000_000) as SizeUnits }],
      asks: [],
    })
    if ('violation' in taken) throw new Error(taken.detail)
    return taken
  }
  return {
    chunks: () => folder.sql('SELECT count(*) AS count FROM chunk')[0]!['count'] as number,
    /** Appends one row to each book. In the first `ended` books, the row also ends a gap. */
    async append(ended) {
      const observations = books.map(observe)
      const gaps = observations.slice(0, ended).map(({ instrument, received }): Gap => ({
        venue: 'venueb',
        scope: 'instrument',
        key: instrument.key,
        reason: 'recorder_down',
        start: toMicros(received - 500),
        end: toMicros(received),
        afterSequence: 0,
        journal,
        endJournal: journal,
      }))
      const batch: AppendBatch = {
        venue: 'venueb',
        position: journal,
        ...MAKER,
        observations,
        gaps,
      }
      await store.append(batch)
    },
  }
}

it('packs nothing while many books open, and goes on after them', async () => {
  const { append, chunks } = createWriter()
  for (let batch = 0; batch < 3; batch++) await append(BOOKS)
  expect(chunks()).toBe(0)
  await append(1)
  expect(chunks()).toBe(BOOKS)
})

it('packs while many books open where the log has grown too long', async () => {
  const { append, chunks } = createWriter()
  for (let rows = 0; rows < ROWS * 8; rows += BOOKS) {
    expect(chunks()).toBe(0)
    await append(BOOKS)
  }
  expect(chunks()).toBeGreaterThan(0)
})
