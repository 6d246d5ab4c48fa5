import { spawn, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { importRecordings } from '../packages/service/src/recorder/import.ts'
import { findRecordings } from '../packages/service/src/recorder/recording.ts'
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
// Ours and the bare route take turns of this length, so that both meet the same moments of the machine.
const TURN_SECONDS = 2
const CONNECTIONS = 16
// Small pages a second at which the waiting times are measured.
const RATE = 100
const PORT = 18_790
const BARE_PORT = 18_791

/**
 * The REST interface over loopback: load from a process of its own, random markets and positions, no
 * cache of rendered pages; beside it fastify alone with the same answers from memory.
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
  const latestJob = on(
    PORT,
    many(() => get(`/v3/venueb/${random.pick(markets).ticker}/orderbook/latest`)),
  )
  const full = await loadWarm(loader, on(PORT, many(page('include_orderbook=true'))))
  const answers = {
    ...(await readAnswer(`/v3/venueb/${markets[0]!.ticker}/orderbook/latest`, key)),
    port: BARE_PORT,
    pageBytes: Math.round(full.bytes),
  }
  const beside = await loadBeside(loader, latestJob, answers, join(folder, 'bare.json'))
  const { latest, bare, bareBody, barePage } = beside
  const plain = await loadWarm(loader, on(PORT, many(page('include_orderbook=false'))))
  const walk = await loadWarm(loader, on(PORT, await walkRequests(markets, key, get)))
  const small = (): LoadJob => ({
    ...on(PORT, many(page('include_orderbook=true')), 4),
    rate: RATE,
  })
  const idle = await loader.run(small())
  const bulk = await readBulk(markets[0]!.ticker, key)
  const busy = await besides(folder, () =>
    Promise.all([loader.run(small()), readBulk(markets[0]!.ticker, key)]),
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
    latest_bare_per_s: Math.round(bare.perSecond),
    latest_ratio: round(latest.perSecond / bare.perSecond),
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

type Beside = Readonly<Record<'latest' | 'bare' | 'bareBody' | 'barePage', LoadResult>>

// Newest books and, turn by turn, fastify alone with the same bytes, and with the same body.
async function loadBeside(
  loader: Loader,
  ours: LoadJob,
  answers: BareAnswers,
  file: string,
): Promise<Beside> {
  writeFileSync(file, JSON.stringify(answers))
  const servers = Array.from({ length: availableParallelism() }, () => start(BARE, [file]))
  try {
    await Promise.all(servers.map(firstLine))
    // The same request but for the address.
    const head = ours.requests[0]!.slice(ours.requests[0]!.indexOf(' HTTP/1.1'))
    const bare = (path: string): LoadJob => ({
      ...ours,
      port: answers.port,
      requests: [`GET ${path}${head}`],
    })
    const jobs = [ours, bare('/latest'), bare('/latest-body')]
    for (const job of jobs) await loader.run({ ...job, seconds: WARM_UP_SECONDS })
    const turns = jobs.map((): LoadResult[] => [])
    for (let turn = 0; turn < SECONDS / TURN_SECONDS; turn++) {
      for (const [index, job] of jobs.entries()) {
        turns[index]!.push(await loader.run({ ...job, seconds: TURN_SECONDS }))
      }
    }
    const [latest, whole, body] = turns.map(joinTurns)
    const barePage = await loadWarm(loader, bare('/page'))
    return { latest: latest!, bare: whole!, bareBody: body!, barePage }
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

// Servers need some thousand requests of a kind until their code is compiled.
async function loadWarm(loader: Loader, job: LoadJob): Promise<LoadResult> {
  await loader.run({ ...job, seconds: WARM_UP_SECONDS })
  return loader.run(job)
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
