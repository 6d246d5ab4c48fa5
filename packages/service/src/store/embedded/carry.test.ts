import { toMicros, type PriceTicks, type SizeUnits } from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { describe, expect, test, vi } from 'vitest'
import { expectStore } from '../store-answers.testing.ts'
import { ModelStore } from '../store-model.testing.ts'
import { Script } from '../store-script.testing.ts'
import type { AppendBatch } from '../store.ts'
import { readLog, type RowSink } from './log.ts'
import type { EmbeddedStore } from './open.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'
import { countOf } from './temp-folder.testing.ts'
import { Writer, type SealLimits } from './writer.ts'

const START = 1_790_000_000_000_000
const MINUTE = 60_000_000
const LIMITS: SealLimits = {
  rows: 40,
  step: 10,
  carried: { rows: 12, micros: 1e15, total: 1000, body: 5 },
}

const NO_SINK: RowSink = {
  book: () => undefined,
  trade: () => undefined,
  sample: () => undefined,
  gap: () => undefined,
  market: () => undefined,
}

/** How many batches of the log hold rows that a pass has left there. */
function countCarried(folder: TapeFolder): number {
  const [row] = folder.sql(
    "SELECT count(*) AS count FROM log WHERE id <= (SELECT value FROM state WHERE name = 'carried_through')",
  )
  return row!['count'] as number
}

/** The markets of which something is packed. */
function packedMarkets(folder: TapeFolder): unknown[] {
  return folder
    .sql('SELECT DISTINCT market FROM chunk JOIN stream ON stream.id = stream ORDER BY market')
    .map(({ market }) => market)
}

/** Appends rows of some books to a store, one commit each time. */
class Books {
  private readonly store: EmbeddedStore
  private readonly books = new Map<string, BookAssembler>()
  private journal = 0

  constructor(store: EmbeddedStore) {
    this.store = store
  }

  async append(markets: readonly string[], received: number): Promise<void> {
    const observations = markets.map((market) => {
      const known = this.books.get(market)
      const book = known ?? new BookAssembler({ venue: 'venueb', market, key: market })
      this.books.set(market, book)
      const taken = book.take({
        kind: 'snapshot',
        instrument: book.instrument,
        received: toMicros(received),
        journal: ++this.journal,
        bids: [{ price: 4000 as PriceTicks, size: (this.journal * 1_000_000) as SizeUnits }],
        asks: [],
      })
      if ('violation' in taken) throw new Error(taken.detail)
      return taken
    })
    const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
    await this.store.append({ venue: 'venueb', position: this.journal, ...maker, observations })
  }

  /** Appends rows of one market, each in a commit of its own. */
  async appendMany(market: string, count: number, from: number): Promise<void> {
    for (let row = 0; row < count; row++) await this.append([market], from + row)
  }
}

describe('rows of quiet streams that a pass of packing leaves in the log', () => {
  test('are there for every reader, however far behind it is, and after a start', async () => {
    let carried = 0
    for (let seed = 1; seed <= countOf(12, 2); seed++) {
      const folder = createTapeFolder()
      const script = new Script(400 + seed)
      const model = new ModelStore(script.books)
      let store = folder.open({ limits: LIMITS })
      const readers: EmbeddedStore[] = []
      for (let batch = 0; batch < 90; batch++) {
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
    // How many batches hold such rows of one venue.
    let parted = 0
    for (let seed = 1; seed <= countOf(12, 4); seed++) {
      const script = new Script(500 + seed)
      const batches = script.take(80)
      const folder = createTapeFolder()
      const writer = folder.open({ limits: LIMITS })
      for (const batch of batches) await writer.append(batch)
      await writer.close()
      const carried = countCarried(folder)
      const logs = folder.sql('SELECT id FROM log ORDER BY id').map(({ id }) => id as number)
      damaged += carried
      const positions = folder
        .sql('SELECT id, bytes FROM log ORDER BY id LIMIT ?', carried)
        .map(({ id, bytes }) => readLog(id as number, bytes as Uint8Array, NO_SINK))
      for (const venue of ['venuea', 'venueb', 'venuec']) {
        parted = Math.max(parted, positions.filter((header) => header.venue === venue).length)
      }
      // All batches that hold left rows, and one after them.
      for (const log of logs.slice(0, carried + 1)) {
        const copy = createTapeFolder()
        await copyTape(folder, copy)
        copy.sql("UPDATE log SET bytes = x'0001' WHERE id = ?", log)
        // Every second repair is killed after it has cut the log off; the next start finds nothing damaged.
        const isKilled = log % 2 === 0
        if (isKilled) killRepair(copy)
        const mended = copy.open({ limits: LIMITS })
        const repaired: unknown = expect.stringContaining(`log batch ${log}`)
        expect(mended.repaired).toEqual(isKilled ? undefined : repaired)
        await expectMended(mended, batches, script)
      }
    }
    expect(damaged).toBeGreaterThan(0)
    expect(parted).toBeGreaterThan(1)
  })

  test('are packed when they are ten minutes old', async () => {
    const folder = createTapeFolder()
    const limits = { ...LIMITS, carried: { ...LIMITS.carried, micros: 10 * MINUTE } }
    const books = new Books(folder.open({ limits }))
    await books.append(['QUIET'], START)
    await books.appendMany('BUSY', 100, START + 1)
    expect(packedMarkets(folder)).toEqual(['BUSY'])
    expect(countCarried(folder)).toBe(1)
    await books.appendMany('BUSY', 100, START + 11 * MINUTE)
    expect(packedMarkets(folder)).toEqual(['BUSY', 'QUIET'])
  })

  test('are packed where a step of the clock gave them a time far ahead', async () => {
    const folder = createTapeFolder()
    const limits = { ...LIMITS, carried: { ...LIMITS.carried, micros: 10 * MINUTE } }
    const books = new Books(folder.open({ limits }))
    await books.append(['QUIET'], START)
    await books.append(['AHEAD'], START + 24 * 60 * MINUTE)
    await books.appendMany('BUSY', 100, START + 1)
    expect(packedMarkets(folder)).toEqual(['AHEAD', 'BUSY'])
  })

  test('are packed where they are too many, the streams with most rows first', async () => {
    const folder = createTapeFolder()
    const limits = { ...LIMITS, carried: { ...LIMITS.carried, total: 10 } }
    const books = new Books(folder.open({ limits }))
    for (const market of ['ONE-A', 'ONE-B']) await books.append([market], START)
    await books.appendMany('FIVE', 5, START)
    await books.appendMany('SEVEN', 7, START)
    await books.appendMany('BUSY', 150, START + 10)
    expect(packedMarkets(folder)).toEqual(['BUSY', 'SEVEN'])
  })

  test('are packed where they came in fewer batches than they would take', async () => {
    const folder = createTapeFolder()
    const limits = { ...LIMITS, step: 10_000, carried: { ...LIMITS.carried, body: 1 } }
    const books = new Books(folder.open({ limits }))
    const markets = Array.from({ length: 60 }, (_, index) => `KX-${index}`)
    for (let commit = 0; commit < 6; commit++) await books.append(markets, START + commit)
    expect(packedMarkets(folder)).toHaveLength(60)
    expect(countCarried(folder)).toBe(0)
  })
})

function killRepair(folder: TapeFolder): void {
  vi.spyOn(Writer.prototype, 'sealAll').mockImplementationOnce(() => {
    throw new Error('killed')
  })
  expect(() => folder.open({ limits: LIMITS })).toThrow('killed')
}

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
