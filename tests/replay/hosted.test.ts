import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import { createClient } from '@priorbook/sdk/client'
import { replayMessages, type Replay } from '@priorbook/sdk/replay'
import { replayFiles } from '@priorbook/sdk/replay/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAsker, type Asker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { startServe } from '../../packages/service/src/commands/serve.testing.ts'
import { indexFolder } from '../../packages/service/src/store/files/index-folder.ts'
import { openFilesStore } from '../../packages/service/src/store/files/open.ts'
import { lineOf } from '../../packages/sdk/src/replay/container.testing.ts'
import { expectLines } from '../../packages/service/src/store/store-answers.testing.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import {
  EMULATED_VENUES,
  type EmulatedVenueId,
} from '../../packages/emulator/src/venues/registry.ts'

const datasetsOf = (venue: VenueId): readonly string[] => [
  'dataset=books',
  ...(VENUES[venue].hasTrades ? ['dataset=trades'] : []),
  // Two are enough, and a market without a trade has no last one.
  ...VENUES[venue].metrics.slice(0, 2).map((metric) => `dataset=samples&metric=${metric}`),
]

let original: EmulatedApi
let scratch: string
let folder: string
let hosted: ApiServer
let asker: Asker
let key: string
const closers: (() => unknown)[] = []
/** A time after the last row of each market, because its other outcome may have later rows. */
const ends = new Map<VenueId, number>()

beforeAll(async () => {
  original = await openSharedApi(hasRows)
  scratch = mkdtempSync(join(tmpdir(), 'priorbook-hosted-'))
  folder = join(scratch, 'downloads')
  mkdirSync(folder)
  for (const venue of EMULATED_VENUES) {
    const { record } = original.busiest[venue]
    const facts = await original.store.instruments(venue)
    const own = facts.filter(({ instrument }) => instrument.market === record.marketId)
    ends.set(venue, Math.max(...own.map(({ lastReceived }) => lastReceived)) + 1)
    for (const dataset of datasetsOf(venue)) {
      const { status, bytes } = await original.get(downloadOf(venue, dataset))
      expect(status).toBe(200)
      writeFileSync(join(folder, `${venue}_${dataset.replaceAll(/\W/g, '-')}.pbx`), bytes)
    }
  }
  const home = join(scratch, 'access')
  mkdirSync(home)
  const index = join(scratch, 'index.db')
  const report = await indexFolder(folder, index)
  expect(report).toMatchObject({ files: 7, refused: [], isEmulated: true })
  const store = openFilesStore({ folder, index })
  const access = openAccess(home)
  key = access.keys.create({ plan: 'unlimited', name: 'test' }).key
  hosted = createApiServer({ store, access, log: { info() {}, warn() {}, error() {} } })
  asker = createAsker(hosted.handle)
  closers.push(
    () => asker.close(),
    () => hosted.close(500),
    () => access.close(),
    () => store.close(),
  )
}, 180_000)

afterAll(async () => {
  for (const close of closers) await close()
  await original.close()
  rmSync(scratch, { recursive: true, force: true })
})

// A busy machine records less per second, so wait for some pages of every venue.
async function hasRows(store: Store): Promise<boolean> {
  for (const venue of EMULATED_VENUES) {
    const gaps = await store.gaps({ venue })
    const late = new Set(
      gaps
        .filter(({ reason }) => reason === 'before_capture' || reason === 'late_discovery')
        .map(({ key: own }) => own),
    )
    const facts = await store.instruments(venue)
    const isBusy = facts.some(
      ({ instrument, lastSequence }) => lastSequence > 60 && late.has(instrument.key),
    )
    if (!isBusy) return false
  }
  return true
}

// Start a day before the first row, because gaps before it also belong to the market.
function downloadOf(venue: EmulatedVenueId, dataset: string): string {
  const { first, record } = original.busiest[venue]
  const range = `start_time=${first - 86_400_000_000}&end_time=${ends.get(venue)}`
  return `/v3/bulk?venue=${venue}&market_id=${record.marketId}&${range}&${dataset}&format=tape`
}

type Body = {
  readonly data: unknown
  readonly meta: Readonly<Record<string, unknown>>
  readonly pagination: { readonly next_cursor: string | null; readonly has_more: boolean }
}

async function ask(url: string): Promise<Body> {
  const { status, text } = await asker.ask(url, { key })
  expect(status).toBe(200)
  return JSON.parse(text) as Body
}

// Each server signs its own cursors, and files hold only the newest market record.
function comparable({ data, meta, pagination }: Body): unknown {
  const { market: _market, notice: _notice, notices: _notices, ...rest } = meta
  return { data, meta: rest, hasMore: pagination.has_more }
}

async function expectSame(url: string): Promise<Body> {
  const wanted = await original.get(url)
  expect(wanted.status).toBe(200)
  const found = await ask(url)
  expect(comparable(found)).toEqual(comparable(wanted.body as Body))
  return found
}

describe.each(EMULATED_VENUES)('%s, hosted from files', (venue) => {
  test('pages of books are the same forwards and backwards, with and without ladders', async () => {
    const { path, first, last, rows } = original.busiest[venue]
    expect(rows).toBeGreaterThan(20)
    const range = `start_time=${first}&end_time=${last + 1}`
    for (const more of ['', '&include_orderbook=true', '&order=desc', '&interval=1s', '&depth=3']) {
      const ladders = more === '&depth=3' ? '&include_orderbook=true' : ''
      await expectSame(`${path}/snapshots?${range}&limit=1000${more}${ladders}`)
    }
    await expectSame(`${path}/changes?${range}&limit=500`)
  })

  test('a walk by cursors meets the same rows and the same receipt', async () => {
    const { path, first, last } = original.busiest[venue]
    let url: string | undefined =
      `${path}/snapshots?start_time=${first}&end_time=${last + 1}&limit=37`
    const start = url
    const walk = async (get: (url: string) => Promise<Body>): Promise<unknown[]> => {
      const seen: unknown[] = []
      for (url = start; url !== undefined;) {
        const body: Body = await get(url)
        seen.push(comparable(body))
        const cursor = body.pagination.next_cursor
        url = cursor === null ? undefined : `${start}&cursor=${encodeURIComponent(cursor)}`
      }
      return seen
    }
    const wanted = await walk(async (each) => (await original.get(each)).body as Body)
    expect(wanted.length).toBeGreaterThan(1)
    expect(await walk(ask)).toEqual(wanted)
  })

  test('the newest book and the book at any instant are the same', async () => {
    expect.hasAssertions()
    const { path, first, last } = original.busiest[venue]
    await expectSame(`${path}/orderbook/latest`)
    for (let part = -1; part <= 21; part++) {
      const at = Math.floor(first + ((last - first) * part) / 20)
      if (at < last) await expectSame(`${path}/orderbook?at=${at}`)
    }
  })

  test('trades, samples, gaps and coverage are the same', async () => {
    const { path, first, last, record } = original.busiest[venue]
    const range = `start_time=${first}&end_time=${last + 1}`
    if (venue === 'venuea') {
      const metrics = ['chance', 'price'] as const
      for (const metric of metrics) {
        const url = `${path}/timeseries?metric=${metric}&${range}&limit=1000`
        await expectSame(url)
      }
    } else {
      await expectSame(`${path}/trades?${range}&limit=1000`)
    }
    const gaps = await expectSame(
      `/v3/gaps?venue=${venue}&market=${record.marketId}&end_time=${ends.get(venue)}&limit=1000`,
    )
    expect((gaps.data as unknown[]).length).toBeGreaterThan(0)
    await expectSame(`/v3/coverage?venue=${venue}&market=${record.marketId}`)
  })

  test('a download of the hosted files equals the original file', async () => {
    const url = downloadOf(venue, 'dataset=books')
    const again = await asker.ask(url, { key })
    const file = join(scratch, `again-${venue}.pbx`)
    writeFileSync(file, again.bytes)
    const count = async (path: string): Promise<string[]> => {
      const seen: string[] = []
      for await (const event of replayFiles([path]).events()) {
        if (event.kind === 'book') seen.push(`${event.at} ${event.sequence} ${event.flags}`)
        else seen.push(`${event.at} ${event.kind}`)
      }
      return seen
    }
    const name = readdirSync(folder).find((each) => each.startsWith(`${venue}_dataset-books`))!
    expect(await count(file)).toEqual(await count(join(folder, name)))
  })
})

test('the stream of hosted files replays what the files hold and serves their books', async () => {
  const { url } = await hosted.listen({ host: '127.0.0.1', port: 0 })
  const client = createClient({ url, key })
  const markets = EMULATED_VENUES.map((venue) => ({
    venue,
    market_id: original.busiest[venue].record.marketId,
  }))
  const linesOf = async (source: Replay): Promise<string[]> => {
    const lines: string[] = []
    for await (const event of source.events()) {
      if (event.kind === 'market' || event.kind === 'sample') continue
      lines.push(lineOf(event).replace(/,index=\d+/, ''))
    }
    return lines
  }
  const files = readdirSync(folder)
    .filter((name) => !name.includes('samples'))
    .map((name) => join(folder, name))
  const busy = EMULATED_VENUES.map((venue) => original.busiest[venue])
  const start = Math.min(...busy.map(({ first }) => first)) - 86_400_000_000
  const end = Math.max(...busy.map(({ last }) => last)) + 1
  const wanted = await linesOf(replayFiles(files, { start, end }))
  expect(wanted.length).toBeGreaterThan(100)
  const style = { start_time: start, end_time: end, number_format: 'string' } as const
  const messages = client.socketReplay({ markets, ...style })
  expectLines(await linesOf(replayMessages(messages)), wanted)
  const first = new Set<string>()
  for await (const message of client.live(markets)) {
    if (message.type === 'snapshot') first.add(message.row.venue)
    if (first.size === EMULATED_VENUES.length) break
  }
  expect([...first].sort()).toEqual([...EMULATED_VENUES])
})

test('serve --store files:DIR answers offline, names what it rejects, and stops cleanly', async () => {
  const data = join(scratch, 'data')
  const broken = readFileSync(join(folder, 'venueb_dataset-books.pbx'))
  const served = join(scratch, 'served')
  mkdirSync(served)
  for (const name of readdirSync(folder)) {
    writeFileSync(join(served, name), readFileSync(join(folder, name)))
  }
  writeFileSync(join(served, 'cut.pbx'), broken.subarray(0, broken.length - 10))
  const made = await callServer('keys', 'create', '--plan', 'unlimited', '--data', data, '--json')
  const own = (JSON.parse(made.out) as { key: string }).key
  const args = ['--store', `files:${served}`, '--workers', '1', '--data', data]
  const { child, end, url, ops, printed } = await startServe(scratch, args)
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(printed()).toContain('serves 7 files; refused cut.pbx (truncated_file)')
  expect(printed()).toMatch(/"file":"cut.pbx".*a file is not served/)
  const page = await (await fetch(`${ops}/`)).text()
  expect(page).toContain('cut.pbx: truncated_file')
  const { path, first, last } = original.busiest.venueb
  const address = `${path}/snapshots?start_time=${first}&end_time=${last + 1}&limit=1000`
  const reply = await fetch(`${url}${address}`, { headers: { authorization: `Bearer ${own}` } })
  expect(reply.status).toBe(200)
  const body = (await reply.json()) as Body
  const wanted = (await original.get(address)).body as Body
  expect(comparable(body)).toEqual(comparable(wanted))
  expect(body.meta['notice']).toBeDefined()
  expect(await end()).toBe(0)
})
