import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAsker, type Asker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess, type Access } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import {
  createTestFolder,
  type TestFolder,
  importRecorded,
} from '../../packages/service/src/derive/import.testing.ts'
import type { InstrumentReceiptJson } from '../../packages/sdk/src/wire/index.ts'
import { expectedInstruments } from '../../packages/service/src/rows/receipt.testing.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'

/** Recorded messages of venue B, found through PRIORBOOK_RECORDINGS and never committed. */
const recordings = process.env['PRIORBOOK_RECORDINGS']
const FULL = process.env['PRIORBOOK_FULL'] === '1'
if (recordings === undefined) {
  console.warn('walks over recorded markets skipped: set PRIORBOOK_RECORDINGS to the recordings')
}

// In full runs every page size walks every row of every market.
const PATIENCE_MS = FULL ? 7_200_000 : 120_000
const WALKED = FULL
  ? [
      '26AUG050800-00',
      '26AUG060000-00',
      '26AUG101900-00',
      '26AUG102000-00',
      '26AUG102130-30',
      '26AUG102200-00',
    ]
  : ['26AUG101900-00', '26AUG102130-30']
const TICKERS = WALKED.map((name) => `KXGOLD15M-${name}`)
/** Imported by another process while the others are walked: a market with 5,000 invented rows. */
const APPENDED = join(import.meta.dirname, '../../packages/service/sample')
const SIZES = [1, 2, 3, 7, 99, 100, 101, 999, 1000]
/** Rows of a walk with small pages; the largest walk the whole market, and all do in a full run. */
const SLICE = FULL ? 2000 : 300

type Row = { readonly id: string; readonly received_time: number; readonly sequence: number }
type Page = {
  readonly data: readonly Row[]
  readonly meta: { readonly gaps: readonly object[]; readonly receipt?: Receipt }
  readonly pagination: { readonly next_cursor: string | null }
}
type Receipt = {
  readonly rows: number
  readonly gaps: number
  readonly instruments: readonly InstrumentReceiptJson[]
}
type Walked = {
  readonly ids: readonly string[]
  readonly gaps: readonly object[]
  readonly cursors: readonly string[]
  readonly receipt: Receipt | undefined
}

let folder: TestFolder
let store: EmbeddedStore
let access: Access
let server: ApiServer
let asker: Asker
let key: string
/** Walks over whole markets, by ticker and order: of more than one test, as they take seconds. */
const wholes = new Map<string, Walked>()

describe.skipIf(recordings === undefined)('walks over recorded markets', () => {
  beforeAll(async () => {
    folder = createTestFolder()
    await importRecorded(folder, recordings!)
    store = openEmbeddedStore({ file: folder.data.tape, readOnly: true })
    const home = join(folder.data.path, 'access')
    mkdirSync(home)
    access = openAccess(home)
    server = createApiServer({ store, access })
    asker = createAsker(server.handle)
    key = access.keys.create({ plan: 'unlimited', name: 'test' }).key
  }, 120_000)

  afterAll(async () => {
    asker.close()
    await server.close(500)
    access.close()
    await store.close()
    folder.destroy()
  })

  it(
    'give every row once, in both orders, while another process appends and seals',
    async () => {
      const before = await store.instruments('venueb')
      const known = new Set(before.map(({ instrument }) => instrument.key))
      let isAppending = true
      const appended = appendElsewhere().finally(() => (isAppending = false))
      let during = 0
      for (const ticker of TICKERS) {
        const rows = await storedRows(ticker)
        const slice = rows.slice(0, SLICE)
        const end = rows[SLICE]!.received
        // Rows that share a received time with the first one after the slice are not in it.
        const short = slice.filter(({ received }) => received < end).map(({ id }) => id)
        const whole = rows.map(({ id }) => id)
        for (const limit of [...SIZES, ...randomSizes()]) {
          for (const order of ['asc', 'desc'] as const) {
            const isWhole = limit === 1000 || FULL
            const range = isWhole ? '' : `&end_time=${end}`
            const walked = await walk(ticker, `limit=${limit}&order=${order}${range}`)
            if (isAppending) during++
            const ids = isWhole ? whole : short
            const expected = order === 'asc' ? ids : ids.toReversed()
            expect(differenceOf(walked.ids, expected)).toBe('')
            const instruments = await expectedInstruments(store, 'venueb', ids)
            expect(walked.receipt).toMatchObject({ rows: ids.length, instruments })
            expect(walked.receipt?.gaps).toBe(walked.gaps.length)
            if (limit === 1000) wholes.set(`${ticker} ${order}`, walked)
          }
        }
      }
      await appended
      expect(during).toBeGreaterThan(0)
      const facts = await store.instruments('venueb')
      const [added] = facts.filter(({ instrument }) => !known.has(instrument.key))
      expect((await storedRows(added!.instrument.key)).length).toBeGreaterThan(1000)
    },
    PATIENCE_MS,
  )

  it(
    'give the same 2,000 rows with every page size',
    async () => {
      const ticker = TICKERS[0]!
      const rows = await storedRows(ticker)
      const end = rows[2000]!.received
      const expected = rows.filter(({ received }) => received < end).map(({ id }) => id)
      const step = FULL ? 1 : 211
      for (let limit = FULL ? 1 : 4; limit <= 1000; limit += step) {
        const walked = await walk(ticker, `limit=${limit}&end_time=${end}`)
        expect([limit, differenceOf(walked.ids, expected)]).toEqual([limit, ''])
        const instruments = await expectedInstruments(store, 'venueb', expected)
        expect(walked.receipt).toMatchObject({ rows: expected.length, instruments })
      }
    },
    PATIENCE_MS,
  )

  it(
    'go on from any cursor as if never interrupted',
    async () => {
      const ticker = TICKERS[0]!
      for (const order of ['asc', 'desc']) {
        const rows = await storedRows(ticker)
        const query = `limit=97&order=${order}${FULL ? '' : `&end_time=${rows[SLICE]!.received}`}`
        const walked = await walk(ticker, query)
        for (let index = 0; index < walked.cursors.length; index++) {
          const rest = await walk(ticker, query, walked.cursors[index])
          expect(differenceOf(rest.ids, walked.ids.slice((index + 1) * 97))).toBe('')
          expect(rest.receipt).toEqual(walked.receipt)
        }
      }
    },
    PATIENCE_MS,
  )

  it(
    'tell the same gaps as /v3/gaps and /v3/coverage',
    async () => {
      const all: unknown[] = []
      for (const ticker of TICKERS) {
        const listed = await dataOf(`/v3/gaps?limit=1000&venue=venueb&market=${ticker}`)
        const [coverage] = await dataOf(`/v3/coverage?venue=venueb&market=${ticker}`)
        expect((coverage as { gaps: unknown }).gaps).toEqual(listed)
        for (const limit of FULL ? [1000, 999, 250, 7] : [1000]) {
          const walkIn = async (order: string): Promise<Walked> =>
            (limit === 1000 ? wholes.get(`${ticker} ${order}`) : undefined) ??
            walk(ticker, `limit=${limit}&order=${order}`)
          const [up, down] = [await walkIn('asc'), await walkIn('desc')]
          expect(up.gaps).toEqual(listed)
          expect(down.gaps.toReversed()).toEqual(listed)
        }
        all.push(...listed)
      }
      expect(all.length).toBeGreaterThan(1)
    },
    PATIENCE_MS,
  )

  it('hold the books that an as-of read gives', async () => {
    const ticker = TICKERS[0]!
    const { data } = (await get(
      `/v3/venueb/${ticker}/snapshots?include_orderbook=true&limit=1000`,
    )) as unknown as { data: (Row & { bids: object; asks: object })[] }
    // The last ones are left out: rows of their received time may stand on the next page.
    for (const row of data.slice(0, -50).filter((_, index) => index % 50 === 0)) {
      const at = `/v3/venueb/${ticker}/orderbook?at=${row.received_time}`
      const { data: book } = (await get(at)) as unknown as { data: typeof row }
      // Several rows may share a received time: as-of gives the last of them.
      const last = data.findLast(({ received_time }) => received_time === row.received_time)
      expect(book).toEqual(last)
    }
  })
})

async function get(url: string): Promise<Page> {
  const { status, text } = await asker.ask(url, { key })
  if (status !== 200) throw new Error(`${url}: ${text.slice(0, 300)}`)
  return JSON.parse(text) as Page
}

async function dataOf(url: string): Promise<readonly unknown[]> {
  return (await get(url)).data
}

async function walk(ticker: string, query: string, from?: string): Promise<Walked> {
  const ids: string[] = []
  const gaps: object[] = []
  const cursors: string[] = []
  const url = `/v3/venueb/${ticker}/snapshots?${query}`
  for (let cursor = from; ;) {
    const page = await get(cursor === undefined ? url : `${url}&cursor=${cursor}`)
    for (const { id } of page.data) ids.push(id)
    gaps.push(...page.meta.gaps)
    const { next_cursor } = page.pagination
    if (next_cursor === null) return { ids, gaps, cursors, receipt: page.meta.receipt }
    cursors.push(next_cursor)
    cursor = next_cursor
  }
}

async function storedRows(
  ticker: string,
): Promise<readonly { readonly id: string; readonly received: number }[]> {
  const rows: { id: string; received: number }[] = []
  for (let after = 0, hasMore = true; hasMore;) {
    const page = await store.books({
      venue: 'venueb',
      key: ticker,
      order: 'asc',
      after,
      limit: 5000,
    })
    for (const { columns, from, to, firstSequence } of page.runs) {
      for (let row = from; row < to; row++) {
        after = firstSequence + row
        rows.push({ id: `venueb:${ticker}:${after}`, received: columns.received[row]! })
      }
    }
    hasMore = page.hasMore
  }
  return rows
}

// Says where two lists part, which is more than that thousands of texts differ.
function differenceOf(left: readonly string[], right: readonly string[]): string {
  const at = left.findIndex((id, index) => id !== right[index])
  if (at === -1 && left.length === right.length) return ''
  return `row ${at} of ${left.length} and ${right.length}: ${left[at]} for ${right[at]}`
}

function randomSizes(): number[] {
  const count = FULL ? 20 : 2
  let state = 20_260_811
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647
    return 100 + (state % 900)
  })
}

async function appendElsewhere(): Promise<void> {
  const bin = join(import.meta.dirname, '../../packages/service/bin/priorbook-server.mjs')
  const run = async (...args: string[]): Promise<void> => {
    const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (text: Buffer) => (said += text.toString()))
    const code = await new Promise((resolve) => child.on('close', resolve))
    if (code !== 0) throw new Error(`${args[0]}: ${said}`)
  }
  await run('import', 'venueb', '--data', folder.data.path, APPENDED)
  await run('seal', '--data', folder.data.path)
}
