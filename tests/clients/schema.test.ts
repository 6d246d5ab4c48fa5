import { spawn, type ChildProcess } from 'node:child_process'
import { hash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isFullRun } from '../../packages/sdk/src/domain/run-counts.testing.ts'
import { openAlerts } from '../../packages/service/src/alerts/alert-worker.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { after, writeContract } from '../api/contracts-tape.ts'
import { writeEvents } from '../api/events-tape.ts'
import { writeReferences } from '../api/reference-tape.ts'
import { install, type Installed } from './install.ts'
import { offerRealValues, type Document, type RealValues } from './real-values.ts'

// Requests of each operation, and what all of them come to at least. The phase `coverage` makes one for each limit of each
// parameter: some hundred an operation.
const RUN = isFullRun
  ? { phases: 'examples,coverage,fuzzing', examples: 30, cases: 10_000, patienceMs: 7_200_000 }
  : { phases: 'examples,fuzzing', examples: 3, cases: 300, patienceMs: 1_800_000 }

// What the schema does not allow is refused with any 4xx, 414 included.
const CONFIG = `hooks = "schema_hooks.py"
[checks]
negative_data_rejection.expected-statuses = ["4xx"]
`

const OPTIONS = [
  '--phases',
  RUN.phases,
  '--max-examples',
  String(RUN.examples),
  // The same requests in every run: no seed, and no database of examples.
  '--generation-deterministic',
  '--workers',
  '1',
  '--continue-on-failure',
  '--no-shrink',
  '--warnings',
  'off',
  '--no-color',
]

const TIMES = [
  '2026-08-05T12:01:00Z',
  '2026-08-09T12:05:00Z',
  '2026-11-17T17:30:20Z',
  '2026-11-17T17:31:00Z',
]

let installed: Installed
let served: Served
let running: ChildProcess | undefined

beforeAll(async () => {
  installed = await install({ pip: ['schemathesis==4.32.5'], npm: [] })
  writeFileSync(join(installed.folder, 'schemathesis.toml'), CONFIG)
  copyFileSync(
    join(import.meta.dirname, 'schema_hooks.py'),
    join(installed.folder, 'schema_hooks.py'),
  )
  served = await serve()
}, 900_000)

afterAll(async () => {
  running?.kill()
  await served?.close()
  installed?.remove()
})

it(
  'schemathesis finds nothing, over all routes, with ids that exist',
  async () => {
    const document = (await served.get('/v3/openapi.json')) as Document
    offerRealValues(document, await readRealValues(served))
    writeFileSync(join(installed.folder, 'openapi.json'), JSON.stringify(document))
    const key = `Authorization: Bearer ${served.key}`
    served.statuses.length = 0
    const args = ['run', 'openapi.json', '--url', served.url, '--header', key, ...OPTIONS]
    const { code, text } = await schemathesis(args)

    const [, cases = '0'] = /(\d+) generated/.exec(text) ?? []
    const found = served.statuses.filter((status) => status === 200).length
    expect([code, code === 0 ? '' : text.slice(-20_000)]).toEqual([0, ''])
    const sent = hash('sha256', readFileSync(join(installed.folder, 'sent.txt'))).slice(0, 16)
    console.log(
      `schemathesis: ${cases} cases; of ${served.statuses.length} requests (${sent}) ${found} found data`,
    )
    expect(Number(cases)).toBeGreaterThanOrEqual(RUN.cases)
    expect(served.statuses.length).toBeGreaterThanOrEqual(RUN.cases)
    expect(found).toBeGreaterThan(RUN.cases / 10)
    expect(served.statuses.filter((status) => status >= 500)).toEqual([])
  },
  RUN.patienceMs,
)

type Served = {
  readonly url: string
  readonly key: string
  /** Of every request, in the order of their ends. */
  readonly statuses: number[]
  get(path: string): Promise<unknown>
  close(): Promise<void>
}

/** Serves a round on three venues, events, reference prices, and alerts, of which none is sent. */
async function serve(): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-schema-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  await writeReferences(store)
  await writeEvents(store)
  await writeContract(furtherOn(store))
  const access = openAccess(folder)
  const now = () => after(120 + performance.now() / 1000)
  const delivery = { timeoutMs: 1000, retryMinMs: 1000, retryMaxMs: 1000, giveUpMs: 1000 }
  const file = join(folder, 'alerts.db')
  const alerts = openAlerts({ file, queue: 10, allowNetworks: [], ...delivery }, access, now)
  const statuses: number[] = []
  const log = {
    info: (fields: object) => void statuses.push((fields as { status: number }).status),
    warn: () => undefined,
    error: () => undefined,
  }
  const server = createApiServer({ store, access, now, alerts: alerts.rules, log })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'schema' })
  return {
    url,
    key,
    statuses,
    async get(path) {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
      return answer.json()
    },
    async close() {
      await server.close(500)
      await alerts.stop()
      access.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

// Two tapes have the same positions in the journal, and a store takes every position once.
function furtherOn(store: Store): Store {
  return {
    ...store,
    append: (batch) => store.append({ ...batch, position: batch.position + 10_000 }),
  }
}

async function readRealValues(from: Served): Promise<RealValues> {
  const list = async (path: string) =>
    ((await from.get(path)) as { data: Record<string, string>[] }).data
  const markets = Object.groupBy(await list('/v3/markets?limit=100'), ({ venue }) => venue!)
  const idsOf = (rows: Record<string, string>[], member: string) => rows.map((row) => row[member]!)
  return {
    markets: Object.fromEntries(
      Object.entries(markets).map(([venue, rows]) => [venue, idsOf(rows!, 'market_id')]),
    ),
    byName: {
      contract_id: idsOf(await list('/v3/contracts'), 'id'),
      event_id: [...new Set(idsOf(await list('/v3/events'), 'event_id'))],
      id: idsOf(await list('/v3/reference/btc?limit=3'), 'id'),
      asset: ['btc'],
      start_time: TIMES.slice(0, 3),
      end_time: TIMES.slice(1),
      at: TIMES,
      known_at: TIMES,
    },
  }
}

function schemathesis(args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(installed.python('schemathesis'), args, {
    cwd: installed.folder,
    // The order of sets follows the seed of hashes.
    env: { ...process.env, PYTHONHASHSEED: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running = child
  let text = ''
  child.stdout.on('data', (bytes) => (text += String(bytes)))
  child.stderr.on('data', (bytes) => (text += String(bytes)))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, text }))
  })
}
