import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../bench/lib/random.ts'
import { createBulkCaller } from '../../packages/service/src/api/bulk/bulk.testing.ts'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import {
  createTestFolder,
  type TestFolder,
} from '../../packages/service/src/derive/import.testing.ts'
import { PYTHON, runPythonFile } from './run-python.ts'

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
if (recordings === '') {
  console.warn('the lake of recordings is skipped: set PRIORBOOK_RECORDINGS to the folder')
}

const BOOKS = 1000
// Three markets of venue B on three days.
const TICKERS = ['KXGOLD15M-26AUG050800-00', 'KXGOLD15M-26AUG060000-00', 'KXGOLD15M-26AUG101900-00']

type Line = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string }
type Ladder = { readonly price: readonly string[]; readonly size: readonly string[] }
type Seen = {
  readonly counts: Readonly<Record<string, readonly number[]>>
  readonly books: Readonly<Record<string, unknown>>
}

let folder: TestFolder
const made = mkdtempSync(join(tmpdir(), 'priorbook-lake-'))
/** The rows of books and trades, as downloads of whole markets have them. */
const rows = { books: [] as Line[], trades: [] as Line[] }

beforeAll(async () => {
  if (recordings === '') return
  folder = createTestFolder()
  const paths = TICKERS.map((ticker) => join(recordings, 'venueb/ws-gold15m', ticker))
  await folder.importPaths(...paths)
  await folder.read(async (store) => {
    const caller = createBulkCaller(store)
    const style = 'number_format=string&time_format=epoch_us'
    for (const ticker of TICKERS) {
      for (const dataset of ['books', 'trades'] as const) {
        const query = `venue=venueb&market_id=${ticker}&dataset=${dataset}&${style}`
        const lines = (await caller.bytes(query)).toString().trimEnd().split('\n')
        const values = lines.map((line) => JSON.parse(line) as Line)
        rows[dataset].push(...values.filter(({ type }) => `${type}s` === dataset))
      }
    }
  })
  const words = ['--to', join(made, 'lake'), '--data', folder.data.path, '--part-rows', '10000']
  const { code } = await callServer('lake', ...words)
  expect(code).toBe(0)
}, 240_000)

afterAll(() => {
  folder?.destroy()
  rmSync(made, { recursive: true, force: true })
})

describe.skipIf(recordings === '' || PYTHON === undefined)('the lake of recordings', () => {
  it('has our rows, times and books in DuckDB and Polars', async () => {
    const random = createRandom(11)
    const picked = new Map<string, Line>()
    while (picked.size < BOOKS) {
      const row = random.pick(rows.books)
      picked.set(row.id, row)
    }
    const ids = join(made, 'ids.json')
    writeFileSync(ids, JSON.stringify([...picked.keys()]))
    const seen = (await runPythonFile('lake_books.py', [join(made, 'lake'), ids])) as Readonly<
      Record<'duckdb' | 'polars', Seen>
    >
    const counts = Object.fromEntries(
      (['books', 'trades'] as const).map((dataset) => {
        const times = rows[dataset].map((row) => Number(row['received_time'])).sort((a, b) => a - b)
        return [`venueb ${dataset}`, [times.length, times[0], times.at(-1)]]
      }),
    )
    const books = Object.fromEntries(
      [...picked].map(([id, row]) => {
        const [bids, asks] = [row['bids'], row['asks']] as [Ladder, Ladder]
        return [id, [bids.price, bids.size, asks.price, asks.size]]
      }),
    )
    expect(rows.books.length).toBeGreaterThan(20_000)
    for (const { counts: counted, books: read } of [seen.duckdb, seen.polars]) {
      expect(counted).toEqual(counts)
      expect(read).toEqual(books)
    }
  }, 240_000)
})
