import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Follower } from '../../packages/service/src/cluster/follower.ts'
import { hashOf } from '../../packages/service/src/store/embedded/shared/copy.ts'
import { SharedTape, type Lease } from '../../packages/service/src/cluster/shared-tape.ts'
import { openCopy } from '../../packages/service/src/cluster/tape-copy.ts'
import { openSharedWriter } from '../../packages/service/src/cluster/writer.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'
import { Script } from '../../packages/service/src/store/store-script.testing.ts'
import { startPostgres, type PostgresCluster } from './postgres.ts'

let server: PostgresCluster
let databases = 0

beforeAll(async () => {
  server = await startPostgres(2)
})
afterAll(() => server?.stop())

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }
const commit = (id: number, text: string) => ({ id, changes: Buffer.from(text) })

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-faults-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function open(): Promise<{ tape: SharedTape; lease: Lease; name: string }> {
  const name = `faults${databases++}`
  const tape = new SharedTape(await server.createDatabase(name))
  onTestFinished(() => tape.close())
  await tape.prepare()
  return { tape, lease: (await tape.take('a', 60_000))!, name }
}

/** A writer with some commits, all of them sent. */
async function write(tape: SharedTape, lease: Lease, batches: number): Promise<EmbeddedStore> {
  const file = join(scratch(), 'tape.db')
  const store = await openSharedWriter(tape, lease, { file }, () => undefined)
  onTestFinished(() => store.close())
  for (const batch of new Script(9).take(batches)) await store.append(batch)
  const commits = store.outbox!.read(1e9)
  store.outbox!.sent(await tape.append(lease, commits))
  return store
}

describe('standbys', () => {
  test('that are all gone make a commit wait, and one that is back lets it through', async () => {
    const { tape, lease } = await open()
    const standbys = server.nodes.slice(1)
    for (const node of standbys) await node.kill()
    let isDone = false
    const appended = tape.append(lease, [commit(1, 'x')]).then((last) => {
      isDone = true
      return last
    })
    await pause(1500)
    expect(isDone).toBe(false)
    // Others do not see what is not safe.
    expect(await tape.read({ commit: 0, mark: '' }, 10)).toEqual([])
    for (const node of standbys) await node.start()
    expect(await appended).toBe(1)
  })

  test('whose wait is cancelled do not make a commit count, and it is there once', async () => {
    const { tape, lease, name } = await open()
    const standbys = server.nodes.slice(1)
    for (const node of standbys) await node.kill()
    const cancelled = tape.append(lease, [commit(1, 'x')]).catch((error: unknown) => error)
    await pause(1000)
    await server.sql(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND wait_event = 'SyncRep'`,
    )
    expect(await cancelled).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('not confirmed by a standby') as string,
    })
    // It is on the primary alone. Sent again, it waits again.
    let isDone = false
    const again = tape.append(lease, [commit(1, 'x'), commit(2, 'y')]).then((last) => {
      isDone = true
      return last
    })
    await pause(1000)
    expect(isDone).toBe(false)
    for (const node of standbys) await node.start()
    expect(await again).toBe(1)
    expect(await tape.append(lease, [commit(2, 'y')])).toBe(2)
    expect((await tape.read({ commit: 0, mark: '' }, 10))!.map(({ id }) => id)).toEqual([1, 2])
  })
})

describe('a tape of another version', () => {
  test.each([
    ['newer', 99, 'newer_schema', /upgrade this/],
    ['older', 3, 'unsupported_format', /upgrade the recorders first/],
  ])('that is %s is not followed', async (_name, schema, code, message) => {
    const { tape, lease } = await open()
    await write(tape, lease, 3)
    await tape.setSchema(lease, schema)
    const opened = openCopy(tape, join(scratch(), 'copy.db'), false, () => undefined)
    await expect(opened).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    })
  })

  test('is brought to the schema of its next writer, and followed again', async () => {
    const { tape, lease, name } = await open()
    const store = await write(tape, lease, 10)
    const { markets } = await store.markets({ limit: 1 })
    expect(markets).toHaveLength(1)
    const file = join(scratch(), 'next.db')
    await tape.fold(0)
    // The older schema had no such lists.
    await server.sql("DELETE FROM priorbook_row WHERE relation IN ('listing', 'family')", name)
    await tape.setSchema(lease, 6)
    const next = await openSharedWriter(tape, lease, { file }, () => undefined)
    onTestFinished(() => next.close())
    expect((await tape.state()).schema).toBeGreaterThan(6)
    const copied = join(scratch(), 'copy.db')
    const copy = await openCopy(tape, copied, false, () => undefined)
    onTestFinished(() => copy.close())
    expect(copy.place()!.commit).toBe((await tape.state()).last)
    const reader = openEmbeddedStore({ file: copied, readOnly: true })
    onTestFinished(() => reader.close())
    expect((await reader.markets({ limit: 1 })).markets).toEqual(markets)
  })
})

test('a user that does not exist is refused by name', async () => {
  const { name } = await open()
  const address = server.addressOf(server.nodes[0]!, name).replace('postgres@', 'nobody@')
  const tape = new SharedTape(address)
  onTestFinished(() => tape.close())
  await expect(tape.prepare()).rejects.toMatchObject({ code: 'store_refused' })
})

test('a damaged commit is not applied, and is said', async () => {
  const { tape, lease, name } = await open()
  await write(tape, lease, 10)
  const copy = await openCopy(tape, join(scratch(), 'copy.db'), false, () => undefined)
  onTestFinished(() => copy.close())
  const before = copy.place()!.commit
  await server.sql(
    `UPDATE priorbook_change SET changes = set_byte(changes, 7, 255 - get_byte(changes, 7)) WHERE id = ${before + 2}`,
    name,
  )
  const follower = new Follower(tape, copy, LOG, undefined)
  onTestFinished(() => follower.close())
  expect(await follower.step()).toBe(true)
  expect(follower.status().trouble).toMatch(/damaged/)
  expect(copy.place()!.commit).toBeLessThan(before + 2)
  await expect(tape.fold(0)).rejects.toMatchObject({ code: 'corrupt_database' })
})

test('a database that was put back and went on otherwise is noticed', async () => {
  const { tape, lease, name } = await open()
  await tape.append(lease, [commit(1, 'x'), commit(2, 'y')])
  const place = { commit: 2, mark: hashOf(Buffer.from('y')).toString('hex') }
  expect(await tape.read(place, 10)).toEqual([])
  await server.sql(
    'DELETE FROM priorbook_change WHERE id = 2; UPDATE priorbook_tape SET last = 1',
    name,
  )
  expect(await tape.read(place, 10)).toBeUndefined()
  await tape.append(lease, [commit(2, 'other'), commit(3, 'z')])
  expect(await tape.read(place, 10)).toBeUndefined()
})

test('a copy into the database that was cut short is not ended with the rows of another folder', async () => {
  const { tape, lease } = await open()
  await write(tape, lease, 10)
  const stopped = function* (): Generator<never> {
    yield* []
    throw new Error('stopped')
  }
  const load = tape.load(lease, { name: 'x', schema: 7 }, stopped(), () => undefined)
  await expect(load).rejects.toThrow('stopped')
  const { last } = await tape.state()
  const opened = openSharedWriter(
    tape,
    lease,
    { file: join(scratch(), 'tape.db') },
    () => undefined,
  )
  await expect(opened).rejects.toThrow(/did not come to its end/)
  expect((await tape.state()).last).toBe(last)
})

test('a lease is held by one at a time, by the clock of the database', async () => {
  const { tape, lease } = await open()
  const others = await Promise.all(['b', 'c', 'd'].map((name) => tape.take(name, 1000)))
  expect(others).toEqual([undefined, undefined, undefined])
  await tape.release(lease)
  const taken = await Promise.all(['b', 'c', 'd'].map((name) => tape.take(name, 60_000)))
  expect(taken.filter((one) => one !== undefined)).toHaveLength(1)
})
