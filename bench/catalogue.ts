import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { VENUE_IDS, VENUES } from '@priorbook/sdk/domain'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { describeCatalogue, writeCatalogue, type Catalogue } from './lib/catalogue.ts'
import { compareCatalogues, writeCatalogueFast } from './lib/catalogue-bulk.ts'
import { familyRssMb, stopChild } from './lib/child.ts'
import { withScratch } from './lib/scratch.ts'
import { percentile } from './lib/measure.ts'

const SERVER = fileURLToPath(
  new URL('../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const MARKETS = Number(process.env['BENCH_MARKETS'] ?? 1_000_000)
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? 1000)
// The routes that are asked, by their names; all of them by default.
const ROUTES = process.env['BENCH_ROUTES']?.split(',')
// Markets that are written in both ways and compared.
const SAMPLE = 1500
const PORT = 18_793
const URL_BASE = `http://127.0.0.1:${PORT}`
// The venue whose markets have one book for each of two outcomes.
const VENUE = VENUE_IDS.find(
  (venue) => VENUES[venue].booksPer !== 'market' && VENUES[venue].hasTrades,
)!

/**
 * `npm run bench -- catalogue`: a million markets with two million books, and the routes that must not
 * read them all. BENCH_MARKETS changes the number of markets; BENCH_FOLDER keeps them for the next run.
 */
export function benchCatalogue(): Promise<Record<string, unknown>> {
  const kept = process.env['BENCH_FOLDER']
  return kept === undefined ? withScratch(run) : run(kept)
}

async function run(folder: string): Promise<Record<string, unknown>> {
  const file = join(folder, 'tape.db')
  const begun = performance.now()
  if (!existsSync(file)) {
    await requireSame(folder)
    await writeCatalogueFast(file, VENUE, MARKETS, (done) => {
      if (done % 50_000 === 0) console.error(`${done} markets`)
    })
  }
  const written = (performance.now() - begun) / 1000
  const writerSeconds = await openForWriting(file)
  const key = await createKey(folder)
  const started = performance.now()
  const server = start(folder)
  try {
    await reachable(key)
    const startSeconds = (performance.now() - started) / 1000
    const times = await measure(describeCatalogue(VENUE, MARKETS), key)
    return {
      markets: MARKETS,
      instruments: MARKETS * 2,
      write_s: round(written),
      file_mb: round(statSync(file).size / 1e6),
      writer_open_s: round(writerSeconds),
      start_s: round(startSeconds),
      ...times,
      rss_mb: round(familyRssMb(server)),
    }
  } finally {
    await stopChild(server)
  }
}

// The fast way to write the tape gives what the store's own writer gives.
async function requireSame(folder: string): Promise<void> {
  const [own, fast] = [join(folder, 'own.db'), join(folder, 'fast.db')]
  await writeCatalogue(own, VENUE, SAMPLE, () => undefined)
  await writeCatalogueFast(fast, VENUE, SAMPLE, () => undefined)
  compareCatalogues(own, fast)
  for (const file of [own, fast]) rmSync(file)
}

// What a recorder waits for before it starts.
async function openForWriting(file: string): Promise<number> {
  const begun = performance.now()
  await openEmbeddedStore({ file }).close()
  return (performance.now() - begun) / 1000
}

async function measure(
  { end, series, events, markets, contracts }: Catalogue,
  key: string,
): Promise<Record<string, number>> {
  const at = <T>(list: readonly T[], index: number): T => list[index % list.length]!
  const list = (query: (index: number) => string) => (index: number) =>
    `/v3/markets?limit=50&${query(index)}`
  const from = (index: number): number => end - Math.round((MARKETS * 1e6 * (index % 97)) / 97)
  const statuses = ['open', 'closed', 'resolved']
  const categories = ['crypto', 'Politics', 'SPORTS']
  const tags = ['Rounds', 'hundred 7', 'Hundred 42', 'rare 4711']
  const eventSorts = ['open_time', 'close_time']
  const sorted = (sort: string, order: string) =>
    list((index) => `sort=${sort}&order=${order}&status=${at(statuses, index)}`)
  const routes: Record<string, (index: number) => string> = {
    // Reads nothing of the catalogue: what the machine and the client add to every figure.
    whoami: () => '/v3/whoami',
    status: () => '/v3/status',
    coverage: () => '/v3/coverage',
    coverage_days: (index) =>
      `/v3/coverage/days?venue=${VENUE}&start_time=${end - 30 * 86_400e6 - index}&end_time=${end}`,
    coverage_market: (index) => `/v3/coverage?market=${at(markets, index)}`,
    gaps: (index) => `/v3/gaps?venue=${VENUE}&start_time=${from(index)}&limit=50`,
    gaps_reason: (index) => `/v3/gaps?reason=disconnected&start_time=${from(index)}&limit=50`,
    list: list((index) => `order=${at(['asc', 'desc'], index)}`),
    list_venue: list((index) => `venue=${VENUE}&order=${at(['asc', 'desc'], index)}`),
    list_status: list((index) => `status=${at(statuses, index)}`),
    list_asset: list((index) => `asset=${at(['btc', 'eth', 'sol'], index)}&order=desc`),
    list_window: list((index) => `window=${at(['5m', '15m', '1h'], index)}`),
    list_series: list((index) => `series=${at(series, index)}&status=${at(statuses, index)}`),
    list_range: list((index) => `start_time=${from(index)}&end_time=${from(index) + 3600e6}`),
    list_from: list((index) => `start_time=${from(index)}`),
    list_event: (index) =>
      `${VENUES[VENUE].paths.markets.replace('{asset}', 'btc')}?event=${at(events, index)}`,
    list_category: list(
      (index) => `category=${at(categories, index)}&status=${at(statuses, index)}`,
    ),
    list_tag: list((index) => `tag=${at(tags, index)}&order=${at(['asc', 'desc'], index)}`),
    list_tag_range: list(
      (index) =>
        `tag=${at(tags, index)}&start_time=${from(index)}&end_time=${from(index) + 86_400e6}`,
    ),
    list_tag_search: list((index) => `tag=rounds&q=${at(['btc up', 'eth'], index)}&status=open`),
    list_tag_volume: list((index) => `tag=${at(tags, index)}&sort=volume&order=desc`),
    list_labels: list(
      (index) => `tag=${at(tags, index)}&category=${at(categories, index)}&sort=close_time`,
    ),
    events: (index) => `/v3/events?limit=50&order=${at(['asc', 'desc'], index)}`,
    events_open: (index) => `/v3/events?limit=50&status=open&sort=${at(eventSorts, index)}`,
    events_category: (index) => `/v3/events?limit=50&category=${at(categories, index)}`,
    events_tag: (index) =>
      `/v3/events?limit=50&tag=${at(tags, index)}&sort=${at(eventSorts, index)}`,
    events_series: (index) => `/v3/events?limit=50&series=${at(series, index)}&order=desc`,
    events_search: (index) =>
      `/v3/events?limit=50&q=${at(['btc in', 'rounds from 8', 'eth'], index)}`,
    event: (index) => `/v3/events/${at(events, index)}`,
    categories: () => '/v3/categories',
    search_rare: list((index) => `q=round ${Math.floor((MARKETS * (index % 97)) / 97)}`),
    search_prefix: list((index) => `q=round ${index}`),
    search_id: list((index) => `q=${at(markets, index)}`),
    search_frequent: list((index) => `q=${at(['btc up', 'eth', 'or down'], index)}&order=desc`),
    search_sorted: list((index) => `q=${at(['btc', 'eth'], index)}&sort=volume&order=desc`),
    search_open: list((index) => `q=${at(['btc', 'eth'], index)}&status=open`),
    contracts: (index) =>
      `/v3/contracts?limit=50&members=1&asset=${at(['btc', 'eth', 'sol'], index)}&end_time=${from(index)}`,
    // No other venue is in the catalogue, so that nothing matches.
    contracts_none: (index) => `/v3/contracts?limit=50&window=15m&end_time=${from(index)}`,
    contract: (index) => `/v3/contracts/${at(contracts, index)}`,
    search_nothing: list((index) => `q=no such market ${index}`),
    list_native: list((index) => `include=native&order=${at(['asc', 'desc'], index)}`),
    sort_close_asc: sorted('close_time', 'asc'),
    sort_close_desc: sorted('close_time', 'desc'),
    sort_volume_asc: sorted('volume', 'asc'),
    sort_volume_desc: sorted('volume', 'desc'),
    sort_liquidity_asc: sorted('liquidity', 'asc'),
    sort_liquidity_desc: sorted('liquidity', 'desc'),
    sort_volume_range: list(
      (index) => `sort=volume&order=desc&start_time=${from(index)}&end_time=${from(index) + 600e6}`,
    ),
  }
  const figures: Record<string, number> = {}
  const health = besideHealth(key)
  for (const [name, path] of Object.entries(routes)) {
    if (ROUTES !== undefined && !ROUTES.includes(name)) continue
    for (let index = 0; index < 20; index++) await ask(path(index + 1000), key)
    const times: number[] = []
    for (let index = 0; index < REQUESTS; index++) times.push(await ask(path(index), key))
    const [p50, p99] = [0.5, 0.99].map((share) => round(percentile(times, share)))
    figures[`${name}_p99_ms`] = p99!
    console.error(`${name} p50 ${p50} p99 ${p99} ms`)
  }
  return { ...figures, health_p99_ms: round(percentile(await health.stop(), 0.99)) }
}

// Asks for the health all the time, as a load balancer would, and times it.
function besideHealth(key: string): { stop(): Promise<readonly number[]> } {
  const times: number[] = []
  const end = new AbortController()
  const done = (async () => {
    for (; !end.signal.aborted; await new Promise((resolve) => setTimeout(resolve, 5))) {
      times.push(await ask('/v3/health', key))
    }
  })().catch((error: unknown) => console.error(error))
  return {
    async stop() {
      end.abort()
      await done
      return times
    },
  }
}

async function ask(path: string, key: string): Promise<number> {
  const begun = performance.now()
  const answer = await fetch(URL_BASE + path, { headers: { authorization: `Bearer ${key}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
  return performance.now() - begun
}

async function createKey(folder: string): Promise<string> {
  const args = [SERVER, 'keys', 'create', '--plan', 'unlimited', '--data', folder, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, ...args])
  return (JSON.parse(stdout.split('\n')[0]!) as { key: string }).key
}

function start(folder: string): ChildProcess {
  const args = ['serve', '--data', folder, '--upstream', 'none', '--role', 'api']
  const ports = ['--port', String(PORT), '--ops-port', '0']
  return spawn(process.execPath, [...process.execArgv, SERVER, ...args, ...ports], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { ...process.env, PRIORBOOK_LOG_LEVEL: 'warn' },
  })
}

async function reachable(key: string): Promise<void> {
  for (let attempt = 0; attempt < 2000; attempt++) {
    try {
      await ask('/v3/whoami', key)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
  throw new Error('the server does not answer')
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
