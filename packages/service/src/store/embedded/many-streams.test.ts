import { join } from 'node:path'
import { toMicros, type Instrument, type PriceTicks, type SizeUnits } from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { AppendBatch } from '../store.ts'
import { Database } from './database.ts'
import { openEmbeddedStore } from './open.ts'
import { createTempFolder } from './temp-folder.testing.ts'
import { NOTHING_CARRIED } from './writer.ts'

const START = 1_790_000_000_000_000
/** Streams that stay in memory, books that there are, and books that get rows again. */
const STREAMS = 50
const BOOKS = 300
const ACTIVE = 20
const ROUNDS = 6

function bookOf(index: number): BookAssembler {
  const key = `KXMANY-${index}`
  const instrument: Instrument = { venue: 'venueb', market: key, key }
  return new BookAssembler(instrument)
}

/** A full book whose one bid has the number of its row as its size. */
function observe(book: BookAssembler, row: number, journal: number): Observation {
  const taken = book.take({
    kind: 'snapshot',
    instrument: book.instrument,
    received: toMicros(START + journal * 1000),
    journal,
    bids: [{ price: 4000 as PriceTicks, size: (row * 1_000_000) as SizeUnits }],
    asks: [],
  })
  if ('violation' in taken) throw new Error(taken.detail)
  return taken
}

it('numbers the rows of every book without a hole, however many books there are', async () => {
  const file = join(createTempFolder(), 'tape.db')
  // Every commit packs what the one before has left in the log.
  const limits = { rows: 1, step: 1000, carried: NOTHING_CARRIED }
  const store = openEmbeddedStore({ file, streams: STREAMS, limits })
  onTestFinished(() => store.close())
  const books = Array.from({ length: BOOKS }, (_, index) => bookOf(index))
  let journal = 0
  const append = async (some: readonly BookAssembler[], row: number): Promise<void> => {
    const observations = some.map((book) => observe(book, row, ++journal))
    const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
    const batch: AppendBatch = { venue: 'venueb', position: journal, ...maker, observations }
    await store.append(batch)
  }
  const active = books.slice(0, ACTIVE)
  for (const row of [1, 2]) await append(active, row)
  for (let at = ACTIVE; at < BOOKS; at += 40) await append(books.slice(at, at + 40), 1)
  for (let row = 3; row <= ROUNDS; row++) await append(active, row)

  const expected = Array.from({ length: ROUNDS }, (_, row) => row + 1)
  for (const { instrument } of active) {
    const page = await store.books({ ...instrument, order: 'asc', limit: 100 })
    const rows = page.runs.flatMap(({ firstSequence, from, to }) =>
      Array.from({ length: to - from }, (_, at) => firstSequence + from + at),
    )
    expect(rows).toEqual(expected)
  }
  expect((await store.verify()).problems).toEqual([])
})

it('reads each stream of the log once when it opens, in whatever order their rows are', async () => {
  const file = join(createTempFolder(), 'tape.db')
  const store = openEmbeddedStore({ file })
  const books = Array.from({ length: BOOKS }, (_, index) => bookOf(index))
  const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  let journal = 0
  const append = async (some: readonly BookAssembler[], row: number): Promise<void> => {
    const observations = some.map((book) => observe(book, row, ++journal))
    await store.append({ venue: 'venueb', position: journal, ...maker, observations })
  }
  await append(books, 1)
  await store.seal()
  // 7 and 300 have no common factor, so this names all of them, each far from the one before.
  await append(
    books.map((_, index) => books[(index * 7) % BOOKS]!),
    2,
  )
  await store.close()

  const columns = vi.spyOn(Database.prototype, 'columns')
  onTestFinished(() => columns.mockRestore())
  const opened = openEmbeddedStore({ file, streams: STREAMS })
  const read = columns.mock.calls.reduce(
    (sum, [sql], call) =>
      / FROM stream /.test(sql)
        ? sum + (columns.mock.results[call]!.value as unknown[]).length
        : sum,
    0,
  )
  expect(read).toBe(BOOKS)
  const page = await opened.books({ ...books[7]!.instrument, order: 'asc', limit: 10 })
  expect(page.runs.reduce((rows, { from, to }) => rows + to - from, 0)).toBe(2)
  await opened.close()
})
