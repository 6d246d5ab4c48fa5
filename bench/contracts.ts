import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { familyRssMb, firstLine, stopChild } from './lib/child.ts'
import { CONTRACT_ID, ROUND, writeRound } from './lib/contract-round.ts'
import { Loader } from './lib/loader.ts'
import { percentile } from './lib/measure.ts'
import { createRandom } from './lib/random.ts'
import { withScratch } from './lib/scratch.ts'
import { measureSecondCore } from './lib/second-core.ts'

const SERVER = fileURLToPath(
  new URL('../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const PORT = 18_794
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const WARM_UP_SECONDS = 12
const CONNECTIONS = 16
const REQUESTS = 4000
const WALKS = 60
const BASE = `/v3/contracts/${CONTRACT_ID}`

/**
 * `npm run bench -- contracts`: a round of 15 minutes at three venues, over loopback. Books of all venues
 * merged at random instants, rows of one second for the whole round, and its spreads.
 */
export function benchContracts(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const rows = await writeRound(join(folder, 'tape.db'))
    const key = await createKey(folder)
    const secondCore = await measureSecondCore()
    const args = ['--data', folder, '--upstream', 'none', '--role', 'api']
    const server = start(['serve', ...args, '--port', String(PORT), '--ops-port', '0'])
    const loader = new Loader()
    try {
      await reachable(key)
      const consolidated = await measureConsolidated(loader, key)
      const snapshots = await measureWalks(`${BASE}/snapshots?interval=1s&limit=1000`, key, 900)
      const spreads = await measureWalks(`${BASE}/spreads?limit=1000`, key)
      return {
        rows,
        ...consolidated,
        snapshots_900_p50_ms: snapshots.p50,
        snapshots_900_p99_ms: snapshots.p99,
        spreads_p50_ms: spreads.p50,
        spreads_found: spreads.rows,
        rss_mb: round(familyRssMb(server)),
        second_core: round(secondCore),
      }
    } finally {
      await loader.stop()
      await stopChild(server)
    }
  })
}

async function measureConsolidated(loader: Loader, key: string): Promise<Record<string, number>> {
  const random = createRandom(11)
  const requests = Array.from({ length: REQUESTS }, () => {
    const at = random.integer(ROUND.opens + 5_000_000, ROUND.closes - 1)
    return `GET ${BASE}/consolidated?at=${at}&side=buy&size=100 HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`
  })
  const job = { host: '127.0.0.1', port: PORT, requests, connections: CONNECTIONS }
  await loader.run({ ...job, seconds: WARM_UP_SECONDS })
  const { perSecond, p50Ms, p99Ms, bytes, statuses } = await loader.run({
    ...job,
    seconds: SECONDS,
  })
  if (Object.keys(statuses).join() !== '200') throw new Error(JSON.stringify(statuses))
  return {
    consolidated_per_s: Math.round(perSecond),
    consolidated_p50_ms: round(p50Ms),
    consolidated_p99_ms: round(p99Ms),
    consolidated_bytes: Math.round(bytes),
  }
}

async function measureWalks(path: string, key: string, wanted?: number) {
  const times: number[] = []
  let rows = 0
  for (let walk = 0; walk < WALKS; walk++) {
    const begun = performance.now()
    const answer = await fetch(`http://127.0.0.1:${PORT}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const text = await answer.text()
    // The first ones are still being compiled.
    if (walk >= WALKS / 3) times.push(performance.now() - begun)
    rows = (JSON.parse(text) as { data: unknown[] }).data.length
    if (wanted !== undefined && rows !== wanted) throw new Error(`${rows} rows, not ${wanted}`)
  }
  return { p50: round(percentile(times, 0.5)), p99: round(percentile(times, 0.99)), rows }
}

async function createKey(folder: string): Promise<string> {
  const child = start(['keys', 'create', '--plan', 'unlimited', '--data', folder, '--json'])
  return (JSON.parse(await firstLine(child)) as { key: string }).key
}

async function reachable(key: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    try {
      const headers = { authorization: `Bearer ${key}` }
      const answer = await fetch(`http://127.0.0.1:${PORT}/v3/whoami`, { headers })
      if (answer.status === 200) return
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the server does not answer')
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...process.execArgv, SERVER, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PRIORBOOK_LOG_LEVEL: 'warn' },
  })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
