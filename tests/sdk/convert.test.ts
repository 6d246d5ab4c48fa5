import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { download, rangeOf } from '../api/file-rows.ts'
import { runCommand } from './run-command.ts'
import { readCsv, topsOfChanges, topsOfSnapshots, type Top } from './tardis-reader.ts'

type Line = Readonly<Record<string, string | number | null>> & { readonly type: string }
type Converted = { readonly path: string; readonly rows: number; readonly instrument: string }

let api: EmulatedApi
const folder = mkdtempSync(join(tmpdir(), 'priorbook-convert-'))

beforeAll(async () => {
  api = await openSharedApi()
}, 180_000)

afterAll(async () => {
  await api.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('converted downloads', () => {
  for (const venue of EMULATED_VENUES) {
    it(`have the best prices of every row: ${venue}`, async () => {
      const market = api.busiest[venue]
      const query = `venue=${venue}&market_id=${market.record.marketId}&${rangeOf(market)}`
      const files: string[] = []
      for (const dataset of ['books', 'trades']) {
        const file = join(folder, `${venue}-${dataset}.pbx`)
        const url = `/v3/bulk?${query}&dataset=${dataset}&format=tape`
        writeFileSync(file, await download(api, url))
        files.push(file)
      }
      const style =
        'format=ndjson&include_orderbook=false&number_format=string&time_format=epoch_us'
      const text = Buffer.from(await download(api, `/v3/bulk?${query}&${style}`)).toString()
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line)
        .filter(({ type }) => type === 'book')

      const tables = await convert(files, 'tardis', venue)
      const events = await convert(files, 'hftbacktest', venue)
      const instruments = new Set(tables.map(({ instrument }) => instrument))
      expect(instruments.size).toBe(venue === 'venuec' ? 2 : 1)
      for (const instrument of instruments) {
        const own = lines.filter(({ id }) => String(id).startsWith(`${venue}:${instrument}:`))
        // Of rows with the same time the last one counts.
        const last = new Map(own.map((row) => [Number(row['received_time']), row]))
        const instants = [...last.keys()]
        const tops = [...last.values()].map((row): Top => [
          row['best_bid'] as string | null,
          row['best_ask'] as string | null,
        ])
        expect(tops.length).toBeGreaterThan(10)
        const tableOf = (name: string): string =>
          tables.find((one) => one.instrument === instrument && one.path.includes(name))!.path
        expect(topsOfChanges(readCsv(tableOf('incremental_book_L2')), instants)).toEqual(tops)
        expect(topsOfSnapshots(readCsv(tableOf('book_snapshot_25')), instants)).toEqual(tops)
        const feed = events.find((one) => one.instrument === instrument)!
        expect(topsOfEvents(feed, instants)).toEqual(tops)
      }
    })
  }

  it('are the files of the archives that the service sends', async () => {
    const market = api.busiest.venueb
    const query = `venue=venueb&market_id=${market.record.marketId}&${rangeOf(market)}`
    const files = ['books', 'trades'].map((dataset) => join(folder, `venueb-${dataset}.pbx`))
    for (const tool of ['hftbacktest', 'nautilus', 'tardis']) {
      const out = join(folder, `served-${tool}`)
      const { status } = await runCommand(['convert', ...files, '--to', tool, '-o', out], {})
      expect(status).toBe(0)
      const names = globSync('**/*.{npz,parquet,csv}', { cwd: out }).sort()
      const archive = Buffer.from(await download(api, `/v3/bulk?${query}&format=${tool}`))
      const served = unzip(archive)
      expect([...served.keys()]).toEqual(names)
      for (const [name, bytes] of served) {
        expect([name, Buffer.compare(bytes, readFileSync(join(out, name)))]).toEqual([name, 0])
      }
    }
    for (const more of ['dataset=trades', 'depth=1', 'offset=5', 'number_format=string']) {
      const { status, body } = await api.get(`/v3/bulk?${query}&format=tardis&${more}`)
      const { param } = body as { param: string }
      expect([status, param]).toEqual([400, more.split('=')[0]])
    }
  })

  it('are refused into a folder with files, and for a file that is none', async () => {
    const file = join(folder, 'venueb-books.pbx')
    const again = await runCommand(['convert', file, '--to', 'tardis', '-o', folder], {})
    expect(again.err).toContain('has files already')
    const none = await runCommand(['convert', file, '-o', join(folder, 'none')], {})
    expect([none.status, none.err.includes('--to is missing')]).toEqual([2, true])
    const absent = join(folder, 'absent.pbx')
    const { status, err } = await runCommand(['convert', absent, '--to', 'tardis'], {})
    expect([status, err]).toEqual([4, `priorbook: there is no ${absent}\n`])
  })
})

async function convert(
  files: readonly string[],
  tool: string,
  venue: string,
): Promise<Converted[]> {
  const out = join(folder, `${venue}-${tool}`)
  const { status, out: text } = await runCommand(
    ['convert', ...files, '--to', tool, '-o', out, '--json'],
    {},
  )
  expect(status).toBe(0)
  const { files: made } = JSON.parse(text) as { files: Converted[] }
  return made.map((one) => ({ ...one, path: join(out, one.path) }))
}

/** The files of an archive, by its list at the end. */
function unzip(bytes: Buffer): Map<string, Buffer> {
  const end = bytes.length - 22
  const files = new Map<string, Buffer>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const size = bytes.readUInt32LE(at + 24)
    const length = bytes.readUInt16LE(at + 28)
    const name = bytes.toString('utf8', at + 46, at + 46 + length)
    const start = bytes.readUInt32LE(at + 42) + 30 + length
    const file = bytes.subarray(start, start + size)
    expect(crc32(file)).toBe(bytes.readUInt32LE(at + 16))
    files.set(name, file)
    at += 46 + length
  }
  return files
}

/** Reads the archive by the specifications of ZIP and NPY, and plays its events. */
function topsOfEvents({ path, rows }: Converted, instants: readonly number[]): Top[] {
  const bytes = readFileSync(path)
  const end = bytes.length - 22
  const entry = bytes.readUInt32LE(end + 16)
  const size = bytes.readUInt32LE(entry + 24)
  const start = 30 + bytes.readUInt16LE(26)
  const npy = bytes.subarray(start, start + size)
  expect(crc32(npy)).toBe(bytes.readUInt32LE(entry + 16))
  const first = 10 + npy.readUInt16LE(8)
  expect([first % 64, npy.length - first]).toEqual([0, rows * 64])
  expect(npy.toString('latin1', 10, first)).toContain(`'shape': (${rows},)`)
  const book = { bid: new Set<number>(), ask: new Set<number>() }
  let row = 0
  return instants.map((instant) => {
    for (; row < rows; row++) {
      const at = first + row * 64
      if (npy.readBigInt64LE(at + 16) > BigInt(instant) * 1000n) break
      const event = npy.readBigUInt64LE(at)
      const kind = Number(event & 0xffn)
      const side = (event & (1n << 29n)) === 0n ? book.ask : book.bid
      const price = npy.readDoubleLE(at + 24)
      if (kind === 3) side.clear()
      else if (kind === 1 || kind === 4) {
        if (npy.readDoubleLE(at + 32) === 0) side.delete(price)
        else side.add(price)
      }
    }
    const best = (prices: Set<number>, pick: (...all: number[]) => number): string | null =>
      prices.size === 0 ? null : String(pick(...prices))
    return [best(book.bid, Math.max), best(book.ask, Math.min)]
  })
}
