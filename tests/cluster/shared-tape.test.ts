import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openSharedTape } from '../../packages/service/src/cluster/shared-store.testing.ts'
import { describeStoreContract } from '../../packages/service/src/store/store.contract.ts'
import { compareStores } from '../../packages/service/src/derive/rebuild.ts'
import { SharedTape } from '../../packages/service/src/cluster/shared-tape.ts'
import { openCopy } from '../../packages/service/src/cluster/tape-copy.ts'
import { openSharedWriter } from '../../packages/service/src/cluster/writer.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { openTapeCopy } from '../../packages/service/src/store/embedded/shared/copy.ts'
import { Script } from '../../packages/service/src/store/store-script.testing.ts'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { startPostgres, type PostgresCluster } from './postgres.ts'

let server: PostgresCluster
let databases = 0

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())

// Everything that a store promises, written by one machine and read by another over a real database.
describeStoreContract('shared', async () =>
  openSharedTape(await server.createDatabase(`tape${databases++}`)),
)

const newDatabase = (): Promise<string> => server.createDatabase(`tape${databases++}`)

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-shared-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a tape of its own into a folder. */
async function writeTape(folder: string): Promise<void> {
  const store = openEmbeddedStore({ file: join(folder, 'tape.db'), limits: { rows: 60, step: 24 } })
  for (const batch of new Script(5).take(80)) await store.append(batch)
  await store.close()
}

describe('copy', () => {
  test('moves a tape in and out, and nothing differs', async () => {
    const [folder, back] = [scratch(), join(scratch(), 'back')]
    await writeTape(folder)
    const address = await newDatabase()
    const up = await callServer('copy', '--from', folder, '--to', address, '--json')
    expect(up).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(up.out)).toMatchObject({ commit: 1, problems: 0 })
    const down = await callServer('copy', '--from', address, '--to', back, '--json')
    expect(down).toMatchObject({ code: 0, err: '' })
    const stores = [folder, back].map((one) =>
      openEmbeddedStore({ file: join(one, 'tape.db'), readOnly: true }),
    )
    const { differences } = await compareStores(stores[0]!, stores[1]!)
    expect(differences).toEqual([])
    for (const store of stores) await store.close()
    // What came back is a tape of its own; the first one is a copy, which nothing else may write.
    await openEmbeddedStore({ file: join(back, 'tape.db') }).close()
    expect(() => openEmbeddedStore({ file: join(folder, 'tape.db') })).toThrow(
      /copy of a shared tape/,
    )
    const again = await callServer('copy', '--from', back, '--to', address, '--json')
    expect(again.code).toBe(1)
    expect(again.err).toContain('has a tape already')
  })

  test('goes on where it was stopped', async () => {
    const folder = scratch()
    await writeTape(folder)
    const tape = new SharedTape(await newDatabase())
    onTestFinished(() => tape.close())
    await tape.prepare()
    const lease = (await tape.take('test', 60_000))!
    const copy = openTapeCopy(join(folder, 'tape.db'))
    onTestFinished(() => copy.close())
    const source = { name: 'a tape', schema: 7 }
    const parts = [...copy.rows()]
    const stopped = function* () {
      yield* parts.slice(0, 3)
      throw new Error('stopped')
    }
    await expect(tape.load(lease, source, stopped(), () => undefined)).rejects.toThrow('stopped')
    await expect(tape.image(() => undefined)).rejects.toThrow(/being copied/)
    const done: number[] = []
    await tape.load(lease, source, parts, (part) => done.push(part))
    expect(done[0]).toBe(4)
    let rows = 0
    await tape.image((some) => (rows += some.rows.length))
    expect(rows).toBe(parts.reduce((sum, part) => sum + part.rows.length, 0))
  })
})

describe('a database that refuses', () => {
  test.each([
    ['a wrong port', 'postgres://postgres@127.0.0.1:1/none', 'store_unavailable'],
    ['a database that does not exist', undefined, 'store_refused'],
  ])('%s is said', async (_name, given, code) => {
    const address = given ?? (await newDatabase()).replace(/tape\d+$/, 'nothing')
    const { code: exit, err } = await callServer(
      'copy',
      '--from',
      address,
      '--to',
      join(scratch(), 'x'),
      '--json',
    )
    expect(exit).toBe(1)
    expect(JSON.parse(err)).toMatchObject({ code })
  })
})

describe('commits', () => {
  const open = async () => {
    const tape = new SharedTape(await newDatabase())
    onTestFinished(() => tape.close())
    await tape.prepare()
    return tape
  }
  const commit = (id: number, text: string) => ({ id, changes: Buffer.from(text) })

  test('whose answer was lost are there once', async () => {
    const tape = await open()
    const lease = (await tape.take('a', 60_000))!
    await tape.append(lease, [commit(1, 'x'), commit(2, 'y')])
    await tape.append(lease, [commit(1, 'x'), commit(2, 'y')])
    // More have been made since.
    expect(await tape.append(lease, [commit(2, 'y'), commit(3, 'z')])).toBe(2)
    expect(await tape.append(lease, [commit(3, 'z')])).toBe(3)
    expect((await tape.read({ commit: 0, mark: '' }, 10))!.map(({ id }) => id)).toEqual([1, 2, 3])
    // Others under the same numbers are not.
    await expect(tape.append(lease, [commit(3, 'q')])).rejects.toMatchObject({ code: 'not_writer' })
  })

  test('of a long outage are sent in parts', async () => {
    const tape = await open()
    const lease = (await tape.take('a', 60_000))!
    const folder = scratch()
    const store = await openSharedWriter(
      tape,
      lease,
      { file: join(folder, 'tape.db') },
      () => undefined,
    )
    onTestFinished(() => store.close())
    for (let at = 0; at < 1500; at++) await store.noteWriter(at + 1)
    const parts: number[] = []
    for (
      let commits = store.outbox!.read(1e9);
      commits.length > 0;
      commits = store.outbox!.read(1e9)
    ) {
      store.outbox!.sent(await tape.append(lease, commits))
      parts.push(commits.length)
    }
    expect(parts[0]).toBe(1000)
    const { last, sent } = store.outbox!.place
    expect(sent).toBe(last)
    while ((await tape.fold(0)) > 0);
    const copy = await openCopy(tape, join(folder, 'copy.db'), false, () => undefined)
    expect(copy.place()!.commit).toBe(last)
    copy.close()
  })

  test('that the database lost make a copy fetch again', async () => {
    const tape = await open()
    const lease = (await tape.take('a', 60_000))!
    await tape.append(lease, [commit(1, 'x')])
    expect(await tape.read({ commit: 1, mark: '' }, 10)).toEqual([])
    expect(await tape.read({ commit: 2, mark: '' }, 10)).toBeUndefined()
  })

  test('of a writer that was replaced are refused', async () => {
    const tape = await open()
    const first = (await tape.take('a', 1))!
    await tape.append(first, [commit(1, 'x')])
    const second = await tape.take('b', 60_000)
    expect(second).toMatchObject({ epoch: first.epoch + 1, before: 'a' })
    await expect(tape.append(first, [commit(2, 'y')])).rejects.toMatchObject({ code: 'not_writer' })
    expect(await tape.renew(first, 1000)).toBe(false)
    expect(await tape.take('a', 1000)).toBeUndefined()
  })
})
