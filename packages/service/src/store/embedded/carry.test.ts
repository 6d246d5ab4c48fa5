import { toMicros, type PriceTicks, type SizeUnits } from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { describe, expect, test } from 'vitest'
import { expectStore } from '../store-answers.testing.ts'
import { ModelStore } from '../store-model.testing.ts'
import { Script } from '../store-script.testing.ts'
import type { AppendBatch } from '../store.ts'
import type { EmbeddedStore } from './open.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'
import { countOf } from './temp-folder.testing.ts'
import type { SealLimits } from './writer.ts'

const START = 1_790_000_000_000_000
const MINUTE = 60_000_000
const LIMITS: SealLimits = { rows: 40, step: 10, carried: { rows: 12, micros: 1e15 } }

/** How many batches of the log hold rows that a pass has left there. */
function countCarried(folder: TapeFolder): number {
  const [row] = folder.sql(
    "SELECT count(*) AS count FROM log WHERE id <= (SELECT value FROM state WHERE name = 'carried_through')",
  )
  return row!['count'] as number
}

describe('rows of quiet streams that a pass of packing leaves in the log', () => {
  test('are there for every reader, however far behind it is, and after a start', async () => {
    let carried = 0
    for (let seed = 1; seed <= countOf(12, 4); seed++) {
      const folder = createTapeFolder()
      const script = new Script(400 + seed)
      const model = new ModelStore(script.books)
      let store = folder.open({ limits: LIMITS })
      const readers: EmbeddedStore[] = []
      for (let batch = 0; batch < 120; batch++) {
        const next = script.next()
        await store.append(next)
        model.apply(next)
        carried += countCarried(folder)
        if (batch % 30 === 0) readers.push(folder.open({ readOnly: true }))
        // Each reader looks at another time, so passes end while it is anywhere in the log.
        for (const reader of readers) if (script.chance(0.1)) await expectStore(reader, model)
        if (!script.chance(0.03)) continue
        await store.close()
        store = folder.open({ limits: LIMITS })
        expect(store.repaired).toBeUndefined()
      }
      for (const one of [store, ...readers]) await expectStore(one, model)
      expect((await store.verify()).problems).toEqual([])
      await store.seal()
      expect(folder.sql('SELECT id FROM log')).toEqual([])
      for (const one of [store, ...readers]) await expectStore(one, model)
    }
    expect(carried).toBeGreaterThan(0)
  })

  test('are read from the journal again where any of their batches is damaged', async () => {
    let damaged = 0
    for (let seed = 1; seed <= countOf(12, 4); seed++) {
      const script = new Script(500 + seed)
      const batches = script.take(80)
      const folder = createTapeFolder()
      const writer = folder.open({ limits: LIMITS })
      for (const batch of batches) await writer.append(batch)
      await writer.close()
      const carried = countCarried(folder)
      const logs = folder.sql('SELECT id FROM log ORDER BY id').map(({ id }) => id as number)
      const original = folder.sql('SELECT id, bytes FROM log')
      damaged += carried
      // All batches that hold left rows, and one after them.
      for (const log of logs.slice(0, carried + 1)) {
        const copy = createTapeFolder()
        await copyTape(folder, copy)
        copy.sql("UPDATE log SET bytes = x'0001' WHERE id = ?", log)
        const mended = copy.open({ limits: LIMITS })
        expect(mended.repaired).toContain(`log batch ${log}`)
        await expectMended(mended, batches, script)
      }
      expect(folder.sql('SELECT id, bytes FROM log')).toEqual(original)
    }
    expect(damaged).toBeGreaterThan(0)
  })

  test('are packed when they are ten minutes old', async () => {
    const folder = createTapeFolder()
    const carried = { rows: 12, micros: 10 * MINUTE }
    const store = folder.open({ limits: { rows: 40, step: 10, carried } })
    let journal = 0
    const books = ['QUIET', 'BUSY'].map(
      (key) => new BookAssembler({ venue: 'venueb', market: key, key }),
    )
    const append = async (book: BookAssembler, received: number): Promise<void> => {
      const taken = book.take({
        kind: 'snapshot',
        instrument: book.instrument,
        received: toMicros(received),
        journal: ++journal,
        bids: [{ price: 4000 as PriceTicks, size: (journal * 1_000_000) as SizeUnits }],
        asks: [],
      })
      if ('violation' in taken) throw new Error(taken.detail)
      const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
      await store.append({ venue: 'venueb', position: journal, ...maker, observations: [taken] })
    }
    const packed = (): unknown[] =>
      folder
        .sql('SELECT DISTINCT market FROM chunk JOIN stream ON stream.id = stream ORDER BY market')
        .map(({ market }) => market)
    const [quiet, busy] = books as [BookAssembler, BookAssembler]
    await append(quiet, START)
    for (let row = 1; row <= 100; row++) await append(busy, START + row)
    expect(packed()).toEqual(['BUSY'])
    expect(countCarried(folder)).toBe(1)
    for (let row = 1; row <= 100; row++) await append(busy, START + 11 * MINUTE + row)
    expect(packed()).toEqual(['BUSY', 'QUIET'])
  })
})

async function copyTape(from: TapeFolder, to: TapeFolder): Promise<void> {
  const store = from.open({ readOnly: true })
  await store.backup(to.file)
  await store.close()
}

async function expectMended(
  store: EmbeddedStore,
  batches: readonly AppendBatch[],
  script: Script,
): Promise<void> {
  const model = new ModelStore(script.books)
  for (const batch of batches) {
    // The recorder goes on from where the tape is.
    await store.append(batch)
    model.apply(batch)
  }
  await expectStore(store, model)
  expect((await store.verify()).problems).toEqual([])
  await store.close()
}
