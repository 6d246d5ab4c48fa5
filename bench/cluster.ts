import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { copyToDatabase } from '../packages/service/src/cluster/copy-tape.ts'
import { Follower } from '../packages/service/src/cluster/follower.ts'
import { LEASE_MS, LeaseKeeper } from '../packages/service/src/cluster/lease-keeper.ts'
import { Nudge } from '../packages/service/src/cluster/nudge.ts'
import { Sender } from '../packages/service/src/cluster/sender.ts'
import { SharedTape } from '../packages/service/src/cluster/shared-tape.ts'
import { openCopy } from '../packages/service/src/cluster/tape-copy.ts'
import { openSharedWriter } from '../packages/service/src/cluster/writer.ts'
import { toDataFolder } from '../packages/service/src/lib/data-folder.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import type { InstrumentRef, Store } from '../packages/service/src/store/store.ts'
import type { TapeCopy } from '../packages/service/src/store/embedded/shared/copy.ts'
import { startPostgres, type PostgresCluster } from '../tests/cluster/postgres.ts'
import { startRedis, type RedisServer } from '../tests/cluster/redis.ts'
import { readFeeds, benchInstrument, moveEvent } from './lib/feed.ts'
import { rounded, percentile } from './lib/measure.ts'
import { planSeed } from './lib/plan.ts'
import { withScratch } from './lib/scratch.ts'
import { prepareTape } from './lib/tape.ts'

const COMMITS = 300
const ROWS_PER_COMMIT = 20
// As a recorder commits.
const PERIOD_MS = 20
const PAGES = 400
// Until followers are connected.
const CONNECT_MS = 1_000
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** `npm run bench -- cluster`: a tape that machines share, over a primary with two standbys. */
export async function benchCluster(): Promise<Record<string, number | string>> {
  const server = await startPostgres(2)
  const redis = await startRedis()
  try {
    return await withScratch((folder) => measure(folder, server, redis))
  } finally {
    await redis.kill()
    await server.stop()
  }
}

async function measure(
  folder: string,
  server: PostgresCluster,
  redis: RedisServer,
): Promise<Record<string, number | string>> {
  const { folder: recordings, source } = prepareTape(folder, planSeed)
  const data = toDataFolder(join(folder, 'writer'))
  runImport(recordings, data.path)
  const address = await server.createDatabase('bench')
  const began = performance.now()
  await copyToDatabase(address, data.tape, () => undefined)
  const copied = performance.now()
  const tape = new SharedTape(address)
  const nodes = [join(folder, 'node1.db'), join(folder, 'node2.db')]
  const fetching = performance.now()
  const copies = []
  for (const file of nodes) copies.push(await openCopy(tape, file, false, () => undefined))
  const fetched = performance.now()
  const megabytes = statSync(nodes[0]!).size / 1e6
  const pages = await comparePages(data.tape, nodes[0]!)
  const lease = (await tape.take('bench', LEASE_MS))!
  const store = await openSharedWriter(tape, lease, { file: data.tape }, () => undefined)
  const stop = new AbortController()
  const keeper = new LeaseKeeper(tape, lease)
  const nudge = new Nudge(redis.address, () => undefined)
  const { tape: name } = await tape.state()
  let changeBytes = 0
  const sender = new Sender(tape, keeper, store.outbox!, LOG, (commits) => {
    for (const { changes } of commits) changeBytes += changes.length
    nudge.tell(name, commits)
  })
  const sending = sender.run(stop.signal)
  // First by LISTEN, then by Redis.
  const listened = await follow(copies, tape, undefined, (followers) =>
    measureLive(store, sender, followers, recordings, 'listen'),
  )
  const seen = await follow(copies, tape, nudge, (followers) =>
    measureLive(store, sender, followers, recordings, 'live'),
  )
  const perRow = changeBytes / (await countRows(store))
  const stall = await measureFailover(server, store, sender, recordings)
  stop.abort()
  await sending
  await keeper.stop()
  nudge.close()
  await store.close()
  for (const copy of copies) copy.close()
  await tape.close()
  return {
    data: source,
    tape_mb: rounded(megabytes),
    copy_in_mb_s: rounded((megabytes * 1000) / (copied - began)),
    fetch_mb_s: rounded((2 * megabytes * 1000) / (fetched - fetching)),
    ...pages,
    ...listened,
    ...seen,
    change_bytes_per_row: rounded(perRow),
    failover_stall_s: rounded(stall),
  }
}

/** Follows with both copies while work is measured. */
async function follow<T>(
  copies: readonly TapeCopy[],
  tape: SharedTape,
  nudge: Nudge | undefined,
  work: (followers: readonly Follower[]) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const followers = copies.map((copy) => new Follower(tape, copy, LOG, nudge))
  const running = followers.map((one) => one.run(stop.signal))
  await pause(CONNECT_MS)
  try {
    return await work(followers)
  } finally {
    stop.abort()
    await Promise.all(running)
    for (const follower of followers) await follower.close()
  }
}

function runImport(recordings: string, data: string): void {
  const script = fileURLToPath(new URL('import-child.ts', import.meta.url))
  const { status } = spawnSync(process.execPath, [script, recordings, data], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error('the import failed')
}

/** Pages of 100 of the writer's own file and of a node's copy, in turn; then the first page of a fresh handle. */
async function comparePages(own: string, node: string): Promise<Record<string, number>> {
  const stores = [own, node].map((file) => openEmbeddedStore({ file, readOnly: true }))
  const refs = (await stores[0]!.instruments()).map(({ instrument: { venue, key } }) => ({
    venue,
    key,
  }))
  const spent = [0, 0]
  for (let round = 0; round < 5; round++) {
    for (const [at, store] of stores.entries()) {
      const start = performance.now()
      for (let page = 0; page < PAGES; page++) await readPage(store, refs[page % refs.length]!)
      if (round > 0) spent[at]! += performance.now() - start
    }
  }
  for (const store of stores) await store.close()
  const cold: number[] = []
  for (let at = 0; at < 10; at++) {
    const store = openEmbeddedStore({ file: node, readOnly: true })
    const start = performance.now()
    await readPage(store, refs[at % refs.length]!)
    cold.push(performance.now() - start)
    await store.close()
  }
  return {
    page_100_per_s: rounded((4 * PAGES * 1000) / spent[1]!),
    page_ratio: rounded(spent[0]! / spent[1]!),
    cold_page_ms: rounded(percentile(cold, 0.5)),
  }
}

async function readPage(store: Store, ref: InstrumentRef): Promise<void> {
  await store.books({ ...ref, order: 'asc', limit: 100 })
}

/** From a commit of the writer until the database has it, and until both nodes have applied it. */
async function measureLive(
  store: Store,
  sender: Sender,
  followers: readonly Follower[],
  recordings: string,
  name: 'listen' | 'live',
): Promise<Record<string, number>> {
  const acknowledged: number[] = []
  const live: number[] = []
  for (const batch of batchesOf(recordings, name, COMMITS)) {
    await store.append(batch)
    const start = performance.now()
    const { last } = sender.status()
    let isAcknowledged = false
    while (followers.some((one) => one.status().commit < last)) {
      if (!isAcknowledged && sender.status().sent >= last) {
        isAcknowledged = true
        acknowledged.push(performance.now() - start)
      }
      await pause(0)
    }
    if (!isAcknowledged) acknowledged.push(performance.now() - start)
    live.push(performance.now() - start)
    await pause(PERIOD_MS)
  }
  return {
    append_ack_ms: rounded(percentile(acknowledged, 0.5)),
    append_ack_p95_ms: rounded(percentile(acknowledged, 0.95)),
    [`${name}_p50_ms`]: rounded(percentile(live, 0.5)),
    [`${name}_p95_ms`]: rounded(percentile(live, 0.95)),
  }
}

/** The rows that were measured; fails where some were not stored. */
async function countRows(store: Store): Promise<number> {
  let rows = 0
  for (const key of ['listen', 'live']) {
    rows += (await store.instrument({ venue: 'venueb', key }))?.lastSequence ?? 0
  }
  if (rows !== 2 * COMMITS * ROWS_PER_COMMIT) throw new Error(`${rows} rows were stored`)
  return rows
}

/** From the kill of the primary, with a standby promoted at once, until everything is sent. */
async function measureFailover(
  server: PostgresCluster,
  store: Store,
  sender: Sender,
  recordings: string,
): Promise<number> {
  const start = performance.now()
  await server.nodes[0]!.kill()
  for (const batch of batchesOf(recordings, 'failover', 5)) await store.append(batch)
  await server.promote(server.nodes[1]!)
  await server.nodes[2]!.clone()
  while (sender.status().sent < sender.status().last) await pause(5)
  return (performance.now() - start) / 1000
}

function* batchesOf(recordings: string, name: string, count: number) {
  const feed = readFeeds(recordings, count * ROWS_PER_COMMIT)[0]!
  const instrument = { ...benchInstrument(0), key: name, market: name }
  const assembler = new BookAssembler(instrument)
  for (let at = 0; at < count; at++) {
    const events = feed.slice(at * ROWS_PER_COMMIT, (at + 1) * ROWS_PER_COMMIT)
    const observations: Observation[] = []
    for (const [index, event] of events.entries()) {
      const row = at * ROWS_PER_COMMIT + index + 1
      const taken = assembler.take(moveEvent(event, instrument, row))
      if (!('violation' in taken)) observations.push({ ...taken, journal: ++position })
    }
    yield {
      venue: 'venueb' as const,
      position,
      origin: 'import' as const,
      recorder: 'bench',
      normalizer: 1,
      observations,
    }
  }
}

// Records behind those of the import; earlier ones are not stored again.
let position = 1_000_000_000
