import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
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

const PEERS = createRequire(new URL('../../bench/peers/package.json', import.meta.url))
const BOOKS = 1000
const DATASETS = ['books', 'trades'] as const
const AUGUST_6 = Date.UTC(2026, 7, 6) * 1000
// Three markets of venue B on three days.
const TICKERS = ['KXGOLD15M-26AUG050800-00', 'KXGOLD15M-26AUG060000-00', 'KXGOLD15M-26AUG101900-00']

type Line = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string }
type Ladder = { readonly price: readonly string[]; readonly size: readonly string[] }
type Table = {
  readonly count: readonly number[]
  readonly files: readonly string[]
  readonly days: Readonly<Record<string, readonly string[]>>
  readonly operations: readonly string[]
  readonly before: readonly number[]
}
type Tables = {
  readonly tables: Readonly<Record<string, Table>>
  readonly books: Readonly<Record<string, unknown>>
  readonly duckdb: unknown
}
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
  // The second run keeps up the tables of the first one.
  for (const more of [['--day', '2026-08-05', '--iceberg'], []]) {
    const { code } = await callServer('lake', ...words, ...more)
    expect(code).toBe(0)
  }
}, 240_000)

afterAll(() => {
  folder?.destroy()
  rmSync(made, { recursive: true, force: true })
})

describe.skipIf(recordings === '' || PYTHON === undefined)('the lake of recordings', () => {
  it('has our rows, times and books in DuckDB and Polars', async () => {
    const { ids, books } = pickBooks(11)
    const seen = (await runPythonFile('lake_books.py', [join(made, 'lake'), ids])) as Readonly<
      Record<'duckdb' | 'polars', Seen>
    >
    const counts = Object.fromEntries(
      DATASETS.map((dataset) => [`venueb ${dataset}`, countOf(rows[dataset])]),
    )
    expect(rows.books.length).toBeGreaterThan(20_000)
    for (const { counts: counted, books: read } of [seen.duckdb, seen.polars]) {
      expect(counted).toEqual(counts)
      expect(read).toEqual(books)
    }
  }, 240_000)

  it('has Iceberg tables with our rows, times and books in pyiceberg and Polars', async () => {
    const { ids, books } = pickBooks(12)
    const seen = (await runPythonFile('iceberg_books.py', [join(made, 'lake'), ids])) as Tables
    expect(seen.books).toEqual(books)
    expect(Object.keys(seen.tables)).toEqual(DATASETS.map((dataset) => `venueb ${dataset}`))
    for (const dataset of DATASETS) {
      const table = seen.tables[`venueb ${dataset}`]!
      expect(table.count).toEqual(countOf(rows[dataset]))
      // A scan of a day opens the files of that day, and all days together have all files.
      for (const [day, files] of Object.entries(table.days)) {
        expect(files).toEqual(table.files.filter((file) => file.includes(`/day=${day}/`)))
      }
      expect(Object.values(table.days).flat().sort()).toEqual(table.files)
      // The first snapshot can still be read as it was.
      expect(table.operations).toEqual(['append', 'append'])
      const first = rows[dataset].filter((row) => Number(row['received_time']) < AUGUST_6)
      expect(table.before).toEqual([first.length, rows[dataset].length])
      expect(first.length).toBeGreaterThan(0)
    }
    if (seen.duckdb === null) console.warn('DuckDB does not read the tables: it has no extension')
    expect(seen.duckdb ?? countOf(rows.books)).toEqual(countOf(rows.books))
  }, 240_000)

  it('has Iceberg tables with our rows, times and sums of prices in ClickHouse', () => {
    const sums = 'sum(best_bid), sum(arraySum(bids_price)), sum(arraySum(asks_size))'
    const times =
      'toUnixTimestamp64Micro(min(received_time)), toUnixTimestamp64Micro(max(received_time))'
    const ask = (from: string): unknown[] =>
      queryClickHouse(`SELECT count(), ${times}, ${sums} FROM ${from}`)
    const seen = ask("icebergLocal('_iceberg/venueb/books')")
    expect(seen.slice(0, 3)).toEqual(countOf(rows.books))
    expect(seen).toEqual(ask("file('venue=venueb/dataset=books/*/*.parquet', Parquet)"))
  }, 240_000)
})

/** The only row of a query, by ClickHouse in a process of its own: it reads files below its folder alone. */
function queryClickHouse(sql: string): unknown[] {
  const program =
    'console.log(String(require(process.argv[1]).query(process.argv[2], "JSONCompact")))'
  const settings = 'SETTINGS output_format_json_quote_64bit_integers = 0'
  const args = ['-e', program, PEERS.resolve('chdb'), `${sql} ${settings}`]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: join(made, 'lake'),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`ClickHouse ended with ${String(status)}: ${stderr}`)
  return (JSON.parse(stdout) as { readonly data: unknown[][] }).data[0]!
}

/** Random books, and a file with their ids. */
function pickBooks(seed: number): { readonly ids: string; readonly books: object } {
  const random = createRandom(seed)
  const picked = new Map<string, Line>()
  while (picked.size < BOOKS) {
    const row = random.pick(rows.books)
    picked.set(row.id, row)
  }
  const ids = join(made, `ids-${seed}.json`)
  writeFileSync(ids, JSON.stringify([...picked.keys()]))
  const books = Object.fromEntries(
    [...picked].map(([id, row]) => {
      const [bids, asks] = [row['bids'], row['asks']] as [Ladder, Ladder]
      return [id, [bids.price, bids.size, asks.price, asks.size]]
    }),
  )
  return { ids, books }
}

/** Rows, and the first and last received time. */
function countOf(lines: readonly Line[]): readonly (number | undefined)[] {
  const times = lines.map((row) => Number(row['received_time'])).sort((a, b) => a - b)
  return [times.length, times[0], times.at(-1)]
}
