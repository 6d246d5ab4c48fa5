import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../bench/lib/random.ts'
import {
  createBulkCaller,
  type BulkCaller,
} from '../../packages/service/src/api/bulk/bulk.testing.ts'
import {
  createTestFolder,
  type TestFolder,
} from '../../packages/service/src/derive/import.testing.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'
import { runCommand } from '../sdk/run-command.ts'
import {
  readCsv,
  topsOfChanges,
  topsOfSnapshots,
  type CsvRow,
  type Top,
} from '../sdk/tardis-reader.ts'
import { PYTHON, runPythonFile } from './run-python.ts'

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
if (recordings === '') {
  console.warn('converted recordings are skipped: set PRIORBOOK_RECORDINGS to the folder')
}

const INSTANTS = 10_000
// A whole market, and four minutes of the busiest one, in which two gaps lie.
const MARKETS = [
  { ticker: 'KXGOLD15M-26AUG101900-00', start: 1_786_401_930_000_000, end: 1_786_402_810_000_000 },
  { ticker: 'KXGOLD15M-26AUG102130-30', start: 1_786_410_910_000_000, end: 1_786_411_150_000_000 },
] as const
type Market = (typeof MARKETS)[number]

type Line = Readonly<Record<string, string | number | null>> & { readonly type: string }

let folder: TestFolder
let made: string
let store: EmbeddedStore
let caller: BulkCaller

beforeAll(async () => {
  if (recordings === '') return
  folder = createTestFolder()
  made = mkdtempSync(join(tmpdir(), 'priorbook-convert-'))
  for (const { ticker } of MARKETS) {
    await folder.importPaths(join(recordings, 'venueb/ws-gold15m', ticker))
  }
  store = openEmbeddedStore({ file: folder.data.tape, readOnly: true })
  caller = createBulkCaller(store)
  const files: string[] = []
  for (const market of MARKETS) {
    for (const dataset of ['books', 'trades']) {
      const file = join(made, `${market.ticker}-${dataset}.pbx`)
      writeFileSync(file, await caller.bytes(`${scopeOf(market, dataset)}&format=tape`))
      files.push(file)
    }
  }
  for (const tool of ['hftbacktest', 'nautilus', 'tardis']) {
    const out = join(made, tool)
    const { status, err } = await runCommand(['convert', ...files, '--to', tool, '-o', out], {})
    expect([status, err]).toEqual([0, ''])
  }
}, 240_000)

afterAll(async () => {
  await store?.close()
  folder?.destroy()
  if (made !== undefined) rmSync(made, { recursive: true, force: true })
})

describe.skipIf(recordings === '' || PYTHON === undefined)('converted recordings', () => {
  for (const market of MARKETS) {
    const { ticker } = market

    it(`have our best prices in hftbacktest: ${ticker}`, async () => {
      const { instants, tops, file } = await ours(market)
      const events = join(made, 'hftbacktest', `venueb_${ticker}.npz`)
      const seen = await runPythonFile('hftbacktest_tops.py', [events, file, '0.0001', '0.01'])
      const shown = (seen as (number | null)[][]).map((top) => top.map(fromTicks))
      expect(firstDifference(instants, shown, tops)).toBeUndefined()
    }, 240_000)

    it(`have our best prices and trades in Nautilus: ${ticker}`, async () => {
      const { instants, tops, file, trades } = await ours(market)
      const catalogue = join(made, 'nautilus')
      const id = `${ticker}.VENUEB`
      const seen = (await runPythonFile('nautilus_tops.py', [catalogue, id, file])) as {
        tops: Top[]
        trades: [string, string, number, string, number][]
      }
      const shown = seen.tops.map((top) => top.map((price) => canonical(price)))
      expect(firstDifference(instants, shown, tops)).toBeUndefined()
      const told = seen.trades.map(([price, size, side, trade, at]) => [
        canonical(price),
        canonical(size),
        side === 1 ? 'buy' : 'sell',
        trade,
        at,
      ])
      expect(told).toEqual(trades)
    }, 240_000)

    it(`have our best prices and trades in the columns of Tardis: ${ticker}`, async () => {
      const { instants, tops, trades } = await ours(market)
      const tables = join(made, 'tardis')
      const read = (name: string): CsvRow[] => readCsv(join(tables, `venueb_${name}_${ticker}.csv`))
      const changes = topsOfChanges(read('incremental_book_L2'), instants)
      expect(firstDifference(instants, changes, tops)).toBeUndefined()
      const snapshots = topsOfSnapshots(read('book_snapshot_25'), instants)
      expect(firstDifference(instants, snapshots, tops)).toBeUndefined()
      const told = read('trades').map((row) => [
        row['price'],
        row['amount'],
        row['side'],
        row['id'],
        Number(row['local_timestamp']),
      ])
      expect(told).toEqual(trades)
    })
  }
})

function scopeOf({ ticker, start, end }: Market, dataset: string): string {
  return `venue=venueb&market_id=${ticker}&dataset=${dataset}&start_time=${start}&end_time=${end}`
}

/** Random instants, and what NDJSON says of them: the last row, unless a gap began after it. */
async function ours(market: Market): Promise<{
  readonly instants: readonly number[]
  readonly tops: readonly Top[]
  readonly file: string
  readonly trades: readonly (readonly unknown[])[]
}> {
  const style = 'format=ndjson&include_orderbook=false&number_format=string&time_format=epoch_us'
  const lines = async (dataset: string): Promise<Line[]> =>
    (await caller.bytes(`${scopeOf(market, dataset)}&${style}`))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  const books = await lines('books')
  const times = books.flatMap(({ type, received_time: at }) => (type === 'book' ? Number(at) : []))
  const random = createRandom(7)
  const span = times.at(-1)! - times[0]! - 2
  // Rows are at whole milliseconds: an odd microsecond is never the time of a row.
  const instants = Array.from(
    { length: INSTANTS / MARKETS.length },
    () => times[0]! + 2 * random.integer(0, Math.floor(span / 2)) + 1,
  ).sort((a, b) => a - b)
  const tops: Top[] = []
  let at = 0
  let now: Top = [null, null]
  for (const instant of instants) {
    for (; at < books.length; at++) {
      const line = books[at]!
      const time = Number(line.type === 'gap' ? line['start_time'] : line['received_time'])
      if (line.type === 'receipt' || time > instant) break
      now =
        line.type === 'gap' ? [null, null] : [line['best_bid'] as never, line['best_ask'] as never]
    }
    tops.push(now)
  }
  const isIn = (edge: Top): boolean => edge[0] === null && edge[1] === null
  expect(tops.some(isIn)).toBe(books.some(({ type }) => type === 'gap'))
  expect(new Set(tops.map((top) => top.join())).size).toBeGreaterThan(20)
  const trades = (await lines('trades'))
    .filter(({ type }) => type === 'trade')
    .map((row) =>
      ['price', 'size', 'taker_side', 'trade_id', 'received_time'].map((name) => row[name]),
    )
  expect(trades.length).toBeGreaterThan(100)
  const file = join(made, `${market.ticker}.json`)
  writeFileSync(file, JSON.stringify(instants))
  return { instants, tops, file, trades }
}

function firstDifference(
  instants: readonly number[],
  seen: readonly (readonly (string | null)[])[],
  wanted: readonly Top[],
): string | undefined {
  if (seen.length !== wanted.length) return `${seen.length} instead of ${wanted.length}`
  const at = wanted.findIndex((top, index) => top.join() !== seen[index]!.join())
  return at < 0
    ? undefined
    : `${instants[at]}: ${seen[at]!.join()} instead of ${wanted[at]!.join()}`
}

function fromTicks(ticks: number | null): string | null {
  return ticks === null ? null : canonical((ticks / 10_000).toFixed(4))
}

function canonical(text: string | null): string | null {
  return text === null ? null : text.replace(/\.?0+$/, '')
}
