import { spawn, type ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { importRecordings } from '../packages/service/src/recorder/import.ts'
import { findRecordings } from '../packages/service/src/recorder/recording.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { familyRssMb, stopChild } from './lib/child.ts'
import type { LoadJob, LoadResult } from './lib/http-load.ts'
import { planSeed } from './lib/plan.ts'
import { createRandom } from './lib/random.ts'
import { channelFolder } from './lib/recordings.ts'
import { withScratch } from './lib/scratch.ts'
import { measureSecondCore } from './lib/second-core.ts'
import { prepareTape } from './lib/tape.ts'

const SERVER = fileURLToPath(
  new URL('../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const BARE = fileURLToPath(new URL('./lib/bare-server.ts', import.meta.url))
const LOAD = fileURLToPath(new URL('./lib/http-load-child.ts', import.meta.url))
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const WARM_UP_SECONDS = 3
const CONNECTIONS = 16
// Small pages a second at which the waiting times are measured.
const RATE = 100
const PORT = 18_790
const BARE_PORT = 18_791

/**
 * The REST interface over loopback: load from a process of its own, random markets and positions, no
 * cache of rendered pages; beside it fastify alone with answers of the same length.
 */
export function benchApi(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const markets = await importMarkets(folder)
    const key = await createKey(folder)
    const server = start(SERVER, [
      'serve',
      '--data',
      folder,
      '--upstream',
      'none',
      '--role',
      'api',
      '--port',
      String(PORT),
      '--ops-port',
      '0',
    ])
    try {
      await reachable(PORT, key)
      return await measure(server, markets, key, folder)
    } finally {
      await stopChild(server)
    }
  })
}

type Market = { readonly ticker: string; readonly times: readonly number[] }

async function measure(
  server: ChildProcess,
  markets: readonly Market[],
  key: string,
  folder: string,
): Promise<Record<string, unknown>> {
  const secondCore = await measureSecondCore()
  const random = createRandom(7)
  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`
  const anyTime = (): { ticker: string; time: number } => {
    const market = random.pick(markets)
    return { ticker: market.ticker, time: random.pick(market.times) }
  }
  const page = (query: string) => (): string => {
    const { ticker, time } = anyTime()
    return get(`/v3/venueb/${ticker}/snapshots?start_time=${time}&limit=100&${query}`)
  }
  const many = (make: () => string): string[] => Array.from({ length: 4000 }, make)
  const on = (port: number, requests: readonly string[], connections = CONNECTIONS): LoadJob => ({
    host: '127.0.0.1',
    port,
    requests,
    connections,
    seconds: SECONDS,
  })
  const latest = await load(
    on(
      PORT,
      many(() => get(`/v3/venueb/${random.pick(markets).ticker}/orderbook/latest`)),
    ),
  )
  const full = await load(on(PORT, many(page('include_orderbook=true'))))
  const bare = await loadBare(latest.bytes, full.bytes)
  const plain = await load(on(PORT, many(page('include_orderbook=false'))))
  const walk = await load(on(PORT, await walkRequests(markets, key, get)))
  const small = (): LoadJob => ({
    ...on(PORT, many(page('include_orderbook=true')), 4),
    rate: RATE,
  })
  const idle = await load(small())
  const bulk = await readBulk(markets[0]!.ticker, key)
  const busy = await besides(folder, () =>
    Promise.all([load(small()), readBulk(markets[0]!.ticker, key)]),
  )
  const results = { latest, full, plain, walk, idle, busy: busy[0] }
  for (const [name, { statuses }] of Object.entries(results)) {
    if (Object.keys(statuses).join() !== '200') {
      throw new Error(`${name}: statuses ${JSON.stringify(statuses)}`)
    }
  }
  return {
    seconds_each: SECONDS,
    page_bytes: Math.round(full.bytes),
    latest_per_s: Math.round(latest.perSecond),
    latest_bare_per_s: Math.round(bare.latest.perSecond),
    latest_ratio: round(latest.perSecond / bare.latest.perSecond),
    page_100_per_s: Math.round(full.perSecond),
    page_100_walk_per_s: Math.round(walk.perSecond),
    page_100_bare_per_s: Math.round(bare.page.perSecond),
    page_no_ladder_per_s: Math.round(plain.perSecond),
    bulk_ndjson_mb_per_s: round(bulk),
    bulk_busy_mb_per_s: round(busy[1]),
    small_pages_per_s: RATE,
    p99_idle_ms: round(idle.p99Ms),
    p99_busy_ms: round(busy[0].p99Ms),
    rss_mb: round(familyRssMb(server)),
    second_core: round(secondCore),
  }
}

async function importMarkets(folder: string): Promise<Market[]> {
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const tape = prepareTape(join(folder, 'generated'), planSeed)
  const { files } = findRecordings([join(tape.folder, channelFolder)])
  await importRecordings({ store, journalDir: join(folder, 'journal'), files })
  const markets: Market[] = []
  for (const { instrument, firstReceived, lastReceived } of await store.instruments()) {
    // Places by time: far enough from the end for a whole page.
    const span = lastReceived - firstReceived
    const times = Array.from({ length: 500 }, (_, at) =>
      Math.floor(firstReceived + (span * 0.9 * at) / 500),
    )
    markets.push({ ticker: instrument.key, times })
  }
  await store.close()
  return markets
}

async function createKey(folder: string): Promise<string> {
  const child = start(SERVER, ['keys', 'create', '--plan', 'unlimited', '--data', folder, '--json'])
  const line = await firstLine(child)
  return (JSON.parse(line) as { key: string }).key
}

// Consecutive pages: the cursors of one walk through each market, gathered before the measurement.
async function walkRequests(
  markets: readonly Market[],
  key: string,
  get: (path: string) => string,
): Promise<string[]> {
  const requests: string[] = []
  for (const { ticker } of markets) {
    let path = `/v3/venueb/${ticker}/snapshots?include_orderbook=true&limit=100`
    for (let count = 0; count < 300; count++) {
      requests.push(get(path))
      const answer = await fetch(`http://127.0.0.1:${PORT}${path}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const { pagination } = (await answer.json()) as { pagination: { next_cursor: string | null } }
      if (pagination.next_cursor === null) break
      path = `/v3/venueb/${ticker}/snapshots?include_orderbook=true&limit=100&cursor=${pagination.next_cursor}`
    }
  }
  return requests
}

async function readBulk(ticker: string, key: string): Promise<number> {
  const begin = performance.now()
  let bytes = 0
  while (performance.now() - begin < SECONDS * 1000) {
    const url = `http://127.0.0.1:${PORT}/v3/bulk?venue=venueb&market_id=${ticker}&format=ndjson`
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
    })
    if (answer.status !== 200) throw new Error(`bulk: ${answer.status} ${await answer.text()}`)
    for await (const piece of answer.body!) bytes += (piece as Uint8Array).length
  }
  return bytes / 1e6 / ((performance.now() - begin) / 1000)
}

// While a recorder on the same cores records the emulator's venues, into a folder of its own.
async function besides<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const recorder = start(SERVER, [
    'serve',
    '--data',
    join(folder, 'recorded'),
    '--role',
    'capture',
    '--upstream',
    'emulator',
    '--ops-port',
    '0',
  ])
  try {
    await firstLine(recorder)
    return await work()
  } finally {
    await stopChild(recorder)
  }
}

async function loadBare(
  latestBytes: number,
  pageBytes: number,
): Promise<{ latest: LoadResult; page: LoadResult }> {
  const sizes = [String(Math.round(latestBytes)), String(Math.round(pageBytes))]
  const servers = Array.from({ length: availableParallelism() }, () =>
    start(BARE, [String(BARE_PORT), ...sizes]),
  )
  try {
    await Promise.all(servers.map(firstLine))
    const job = (path: string): LoadJob => ({
      host: '127.0.0.1',
      port: BARE_PORT,
      requests: [`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`],
      connections: CONNECTIONS,
      seconds: SECONDS,
    })
    return { latest: await load(job('/latest')), page: await load(job('/page')) }
  } finally {
    await Promise.all(servers.map(stopChild))
  }
}

// Servers need some thousand requests of a kind until their code is compiled.
async function load(job: LoadJob): Promise<LoadResult> {
  if (job.rate === undefined) await loadOnce({ ...job, seconds: WARM_UP_SECONDS })
  return loadOnce(job)
}

async function loadOnce(job: LoadJob): Promise<LoadResult> {
  const child = start(LOAD, [])
  child.stdin!.end(JSON.stringify(job))
  let text = ''
  for await (const line of createInterface({ input: child.stdout! })) text += line
  return JSON.parse(text) as LoadResult
}

async function reachable(port: number, key: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/v3/whoami`, {
        headers: { authorization: `Bearer ${key}` },
      })
      if (answer.status === 200) return
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the server does not answer')
}

function start(file: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [file, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Three processes share two cores; the request log would be read by none of them.
    env: { ...process.env, PRIORBOOK_LOG_LEVEL: 'warn' },
  })
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', resolve)
    child.once('exit', (code) => {
      if (code !== 0) reject(new Error(`a child ended with ${code}`))
    })
  })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
