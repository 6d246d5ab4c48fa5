import { join } from 'node:path'
import {
  DAY_MICROS,
  toMicros,
  type Gap,
  type Instrument,
  type Micros,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { expect, it, onTestFinished } from 'vitest'
import type { AppendBatch, Store } from '../store.ts'
import { openEmbeddedStore } from './open.ts'
import { createTempFolder } from './temp-folder.testing.ts'

const START = 1_790_000_000_000_000
const BOOKS = 12
const MAKER = { venue: 'venueb', origin: 'live', recorder: 'r1', normalizer: 1 } as const
const books = Array.from({ length: BOOKS }, (_, index) => {
  const key = `KXENDED-${index}`
  return { venue: 'venueb', market: key, key } satisfies Instrument
})

function row(instrument: Instrument, ms: number, journal: number): Observation {
  const taken = new BookAssembler(instrument).take({
    kind: 'snapshot',
    instrument,
    received: at(ms),
    journal,
    bids: [{ price: 4000 as PriceTicks, size: (journal * 1_000_000) as SizeUnits }],
    asks: [],
  })
  if ('violation' in taken) throw new Error(taken.detail)
  return taken
}

function at(ms: number): Micros {
  return toMicros(START + ms * 1000)
}

function gap(index: number, reason: Gap['reason'], ms: number, journal: number): Gap {
  const { key } = books[index]!
  const place = { start: at(ms), afterSequence: 1, journal }
  return { venue: 'venueb', scope: 'instrument', key, reason, ...place }
}

/** Ends the gaps of all books, `together` of them in each commit. */
async function record(together: number): Promise<Store> {
  const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
  onTestFinished(() => store.close())
  const append = (position: number, rows: Partial<AppendBatch>): Promise<void> =>
    store.append({ ...MAKER, position, ...rows })
  await append(20, { observations: books.map((book, index) => row(book, index, index + 1)) })
  // One that ended before, which touches the end of no other, and a second open one of the first book.
  const early = gap(1, 'disconnected', 1, 21)
  const ended = { ...early, end: at(30), endJournal: 22 }
  await append(30, { gaps: [early, ended, gap(0, 'disconnected', 0, 23)] })
  const open = books.map((_, index) => gap(index, 'recorder_down', index + 40, 40))
  await append(40, { gaps: open })
  for (let from = 0; from < BOOKS; from += together) {
    const some = open.slice(from, from + together)
    const end = (index: number): number => 60_000 + 1000 * (from + index)
    await append(41 + from + some.length, {
      observations: some.map((_, index) =>
        row(books[from + index]!, end(index), 42 + from + index),
      ),
      gaps: some.map((one, index) => ({
        ...one,
        end: at(end(index)),
        detail: `ended as number ${from + index}`,
        endJournal: 42 + from + index,
      })),
    })
  }
  return store
}

async function answersOf(store: Store): Promise<unknown> {
  const day = START - (START % DAY_MICROS)
  const range = { venue: 'venueb', start: day, end: day + DAY_MICROS, limit: 100 } as const
  const { problems } = await store.verify()
  return {
    gaps: await store.gaps({ venue: 'venueb' }),
    unbroken: (await store.unbroken('venueb')).map(({ key }) => key),
    days: await store.days('venueb', day, day + DAY_MICROS),
    incidents: await store.incidents(range),
    problems,
  }
}

it('says the same of gaps that end in one commit as of those that end one by one', async () => {
  const alone = await answersOf(await record(1))
  const together = await answersOf(await record(BOOKS))
  expect(together).toEqual(alone)
  expect(together).toMatchObject({ problems: [] })
  const { unbroken } = together as { readonly unbroken: readonly string[] }
  // The first book has another gap that is open.
  expect(unbroken).toHaveLength(BOOKS - 1)
  expect(unbroken).not.toContain(books[0]!.key)
})
