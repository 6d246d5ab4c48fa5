import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readTruth } from '../../packages/emulator/src/core/truth.ts'
import type { MemberStatus } from '../../packages/service/src/cluster/member.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { compareStores } from '../../packages/service/src/derive/rebuild.ts'
import { countOf } from '../capture/emulated-home.ts'
import {
  startRecorderProcess,
  toLiveEnvironment,
  until,
  type RecorderProcess,
} from '../capture/recorder-process.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { startEmulatorProcess, type EmulatorProcess } from './emulator-process.ts'
import { startPostgres, type PostgresCluster } from './postgres.ts'
import { checkShared, gatherShared } from './shared-truth.ts'
import { untilSame } from './until-same.ts'

const PATIENCE_MS = 60_000
const ROUNDS_MS = 3_600_000
const OVERLAP_MS = 12_000
const LOG = 'truth.ndjson'

let server: PostgresCluster
let emulator: EmulatorProcess
let home: string
let address: string
const recorders = new Map<string, RecorderProcess>()
const nodes: ServiceProcess[] = []
let key: string
// Who writes, and who stands by.
let [writer, other] = ['r1', 'r2']

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'priorbook-nodes-'))
  server = await startPostgres(2)
  address = await server.createDatabase('tape')
  const rates = { changes: 20, trades: 2, pauses: 0 }
  const log = { file: join(home, LOG), texts: 'full' } as const
  emulator = await startEmulatorProcess({ seed: 81, log, rates })
  await startRecorder('r1')
  await startRecorder('r2')
  for (let at = 0; at < 2; at++) {
    const args = ['--role', 'api', '--store', address, '--upstream', 'none', '--workers', '1']
    const node = await createService(args)
    nodes.push(node)
    await node.start()
  }
  // A key of one node is a key of all.
  key = nodes[0]!.keyOf('unlimited')
  await pause(2_500)
})

afterAll(async () => {
  for (const recorder of recorders.values()) await recorder.end('SIGKILL')
  for (const node of nodes) await node.destroy()
  await emulator?.close()
  await server?.stop()
  rmSync(home, { recursive: true, force: true })
})

async function startRecorder(name: string): Promise<void> {
  const folder = join(home, name)
  const env = { ...toLiveEnvironment(emulator.addresses, folder), PRIORBOOK_STORE: address }
  const more = ['--role', 'capture', '--recorder', name]
  const started = startRecorderProcess(folder, env, more)
  recorders.set(name, await started)
}

async function shared(name: string): Promise<MemberStatus> {
  return (await recorders.get(name)!.status()).shared!
}

async function untilWriter(name: string): Promise<void> {
  await until(`${name} as the writer`, PATIENCE_MS, async () =>
    (await shared(name)).part === 'writer' ? true : undefined,
  )
}

/**
 * Waits until a recorder that stands by has had every book of venue B for a while that the writer has. Nothing proves
 * where a book goes on that one of them opened within the last seconds.
 */
async function untilBeside(name: string): Promise<void> {
  const booksOf = async (recorder: string): Promise<number> =>
    (await recorders.get(recorder)!.status()).recorder?.venues['venueb']?.books.open ?? 0
  const bothHave = async (): Promise<number | undefined> => {
    const [own, others] = [await booksOf(name), await booksOf(writer)]
    return own > 0 && own === others ? own : undefined
  }
  await until(`${name} beside the writer`, PATIENCE_MS, async () => {
    const before = await bothHave()
    if (before === undefined) return undefined
    // Further back than rows are compared.
    await pause(OVERLAP_MS)
    return (await bothHave()) === before ? true : undefined
  })
}

/** How many books a recorder that took over goes on with, by venue. */
async function joinedBy(name: string): Promise<string> {
  const { logs } = recorders.get(name)!
  const told = await until('a takeover', PATIENCE_MS, async () => {
    const found = logs.filter(({ msg }) => msg === 'takes over').slice(-3)
    return found.length === 3 ? found : undefined
  })
  return told.map(({ venue, books }) => `${String(venue)} ${String(books)} books`).join(', ')
}

/** Waits until a recorder has sent everything, and gives its last commit. */
async function untilSent(name: string): Promise<number> {
  return until('commits that are sent', PATIENCE_MS, async () => {
    const { last, sent } = await shared(name)
    return last !== undefined && sent === last ? last : undefined
  })
}

type Page = {
  readonly data: readonly { readonly id: string }[]
  readonly meta: { readonly receipt?: object }
  readonly pagination: { readonly next_cursor: string | null }
}

async function get<T>(node: ServiceProcess, path: string): Promise<T> {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`${node.url}${path}`, { headers })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
  return JSON.parse(text) as T
}

/** Walks a market, each page from the next of these nodes; returns the rows and the last page. */
async function walk(
  over: readonly ServiceProcess[],
  path: string,
): Promise<{ ids: string[]; end: Page }> {
  const ids: string[] = []
  let cursor: string | null = null
  for (let page = 0; ; page++) {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const answer: Page = await get<Page>(over[page % over.length]!, `${path}&limit=50${more}`)
    ids.push(...answer.data.map(({ id }) => id))
    cursor = answer.pagination.next_cursor
    if (cursor === null) return { ids, end: answer }
  }
}

const rowsOf = async (node: ServiceProcess): Promise<number> => {
  const store = openEmbeddedStore({ file: join(node.data, 'tape.db'), readOnly: true })
  try {
    let rows = 0
    for (const { lastSequence } of await store.instruments()) rows += lastSequence
    return rows
  } finally {
    await store.close()
  }
}

test('one recorder writes, another stands by, and every node serves the same rows', async () => {
  await untilWriter('r1')
  expect((await shared('r2')).part).toBe('standby')
  await pause(4_000)
  const { data } = await get<{ data: readonly { market_id: string }[] }>(
    nodes[0]!,
    '/v3/markets?venue=venueb&status=open&limit=1',
  )
  const [path, alone] = await until('pages of a market', PATIENCE_MS, async () => {
    const end = new Date(Date.now() - 1500).toISOString()
    const asked = `/v3/venueb/${data[0]!.market_id}/snapshots?end_time=${end}`
    const walked = await walk([nodes[0]!], asked)
    return walked.ids.length > 60 ? ([asked, walked] as const) : undefined
  })
  const hopping = await walk(nodes, path)
  expect(hopping.ids).toEqual(alone.ids)
  expect(hopping.end.meta.receipt).toEqual(alone.end.meta.receipt)
})

test('while the database is away recording goes on, and nothing is missing after a failover', async () => {
  const { last: before } = await shared('r1')
  await server.nodes[0]!.kill()
  await pause(2_000)
  const { last, sent } = await until('commits that wait', PATIENCE_MS, async () => {
    const status = await shared('r1')
    const isTold = /database/.test(status.trouble ?? '')
    return isTold && status.last! - before! > 5 ? status : undefined
  })
  expect(sent).toBeLessThan(last!)
  const promoted = performance.now()
  await server.promote(server.nodes[1]!)
  // Commits of the new primary wait for a standby.
  await server.nodes[2]!.clone()
  const reached = await untilSent('r1')
  console.log(`sent again ${Math.round(performance.now() - promoted)} ms after the promotion`)
  expect(reached).toBeGreaterThanOrEqual(last!)
  await server.nodes[0]!.clone()
  expect((await shared('r1')).part).toBe('writer')
})

test('every recorder shows its operators who holds the lease, and who is ready to go on', async () => {
  for (const name of ['r1', 'r2']) {
    const page = await until('a recorder that is ready', PATIENCE_MS, async () => {
      const found = await recorders.get(name)!.read('/')
      return found.includes('<td>stands by</td>') ? found : undefined
    })
    expect(page).toMatch(
      /<td>r1@[^<]+<\/td><td>writes the tape<\/td><td>epoch \d+, for [\d.]+ s more/,
    )
    expect(page).toMatch(/<td>r2@[^<]+<\/td><td>stands by<\/td><td>ready for [^<]*venueb/)
  }
  expect((await shared('r1')).part).toBe('writer')
})

test('a recorder that stands by stops in order', async () => {
  expect(await recorders.get('r2')!.end('SIGTERM')).toBe(0)
  await startRecorder('r2')
  expect((await shared('r1')).part).toBe('writer')
})

test(
  'another recorder takes over from one that was killed',
  async () => {
    for (let round = 0; round < countOf(20, 1); round++) {
      await untilBeside(other)
      await recorders.get(writer)!.end('SIGKILL')
      const killed = performance.now()
      await untilWriter(other)
      const ms = Math.round(performance.now() - killed)
      console.log(`taken over after ${ms} ms: ${await joinedBy(other)}`)
      await startRecorder(writer)
      expect((await shared(writer)).part).toBe('standby')
      ;[writer, other] = [other, writer]
      const rows = await rowsOf(nodes[0]!)
      await until('rows of the new writer', PATIENCE_MS, async () =>
        (await rowsOf(nodes[0]!)) > rows + 50 ? true : undefined,
      )
    }
  },
  ROUNDS_MS,
)

test('no book of venue B has a gap after that', async () => {
  expect(await downOf('venueb')).toEqual([])
  console.log(
    `gaps of other venues: ${(await downOf('venuea')).length} and ${(await downOf('venuec')).length}`,
  )
})

/** The gaps of the time without a recorder. */
async function downOf(venue: string): Promise<readonly object[]> {
  const path = `/v3/gaps?venue=${venue}&reason=recorder_down&limit=1000`
  return (await get<{ data: readonly object[] }>(nodes[0]!, path)).data
}

test('a writer that was paused and wakes up is refused, and stands by', async () => {
  await untilBeside(other)
  const { pid } = recorders.get(writer)!
  process.kill(pid, 'SIGSTOP')
  try {
    await untilWriter(other)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await until('the paused one to stand by', PATIENCE_MS, async () => {
    const status = await shared(writer).catch(() => undefined)
    return status?.part === 'standby' ? true : undefined
  })
  expect((await shared(other)).part).toBe('writer')
  const told = recorders.get(writer)!.logs.map(({ msg }) => msg)
  expect(told).toContain('this recorder is not the writer any more')
  expect(await downOf('venueb')).toEqual([])
  ;[writer, other] = [other, writer]
})

test('a node that was killed goes on where it was', async () => {
  const [node] = nodes as [ServiceProcess]
  await node.kill()
  await pause(500)
  await node.start()
  const rows = await rowsOf(node)
  const newer = await until('newer rows', PATIENCE_MS, async () => {
    const now = await rowsOf(node)
    return now > rows ? now : undefined
  })
  expect(newer).toBeGreaterThan(rows)
})

test('a writer that stops in order hands over without a gap', async () => {
  await untilBeside(other)
  expect(await recorders.get(writer)!.end('SIGTERM')).toBe(0)
  await untilWriter(other)
  const rows = await rowsOf(nodes[0]!)
  await until('rows of the new writer', PATIENCE_MS, async () =>
    (await rowsOf(nodes[0]!)) > rows + 50 ? true : undefined,
  )
  expect(await downOf('venueb')).toEqual([])
})

test('in the end every copy is the tape of the writer, exact by the log of the venues', async () => {
  const stopped = Date.now() * 1000
  expect(await recorders.get(other)!.end('SIGTERM')).toBe(0)
  const file = join(home, other, 'data/tape.db')
  await untilSame(
    file,
    nodes.map((node) => join(node.data, 'tape.db')),
  )
  for (const node of nodes) await node.stop()
  await emulator.close()
  const truth = await gatherShared(readTruth(join(home, LOG)))
  const written = openEmbeddedStore({ file, readOnly: true })
  for (const node of nodes) {
    const copy = openEmbeddedStore({ file: join(node.data, 'tape.db'), readOnly: true })
    expect((await copy.verify()).problems).toEqual([])
    const { differences } = await compareStores(written, copy)
    expect(differences).toEqual([])
    const verdict = await checkShared(truth, copy, stopped - 500_000)
    expect(verdict.complaints.slice(0, 20)).toEqual([])
    const { rows, changes, trades, gaps } = verdict
    expect(changes).toBeGreaterThan(3_000)
    console.log(`${rows} rows, ${changes} changes, ${trades} trades, gaps ${JSON.stringify(gaps)}`)
    await copy.close()
  }
  await written.close()
})
