import { spawn, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { importRecordings } from '../packages/service/src/derive/import.ts'
import { findRecordings } from '../packages/service/src/derive/merge-recordings.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import type { BareAnswers } from './lib/bare-server.ts'
import { familyRssMb, stopChild } from './lib/child.ts'
import type { LoadJob, LoadResult } from './lib/http-load.ts'
import { Loader } from './lib/loader.ts'
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
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
// With every core busy the compiler of V8 gets its turn late: pages are at full speed after 10 s.
const WARM_UP_SECONDS = 12
// All kinds take turns of this length, so that each meets the same moments of the machine.
const TURN_SECONDS = 2
const CONNECTIONS = 16
// Small pages a second at which the waiting times are measured.
const RATE = 100
const PORT = 18_790
const BARE_PORT = 18_791
const FASTIFY_PORT = 18_792

/**
 * The REST interface over loopback: load from a process of its own, random markets and positions, no
 * cache of rendered pages; beside it bare `node:http`, and fastify, with the same answers from memory.
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
    const loader = new Loader()
    try {
      await reachable(PORT, key)
      return await measure(server, loader, markets, key, folder)
    } finally {
      await loader.stop()
      await stopChild(server)
    }
  })
}

type Market = { readonly ticker: string; readonly times: readonly number[] }

async function measure(
  server: ChildProcess,
  loader: Loader,
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
  const jobs: Record<Kind, LoadJob> = {
    latest: on(
      PORT,
      many(() => get(`/v3/venueb/${random.pick(markets).ticker}/orderbook/latest`)),
    ),
    full: on(PORT, many(page('include_orderbook=true'))),
    plain: on(PORT, many(page('include_orderbook=false'))),
    walk: on(PORT, await walkRequests(markets, key, get)),
    bare: on(BARE_PORT, [get('/latest')]),
    bareBody: on(BARE_PORT, [get('/latest-body')]),
    barePage: on(BARE_PORT, [get('/page')]),
    fastify: on(FASTIFY_PORT, [get('/latest')]),
  }
  const answer = `/v3/venueb/${markets[0]!.ticker}/orderbook/latest`
  const bareAnswers = {
    ...(await readAnswer(answer, key)),
    pageBytes: (await readAnswer(jobs.full.requests[0]!.split(' ')[1]!, key)).body.length,
  }
  const results = await besideBare(folder, bareAnswers, () => loadByTurns(loader, jobs))
  const { latest, full, plain, walk, bare, bareBody, barePage, fastify } = results
  const small = (): LoadJob => ({
    ...on(PORT, many(page('include_orderbook=true')), 4),
    rate: RATE,
  })
  const idle = await loader.run(small())
  const bulk = await readBulk(markets[0]!.ticker, key)
  const busy = await besides(folder, () =>
    Promise.all([loader.run(small()), readBulk(markets[0]!.ticker, key)]),
  )
  for (const [name, { statuses }] of Object.entries({ ...results, idle, busy: busy[0] })) {
    if (Object.keys(statuses).join() !== '200') {
      throw new Error(`${name}: statuses ${JSON.stringify(statuses)}`)
    }
  }
  return {
    seconds_each: SECONDS,
    page_bytes: Math.round(full.bytes),
    latest_per_s: Math.round(latest.perSecond),
    latest_bare_per_s: Math.round(bare.perSecond),
    latest_ratio: round(latest.perSecond / bare.perSecond),
    latest_fastify_per_s: Math.round(fastify.perSecond),
    latest_fastify_ratio: round(latest.perSecond / fastify.perSecond),
    latest_bare_body_per_s: Math.round(bareBody.perSecond),
    latest_body_ratio: round(latest.perSecond / bareBody.perSecond),
    page_100_per_s: Math.round(full.perSecond),
    page_100_walk_per_s: Math.round(walk.perSecond),
    page_100_bare_per_s: Math.round(barePage.perSecond),
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

type Kind = 'latest' | 'full' | 'plain' | 'walk' | 'bare' | 'bareBody' | 'barePage' | 'fastify'

// Warms all kinds up and then measures them in turns.
async function loadByTurns(
  loader: Loader,
  jobs: Readonly<Record<Kind, LoadJob>>,
): Promise<Record<Kind, LoadResult>> {
  const lanes = Object.entries(jobs).map(([kind, job]) => ({
    kind,
    job,
    turns: [] as LoadResult[],
  }))
  for (const { job } of lanes) await loader.run({ ...job, seconds: WARM_UP_SECONDS })
  for (let turn = 0; turn < SECONDS / TURN_SECONDS; turn++) {
    for (const { job, turns } of lanes) {
      turns.push(await loader.run({ ...job, seconds: TURN_SECONDS }))
    }
  }
  const results = lanes.map(({ kind, turns }) => [kind, joinTurns(turns)] as const)
  return Object.fromEntries(results) as Record<Kind, LoadResult>
}

// While bare servers, a process per core each, send the same answers.
async function besideBare<T>(
  folder: string,
  answers: Omit<BareAnswers, 'server' | 'port'>,
  work: () => Promise<T>,
): Promise<T> {
  const kinds = [
    { server: 'node', port: BARE_PORT },
    { server: 'fastify', port: FASTIFY_PORT },
  ] as const
  const servers = kinds.flatMap((kind) => {
    const file = join(folder, `bare-${kind.server}.json`)
    writeFileSync(file, JSON.stringify({ ...answers, ...kind }))
    return Array.from({ length: availableParallelism() }, () => start(BARE, [file]))
  })
  try {
    await Promise.all(servers.map(firstLine))
    return await work()
  } finally {
    await Promise.all(servers.map(stopChild))
  }
}

// One answer as it goes over the wire; what Node writes itself is left to it.
async function readAnswer(
  path: string,
  key: string,
): Promise<Pick<BareAnswers, 'headers' | 'body'>> {
  const answer = await fetch(`http://127.0.0.1:${PORT}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
  })
  const headers = Object.fromEntries(answer.headers)
  for (const name of ['connection', 'keep-alive', 'date', 'content-length']) delete headers[name]
  return { headers, body: await answer.text() }
}

function joinTurns(turns: readonly LoadResult[]): LoadResult {
  const mean = (pick: (turn: LoadResult) => number): number =>
    turns.reduce((sum, turn) => sum + pick(turn), 0) / turns.length
  return {
    perSecond: mean(({ perSecond }) => perSecond),
    p50Ms: mean(({ p50Ms }) => p50Ms),
    p99Ms: mean(({ p99Ms }) => p99Ms),
    bytes: mean(({ bytes }) => bytes),
    statuses: Object.assign({}, ...turns.map(({ statuses }) => statuses)) as LoadResult['statuses'],
  }
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
  return spawn(process.execPath, [...process.execArgv, file, ...args], {
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
