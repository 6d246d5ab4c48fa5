import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { get as httpGet, type ClientRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  parsePrice,
  parseSize,
  toMicros,
  VENUES,
  type Micros,
  type Trade,
} from '@priorbook/sdk/domain'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Store } from '../../store/store.ts'
import { askHttp } from '../ask.testing.ts'
import { createTestServer, type TestServer } from '../server.testing.ts'
import type { ApiServerOptions } from '../server.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { MADE_START, makeMarket } from './generated-market.testing.ts'

const NOW = Date.UTC(2026, 7, 20) * 1000
const SCOPE = '/v3/bulk?venue=venueb&market_id=KXMADE-1'
const DAY = '/v3/bulk?venue=venueb&series=KXMADE&day=2026-08-11'
// A batch after those of the market.
const LATER = {
  venue: 'venueb',
  position: 1000,
  origin: 'emulator',
  recorder: 'r1',
  normalizer: 1,
} as const
const IDLE_MS = 150
const PATIENT = { timeout: 60_000 }

/** Where archives are made; empty when they are sent, refused or given up. */
let temp: string

beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'priorbook-archive-'))
  vi.stubEnv('TMPDIR', temp)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(temp, { recursive: true, force: true })
  })
})

type Listening = TestServer & { readonly url: string; readonly key: string }

async function serve(
  rows: number,
  options: Partial<ApiServerOptions> = {},
  wrap: (store: Store) => Store = (store) => store,
): Promise<Listening> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-archive-tape-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  for (const batch of makeMarket(rows)) await store.append(batch)
  const test = await createTestServer({
    now: () => toMicros(NOW),
    path: folder,
    store: wrap(store),
    ...options,
  })
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  return { ...test, url, key: test.keyOf('unlimited') }
}

function leftovers(): string[] {
  return readdirSync(temp).filter((name) => /^priorbook-(convert|part)-/.test(name))
}

describe('an archive of files of another tool', () => {
  it('has the trades before the first book and after the last one', async () => {
    const { store, url, key } = await serve(50)
    const early = toMicros(MADE_START - 90_000_000)
    const late = toMicros(MADE_START + 90_000_000)
    await store.append({
      ...LATER,
      trades: [tradeAt(early, 'before-books'), tradeAt(late, 'after-books')],
    })
    const { status, bytes } = await askHttp(`${url}${SCOPE}&format=tardis`, { key })
    expect(status).toBe(200)
    // The files of the archive are not compressed.
    const text = Buffer.from(bytes).toString('latin1')
    const [, first, last] =
      /,(\d+),before-books,[^]*,(\d+),after-books,/.exec(text.replaceAll('\r', '')) ?? []
    expect([Number(first), Number(last)]).toEqual([early, late])
  })

  it('keeps the book at the instant of its last row, with which a gap begins', async () => {
    const rows = 50
    const { store, url, key } = await serve(rows)
    const start = toMicros(MADE_START + (rows - 1) * 20_000)
    await store.append({
      ...LATER,
      gaps: [
        {
          venue: 'venueb',
          scope: 'venue',
          key: '',
          reason: 'disconnected',
          start,
          afterSequence: rows,
          journal: 1000,
        },
      ],
    })
    const market = `${url}/v3/venueb/KXMADE-1/orderbook`
    const stood = await askHttp(`${market}?at=${start}`, { key })
    const after = await askHttp(`${market}?at=${start + 1}`, { key })
    expect([stood.json(), after.json()]).toMatchObject([
      { data: { bids: expect.anything() } },
      { data: null },
    ])
    const { bytes } = await askHttp(`${url}${SCOPE}&format=tardis`, { key })
    const cleared = Buffer.from(bytes)
      .toString('latin1')
      .matchAll(/^venueb,KXMADE-1,\d+,(\d+),(?:false,(?:bid|ask),[\d.]+,0|,+)$/gm)
    const times = [...cleared].map(([, time]) => Number(time)).filter((time) => time >= start)
    expect(times.length).toBeGreaterThan(20)
    expect(new Set(times)).toEqual(new Set([start + 1]))
  })

  it('may take longer to make than a client may be idle, and so may a file that is measured', async () => {
    const slow = (store: Store): Store =>
      new Proxy(store, {
        get(target, name, self) {
          const member = Reflect.get(target, name, self) as unknown
          if (typeof member !== 'function') return member
          const bound = member.bind(target) as (...all: unknown[]) => unknown
          if (name !== 'chunksOfRange') return bound
          return async function* delayed(...all: unknown[]) {
            await pause(IDLE_MS * 2)
            yield* bound(...all) as AsyncGenerator
          }
        },
      })
    const { url, key } = await serve(50, { timeouts: { idleMs: IDLE_MS } }, slow)
    const archive = await askHttp(`${url}${DAY}&format=tardis`, { key })
    expect([archive.status, archive.bytes.length > 1000]).toEqual([200, true])
    const tape = `${url}${DAY}&format=tape`
    const head = await askHttp(tape, { key, method: 'HEAD' })
    expect([head.status, Number(head.headers['content-length']) > 1000]).toEqual([200, true])
    const part = await askHttp(tape, { key, headers: { range: 'bytes=0-9' } })
    expect([part.status, part.bytes.length]).toEqual([206, 10])
  })

  it('is refused where it needs more space than there is, and leaves no file', async () => {
    const free = await serve(2000)
    for (const tool of ['hftbacktest', 'nautilus', 'tardis']) {
      const whole = await askHttp(`${free.url}${DAY}&format=${tool}`, { key: free.key })
      // The stored chunks that it is made of need space too.
      const { url, key } = await serve(2000, { tempBytes: whole.bytes.length })
      const refused = await askHttp(`${url}${DAY}&format=${tool}`, { key })
      expect([refused.status, refused.json()]).toMatchObject([
        400,
        { code: 'invalid_parameter', param: 'format', hint: 'Ask for a shorter range.' },
      ])
      expect(leftovers()).toEqual([])
      // A file that is not made on disk needs no space.
      const range = { headers: { range: 'bytes=0-9' }, key }
      expect((await askHttp(`${url}${DAY}&format=csv`, range)).status).toBe(200)
    }
  })

  it('waits its turn for space that another one uses', async () => {
    const { url, key } = await serve(9000, { tempBytes: 8_000_000 })
    const address = `${url}${DAY}&format=tardis`
    const { bytes } = await askHttp(address, { key })
    // A client that does not read holds the files of its archive.
    const slow = httpGet(address, { headers: { authorization: `Bearer ${key}` } })
    onTestFinished(() => void slow.destroy())
    await new Promise((resolve) => slow.once('response', (answer) => resolve(answer.pause())))
    expect(bytes.length).toBeGreaterThan(4_100_000)
    expect(leftovers()).toHaveLength(1)
    const busy = await askHttp(address, { key })
    expect([busy.status, busy.json()['code'], Number(busy.headers['retry-after']) > 0]).toEqual([
      503,
      'busy',
      true,
    ])
    slow.destroy()
    await vi.waitFor(
      async () => expect((await askHttp(address, { key })).status).toBe(200),
      PATIENT,
    )
    await vi.waitFor(() => expect(leftovers()).toEqual([]), PATIENT)
  })

  it('is given up with its client, at any time', async () => {
    const { url, key, logs } = await serve(2000)
    const address = `${url}${DAY}&format=hftbacktest`
    const isBegun = (): Promise<void> =>
      vi.waitFor(() => expect(leftovers()).toHaveLength(1), { ...PATIENT, interval: 1 })
    const isAnswered = (request: ClientRequest): Promise<unknown> =>
      new Promise((resolve) => request.once('response', (answer) => resolve(answer.pause())))
    for (const isReady of [isBegun, isAnswered]) {
      const before = logs.length
      const request = httpGet(address, { headers: { authorization: `Bearer ${key}` } })
      request.on('error', () => undefined)
      await isReady(request)
      request.destroy()
      await vi.waitFor(() => expect(logs.length).toBeGreaterThan(before), PATIENT)
      await vi.waitFor(() => expect(leftovers()).toEqual([]), PATIENT)
    }
    expect((await askHttp(address, { key })).status).toBe(200)
    expect(leftovers()).toEqual([])
  })
})

describe('parts of one file', () => {
  it('are bytes of one making, also where rows are sealed between them', async () => {
    const { store, path, url, key } = await serve(3000)
    const address = `${url}${DAY}&format=tape`
    const head = await askHttp(address, { key, method: 'HEAD' })
    const tag = head.headers['etag']!
    const { bytes: before } = await askHttp(address, { key })
    const half = before.length >> 1
    const one = await askHttp(address, { key, headers: { range: `bytes=0-${half - 1}` } })
    expect([one.status, one.headers['etag']]).toEqual([206, tag])
    await store.seal()
    const rest = { range: `bytes=${half}-`, 'if-range': tag }
    const two = await askHttp(address, { key, headers: rest })
    // Either the rest of the same file, or another file with a tag of its own.
    expect([two.status, two.headers['etag']]).toEqual([206, tag])
    expect(Buffer.compare(Buffer.concat([one.bytes, two.bytes]), before)).toBe(0)
    // Another process has not kept the file.
    const again = openEmbeddedStore({ file: join(path, 'tape.db'), readOnly: true })
    onTestFinished(() => again.close())
    const other = await createTestServer({ store: again, now: () => toMicros(NOW) })
    const { url: elsewhere } = await other.server.listen({ host: '127.0.0.1', port: 0 })
    const whole = await askHttp(`${elsewhere}${DAY}&format=tape`, {
      key: other.keyOf('unlimited'),
      headers: rest,
    })
    expect(whole.status).toBe(200)
    expect(whole.headers['etag']).not.toBe(tag)
    expect(Buffer.compare(whole.bytes, before)).not.toBe(0)
  })

  it('have no tag of a manifest that may be of another making', async () => {
    const { store, url, key } = await serve(3000)
    const manifest = await askHttp(`${url}${DAY.replace('bulk', 'bulk/manifest')}&formats=tape`, {
      key,
    })
    const { files } = manifest.json()['data'] as { files: { sha256: string }[] }
    await store.seal()
    const whole = await askHttp(`${url}${DAY}&format=tape`, { key })
    expect(whole.headers['etag']).toBeUndefined()
    const rest = { range: 'bytes=100-', 'if-range': `"${files[0]!.sha256}"` }
    const again = await askHttp(`${url}${DAY}&format=tape`, { key, headers: rest })
    expect([again.status, again.bytes.length]).toEqual([200, whole.bytes.length])
    expect(Buffer.compare(again.bytes, whole.bytes)).toBe(0)
  })

  it('share the making of a file, and give its space back', async () => {
    let now = NOW
    const { url, key } = await serve(1000, { now: () => toMicros(now), tempBytes: 2_500_000 })
    const address = `${url}${DAY}&format=ndjson`
    const { bytes: whole } = await askHttp(address, { key })
    expect(whole.length).toBeGreaterThan(1_250_000)
    expect(whole.length).toBeLessThan(2_500_000)
    const parts = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        askHttp(address, {
          key,
          headers: { range: `bytes=${index * 1000}-${index * 1000 + 999}` },
        }),
      ),
    )
    expect(parts.map(({ status }) => status)).toEqual(parts.map(() => 206))
    expect(
      Buffer.compare(Buffer.concat(parts.map(({ bytes }) => bytes)), whole.subarray(0, 8000)),
    ).toBe(0)
    // Two other files push this one out of the cache. The service makes it once more for the next request.
    for (const depth of [9, 8]) {
      const other = { key, headers: { range: 'bytes=0-9' } }
      expect((await askHttp(`${address}&depth=2${depth}`, other)).status).toBe(206)
    }
    now += 61_000_000
    const part = await askHttp(address, { key, headers: { range: 'bytes=5-9' } })
    expect([part.status, Buffer.compare(part.bytes, whole.subarray(5, 10))]).toEqual([206, 0])
    expect(leftovers()).toEqual([])
  })
})

function tradeAt(received: Micros, tradeId: string): Trade {
  return {
    kind: 'trade',
    instrument: { venue: 'venueb', market: 'KXMADE-1', key: 'KXMADE-1' },
    tradeId,
    price: parsePrice('0.4', VENUES.venueb.priceDecimals),
    size: parseSize('1', VENUES.venueb.sizeDecimals),
    taker: 'buy',
    received,
    journal: 999,
  }
}
