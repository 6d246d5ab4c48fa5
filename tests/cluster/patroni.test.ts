import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmulator, type Emulator } from '../../packages/emulator/src/emulator.ts'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import { compareStores } from '../../packages/service/src/derive/rebuild.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { countOf } from '../capture/emulated-home.ts'
import {
  startRecorderProcess,
  toLiveEnvironment,
  until,
  type RecorderProcess,
} from '../capture/recorder-process.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { askInTurn } from './ask-in-turn.ts'
import { startBalancer } from './balancer.ts'
import { startPatroni, type PatroniCluster } from './patroni.ts'
import { checkShared, gatherShared } from './shared-truth.ts'
import { untilSame } from './until-same.ts'

const PATIENCE_MS = 120_000
const TEST_MS = 300_000

let database: PatroniCluster
let emulator: Emulator
let home: string
let recorder: RecorderProcess
const nodes: ServiceProcess[] = []
let balancer: Awaited<ReturnType<typeof startBalancer>>
let key: string
let live: LiveReader

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'priorbook-patroni-nodes-'))
  database = await startPatroni()
  const rates = { changes: 20, trades: 2, pauses: 0 }
  emulator = await startEmulator({ seed: 91, log: { memory: true, texts: 'full' }, rates })
  const env = toLiveEnvironment(emulator.addresses, join(home, 'r1'))
  const more = ['--role', 'capture', '--recorder', 'r1', '--store', database.address]
  recorder = await startRecorderProcess(join(home, 'r1'), env, more)
  for (let at = 0; at < 3; at++) {
    const args = ['--role', 'api', '--store', database.address, '--upstream', 'none']
    const node = await createService([...args, '--workers', '1'])
    nodes.push(node)
    await node.start()
  }
  balancer = await startBalancer(nodes)
  key = nodes[0]!.keyOf('unlimited')
  await pause(3_000)
  live = new LiveReader(`http://127.0.0.1:${balancer.port}`)
}, TEST_MS)

afterAll(async () => {
  await live?.end().catch(() => undefined)
  await recorder?.end('SIGKILL')
  for (const node of nodes) await node.destroy()
  balancer?.close()
  await emulator?.close()
  await database?.stop()
  rmSync(home, { recursive: true, force: true })
}, TEST_MS)

/** Reads the books of venue B over the stream, through whatever happens, with the SDK. */
class LiveReader {
  readonly counts: Record<string, number> = {}
  /** The longest time without a row, in milliseconds. */
  stallMs = 0
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  #rowMs = performance.now()

  constructor(url: string) {
    this.#running = this.#read(url)
  }

  /** The longest time without a row since the last call. */
  takeStall(): number {
    const stall = Math.max(this.stallMs, performance.now() - this.#rowMs)
    this.stallMs = 0
    return Math.round(stall)
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #read(url: string): Promise<void> {
    const client = createClient({ url, key })
    const { signal } = this.#stop
    for await (const message of client.live({ venue: 'venueb', mode: 'changes' }, { signal })) {
      const name = message.type === 'gap' ? `gap ${message.gap.reason}` : message.type
      this.counts[name] = (this.counts[name] ?? 0) + 1
      if (message.type !== 'update') continue
      const now = performance.now()
      this.stallMs = Math.max(this.stallMs, now - this.#rowMs)
      this.#rowMs = now
    }
  }
}

/** Waits until everything that was recorded by now is in the database. */
async function untilSent(): Promise<void> {
  const { last: now } = (await recorder.status()).shared!
  await until('commits that are sent', PATIENCE_MS, async () => {
    const { sent } = (await recorder.status()).shared!
    return sent !== undefined && sent >= now! ? true : undefined
  })
}

type Page = {
  readonly data: readonly { readonly id: string; readonly sequence: number }[]
  readonly meta: { readonly receipt?: { readonly rows: number } }
  readonly pagination: { readonly next_cursor: string | null }
}

/** Walks a book up to now, each page from another node; a node that is away is passed over. */
async function walk(): Promise<{ sequences: number[]; receipt: Page['meta']['receipt'] }> {
  const store = openEmbeddedStore({ file: join(nodes[0]!.data, 'tape.db'), readOnly: true })
  const books = await store.instruments('venueb')
  await store.close()
  const busiest = books.reduce((a, b) => (b.lastSequence > a.lastSequence ? b : a))
  const end = new Date(Date.now() - 3_000).toISOString()
  const path = `/v3/venueb/${busiest.instrument.market}/snapshots?limit=20&end_time=${end}`
  const sequences: number[] = []
  let cursor: string | null = null
  for (let page = 0; ; page++) {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const answer = await askInTurn<Page>(nodes, key, page, path + more)
    sequences.push(...answer.data.map(({ sequence }) => sequence))
    cursor = answer.pagination.next_cursor
    if (cursor === null) return { sequences, receipt: answer.meta.receipt }
    await pause(20)
  }
}

const TROUBLES: Record<string, () => Promise<void>> = {
  'the primary is killed': async () => {
    const primary = await database.untilHealthy(2)
    await primary.kill()
    await database.untilHealthy(0)
    primary.start()
  },
  'a standby is killed': async () => {
    const primary = await database.untilHealthy(2)
    const standby = database.members.find((member) => member !== primary)!
    await standby.kill()
    await pause(2_000)
    standby.start()
  },
  'the primary is killed and wiped': async () => {
    const primary = await database.untilHealthy(2)
    await primary.kill()
    primary.wipe()
    await database.untilHealthy(0)
    primary.start()
  },
  'the leader of etcd is killed': async () => {
    await database.untilHealthy(2)
    await database.killEtcdLeader(3_000)
  },
}

test.each(Object.keys(TROUBLES))(
  'nothing is lost when %s',
  async (name) => {
    for (let round = 0; round < countOf(20, 1); round++) {
      live.takeStall()
      const began = performance.now()
      await TROUBLES[name]!()
      await untilSent()
      const sentMs = Math.round(performance.now() - began)
      await database.untilHealthy(2)
      await pause(1_000)
      console.log(`${name}: sent again after ${sentMs} ms, live stood for ${live.takeStall()} ms`)
    }
    const primary = await database.primary()
    expect(primary).toBeDefined()
  },
  TEST_MS * 10,
)

test(
  'a walk that changes nodes at every page is whole while a node and the primary are killed',
  async () => {
    const primary = await database.untilHealthy(2)
    const walking = walk()
    await primary.kill()
    // The one that the client of the stream is connected to.
    await nodes[0]!.kill()
    await pause(500)
    await nodes[0]!.start()
    const { sequences, receipt } = await walking
    expect(sequences.length).toBeGreaterThan(500)
    expect(sequences).toEqual(sequences.map((_, at) => sequences[0]! + at))
    expect(receipt?.rows).toBe(sequences.length)
    console.log(`a walk of ${sequences.length} rows over three nodes`)
    primary.start()
    await database.untilHealthy(2)
    await untilSent()
  },
  TEST_MS,
)

test(
  'the client of the SDK saw no hole, and every copy is exact by the log of the venues',
  async () => {
    await pause(2_000)
    await live.end()
    console.log(`live: ${JSON.stringify(live.counts)}`)
    expect(live.counts['update']).toBeGreaterThan(3_000)
    expect(live.counts['welcome']).toBe(2)
    expect(live.counts['hole'] ?? 0).toBe(0)
    // Rounds begin and end every quarter of an hour; nothing else may be missing.
    const gaps = Object.keys(live.counts).filter((name) => name.startsWith('gap '))
    const usual = ['gap before_capture', 'gap late_discovery', 'gap market_closed']
    expect(gaps.filter((name) => !usual.includes(name))).toEqual([])
    const stopped = Date.now() * 1000
    expect(await recorder.end('SIGTERM')).toBe(0)
    const file = join(home, 'r1/data/tape.db')
    await untilSame(
      file,
      nodes.map((node) => join(node.data, 'tape.db')),
    )
    for (const node of nodes) await node.stop()
    await emulator.close()
    const truth = await gatherShared(emulator.truth.entries, { isAlone: true })
    const written = openEmbeddedStore({ file, readOnly: true })
    for (const node of nodes) {
      const copy = openEmbeddedStore({ file: join(node.data, 'tape.db'), readOnly: true })
      expect((await copy.verify()).problems).toEqual([])
      expect((await compareStores(written, copy)).differences).toEqual([])
      const verdict = await checkShared(truth, copy, stopped - 500_000)
      expect(verdict.complaints.slice(0, 20)).toEqual([])
      const { rows, changes, gaps } = verdict
      console.log(`${rows} rows, ${changes} changes, gaps ${JSON.stringify(gaps)}`)
      await copy.close()
    }
    await written.close()
  },
  TEST_MS,
)
