import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Follower } from '../../packages/service/src/cluster/follower.ts'
import { Nudge } from '../../packages/service/src/cluster/nudge.ts'
import { Postgres } from '../../packages/service/src/cluster/postgres.ts'
import { SharedTape } from '../../packages/service/src/cluster/shared-tape.ts'
import { openCopy } from '../../packages/service/src/cluster/tape-copy.ts'
import { openSharedWriter } from '../../packages/service/src/cluster/writer.ts'
import type {
  CommitChanges,
  TapeCopy,
} from '../../packages/service/src/store/embedded/shared/copy.ts'
import { Script } from '../../packages/service/src/store/store-script.testing.ts'
import { until } from '../capture/recorder-process.ts'
import { startPostgres, type PostgresCluster } from './postgres.ts'
import { startRedis, type RedisServer } from './redis.ts'

const PATIENCE_MS = 20_000
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

let server: PostgresCluster
let redis: RedisServer
let databases = 0

beforeAll(async () => {
  server = await startPostgres()
  redis = await startRedis()
})
afterAll(async () => {
  await redis?.kill()
  await server?.stop()
})

/** A writer with commits that are sent when the test says so, and a follower of them. */
async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-nudge-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const name = `nudge${databases++}`
  const address = await server.createDatabase(name)
  const tape = new SharedTape(address)
  onTestFinished(() => tape.close())
  await tape.prepare()
  const lease = (await tape.take('a', 600_000))!
  const store = await openSharedWriter(tape, lease, { file: join(folder, 'a.db') }, () => undefined)
  onTestFinished(() => store.close())
  const copy = await openCopy(tape, join(folder, 'b.db'), false, () => undefined)
  onTestFinished(() => copy.close())
  const [teller, listener] = [createNudge(), createNudge()]
  const follower = new Follower(tape, copy, LOG, listener)
  onTestFinished(() => follower.close())
  const { tape: tapeName } = await tape.state()
  const script = new Script(9)
  const send = async (batches: number): Promise<readonly CommitChanges[]> => {
    for (const batch of script.take(batches)) await store.append(batch)
    const commits = store.outbox!.read(1e9)
    store.outbox!.sent(await tape.append(lease, commits))
    return commits
  }
  const tell = (commits: readonly CommitChanges[]): void => teller.tell(tapeName, commits)
  await untilHeard(copy, async () => tell(await send(1)))
  return { copy, follower, send, tell, address }
}

function createNudge(): Nudge {
  const nudge = new Nudge(redis.address, () => undefined)
  onTestFinished(() => nudge.close())
  return nudge
}

const commitOf = (copy: TapeCopy): number => copy.place()!.commit

// Until then the connection to Redis is being made.
async function untilHeard(copy: TapeCopy, send: () => Promise<void>): Promise<void> {
  await until('a commit by Redis', PATIENCE_MS, async () => {
    const before = commitOf(copy)
    await send()
    await new Promise((resolve) => setTimeout(resolve, 100))
    return commitOf(copy) > before ? true : undefined
  })
}

async function untilAt(copy: TapeCopy, commit: number): Promise<void> {
  await until(`commit ${commit}`, PATIENCE_MS, async () =>
    commitOf(copy) >= commit ? true : undefined,
  )
}

test('brings commits with their contents: the database is not read', async () => {
  const { copy, send, tell } = await open()
  const before = commitOf(copy)
  const commits = await send(20)
  expect(commits.length).toBeGreaterThan(10)
  tell(commits)
  // The follower is not running, so that nothing else could bring them.
  await untilAt(copy, before + commits.length)
})

test('takes commits that come twice, too early, damaged or not at all from the database', async () => {
  const { copy, follower, send, tell } = await open()
  const stop = new AbortController()
  const running = follower.run(stop.signal)
  for (let round = 0; round < 5; round++) {
    const commits = await send(8)
    const [first, ...others] = commits
    // In the opposite order, the first ones twice, one of them missing, one of them with other contents.
    tell(others.toReversed().slice(1))
    tell([first!, first!])
    tell([{ id: first!.id + 1, changes: Buffer.from('not a change') }])
    await untilAt(copy, commits.at(-1)!.id)
  }
  stop.abort()
  expect(await running).toBe(true)
  expect(follower.status().trouble).toBeUndefined()
})

test('goes on without Redis, and with it again', async () => {
  const { copy, follower, send, tell } = await open()
  const stop = new AbortController()
  const running = follower.run(stop.signal)
  await redis.kill()
  const alone = await send(10)
  tell(alone)
  await untilAt(copy, alone.at(-1)!.id)
  await redis.start()
  const again = await send(10)
  await untilAt(copy, again.at(-1)!.id)
  stop.abort()
  expect(await running).toBe(true)
})

test('listens to the database as long as the writer announces nothing over Redis', async () => {
  const { copy, follower, send, tell, address } = await open()
  const database = new Postgres(address)
  onTestFinished(() => database.close())
  const untilListeners = (count: number): Promise<true> =>
    until(`${count} listeners`, PATIENCE_MS, async () => {
      const listeners = await database.run(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'`,
      )
      return listeners.length === count ? true : undefined
    })
  const stop = new AbortController()
  const running = follower.run(stop.signal)
  // By turns a writer that is connected to Redis and one that is not.
  for (let round = 0; round < 2; round++) {
    const untold = await send(2)
    await untilAt(copy, untold.at(-1)!.id)
    await untilListeners(1)
    const told = await send(2)
    tell(told)
    await untilAt(copy, told.at(-1)!.id)
    await untilListeners(0)
  }
  stop.abort()
  expect(await running).toBe(true)
})
