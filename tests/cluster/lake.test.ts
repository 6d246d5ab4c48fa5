import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeMarket } from '../../packages/service/src/api/bulk/generated-market.testing.ts'
import { readParquet } from '../../packages/service/src/api/bulk/read-back.testing.ts'
import { readTable } from '../../packages/service/src/lake/iceberg/read-table.testing.ts'
import type { LakeManifest } from '../../packages/service/src/lake/lake-manifest.ts'
import { toDataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { openObjects } from '../../packages/service/src/objects/open-objects.ts'
import type { ObjectStore } from '../../packages/service/src/objects/object-store.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import {
  countOf,
  createTempFolder,
} from '../../packages/service/src/store/embedded/temp-folder.testing.ts'
import { startSeaweedFs, type SeaweedFs } from './seaweedfs.ts'

const BUCKET = 'lake'
const KILLS = countOf(50, 3)
const ROWS = 20_000
const PROGRAM = join(import.meta.dirname, '../../packages/service/bin/priorbook-server.mjs')
const BOOKS = 'venue=venueb/dataset=books/day=2026-08-11/'

let server: SeaweedFs

beforeAll(async () => {
  server = await startSeaweedFs()
  await server.createBucket(BUCKET)
})
afterAll(() => server?.stop())

it(`a lake in a bucket is written exactly once although its writer is killed ${KILLS} times`, async () => {
  const data = toDataFolder(join(createTempFolder(), 'data'))
  const store = openEmbeddedStore({ file: data.tape })
  for (const batch of makeMarket(ROWS)) await store.append(batch)
  await store.seal()
  await store.close()
  const [whole, killed] = ['whole', 'killed'].map(
    (name) => `s3://${BUCKET}/${name}-${randomUUID()}?endpoint=${server.endpoint}`,
  )
  const began = performance.now()
  expect(await run(whole!, data.path).ended).toBe(0)
  const ms = performance.now() - began
  let survived = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    const child = run(killed!, data.path)
    const timer = setTimeout(() => child.kill(), (ms * kill) / (KILLS + 1))
    if ((await child.ended) === 0) survived++
    clearTimeout(timer)
  }
  expect(survived).toBeLessThan(KILLS)
  // The lock of the last one that was killed does not block this one.
  expect(await run(killed!, data.path).ended).toBe(0)
  const [once, again] = [open(whole!), open(killed!)]
  const files = await contentOf(once)
  expect(await contentOf(again)).toEqual(files)
  await expectWhole(again, [...files.keys()])
}, 1_200_000)

function open(address: string): ObjectStore {
  return openObjects(address, environment())
}

function environment(): Record<string, string | undefined> {
  const { accessKeyId, secretAccessKey } = server
  return {
    ...process.env,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  }
}

function run(lake: string, data: string): { readonly ended: Promise<unknown>; kill(): void } {
  const args = [PROGRAM, 'lake', '--to', lake, '--data', data, '--part-rows', '6000', '--iceberg']
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: environment() })
  return {
    ended: new Promise((resolve) => child.on('close', resolve)),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** The objects that readers see, by name, with their hashes; those of tables have the times of their commits. */
async function contentOf(objects: ObjectStore): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const { name, size } of objects.list('')) {
    if (name.startsWith('_locks/') || name.startsWith('_iceberg/')) continue
    const bytes = await objects.read(name, 0, size)
    found.set(name, createHash('sha256').update(bytes).digest('hex'))
  }
  return found
}

async function expectWhole(objects: ObjectStore, names: readonly string[]): Promise<void> {
  const read = async (name: string): Promise<Buffer> =>
    Buffer.from(await objects.read(name, 0, (await objects.size(name))!))
  const newest = names.filter((name) => name.startsWith(`_manifests/${BOOKS}`)).at(-1)!
  const manifest = JSON.parse((await read(newest)).toString()) as LakeManifest
  expect(manifest.files.map(({ name }) => name)).toEqual(
    names.filter((name) => name.startsWith(BOOKS)),
  )
  const ids = new Set<unknown>()
  let rows = 0
  for (const { name } of manifest.files) {
    const file = await readParquet(await read(name))
    rows += file.rows.length
    for (const row of file.rows) ids.add(row['id'])
  }
  expect([rows, ids.size, manifest.rows]).toEqual([ROWS, ROWS, ROWS])
  const table = await readTable(read, 'venueb', 'books')
  expect(table.files).toEqual(
    manifest.files.map((file) => ({
      path: `${objects.location}/${file.name}`,
      rows: file.rows,
      bytes: file.bytes,
    })),
  )
  expect(table.snapshots.map(({ summary }) => summary['operation'])).toEqual(['append'])
}
