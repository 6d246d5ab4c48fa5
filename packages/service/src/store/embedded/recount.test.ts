import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { PriorbookError, toMicros, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { describe, expect, test, vi } from 'vitest'
import type { AppendBatch } from '../store.ts'
import { Database } from './database.ts'
import { openEmbeddedStore } from './open.ts'
import { makeBatches } from './tape-batches.testing.ts'
import { createTempFolder } from './temp-folder.testing.ts'

const TABLES = ['day', 'day_gap', 'extent', 'unbroken', 'listing', 'event']

function keptIn(file: string): Record<string, unknown[]> {
  const database = new DatabaseSync(file)
  const kept: Record<string, unknown[]> = {}
  for (const table of TABLES) {
    const rows = database
      .prepare(
        `SELECT * FROM ${table} ORDER BY ${table === 'event' ? 'venue, name' : '1, 2, 3, 4'}`,
      )
      .all()
    // Families and events get other numbers when they are made again, and empty sums may stay behind. Rows that
    // moved to an asset leave the first time of those without one, and a gap of a whole venue, which no
    // recorder writes, is not taken from the observed time of rows before it.
    kept[table] = rows
      .map(({ sum: _sum, family: _family, line: _line, observed: _observed, ...row }) =>
        table === 'extent' && row['asset'] === '' ? { ...row, first: 0 } : row,
      )
      .map(({ event: _event, ...row }) => (table === 'event' ? { ...row, id: 0 } : row))
      .filter((row) => row['gaps'] !== 0 && row['streams'] !== 0 && row['instruments'] !== 0)
  }
  database.close()
  return kept
}

function forgetCounts(file: string): void {
  const database = new DatabaseSync(file)
  database.exec("DELETE FROM state WHERE name = 'counted'")
  database.close()
}

describe('the lists and sums that the store keeps', () => {
  test.each([5, 6, 7])('are those that the rows give, seed %i', async (seed) => {
    const file = join(createTempFolder(), 'tape.db')
    const store = openEmbeddedStore({ file, limits: { rows: 2500, step: 900 } })
    let batches = 0
    for (const batch of makeBatches(seed, 1, 68)) {
      await store.append(batch)
      if (++batches === 60) await store.seal()
      if (batches === 140) break
    }
    await store.close()
    const kept = keptIn(file)
    expect(kept['day']!.length).toBeGreaterThan(0)
    expect(kept['listing']!.length).toBeGreaterThan(0)
    forgetCounts(file)
    await openEmbeddedStore({ file }).close()
    expect(keptIn(file)).toEqual(kept)
  })

  test('are right after rows could not be moved to another asset at once', async () => {
    const file = join(createTempFolder(), 'tape.db')
    const store = openEmbeddedStore({ file })
    const book = new BookAssembler({ venue: 'venuec', market: '0x1', key: '1' })
    let journal = 0
    const batchOf = (asset?: string): AppendBatch => {
      const at = { received: toMicros(1_790_000_000_000_000 + ++journal * 1000), journal }
      const record: MarketRecord = {
        venue: 'venuec',
        marketId: '0x1',
        outcomes: [],
        units: VENUES.venuec.units,
        native: {},
        ...(asset === undefined ? {} : { asset }),
      }
      const { instrument } = book
      const taken = book.take({ kind: 'snapshot', instrument, ...at, bids: [], asks: [] })
      if ('violation' in taken) throw new Error(taken.detail)
      const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
      const rows = {
        observations: [taken],
        revisions: [{ kind: 'market' as const, record, ...at }],
      }
      return { venue: 'venuec', position: journal, ...maker, ...rows }
    }
    await store.append(batchOf())
    // The second transaction of the next commit moves the rows.
    const write = Reflect.get(Database.prototype, 'write') as (work: () => unknown) => unknown
    let writes = 0
    const spy = vi.spyOn(Database.prototype, 'write').mockImplementation(function (
      this: Database,
      work: () => unknown,
    ) {
      if (++writes === 2) throw new PriorbookError('disk_full', 'no space is left')
      return write.call(this, work)
    })
    await store.append(batchOf('BTC'))
    spy.mockRestore()
    expect(writes).toBe(2)
    await store.append(batchOf('BTC'))
    await store.append(batchOf('ETH'))
    await store.close()
    const kept = keptIn(file)
    forgetCounts(file)
    await openEmbeddedStore({ file }).close()
    expect(keptIn(file)).toEqual(kept)
  })
})
