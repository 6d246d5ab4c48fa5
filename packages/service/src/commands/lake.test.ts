import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBulkCaller } from '../api/bulk/bulk.testing.ts'
import { makeMarket } from '../api/bulk/generated-market.testing.ts'
import { readParquet } from '../api/bulk/read-back.testing.ts'
import { lockLake } from '../lake/lake-lock.ts'
import type { LakeManifest } from '../lake/lake-manifest.ts'
import { toDataFolder } from '../lib/data-folder.ts'
import { openFolderObjects } from '../objects/folder-objects.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { countOf } from '../store/embedded/temp-folder.testing.ts'
import { callServer } from './call.testing.ts'

const KILLS = countOf(50, 4)
const ROWS = 30_000
const PROGRAM = join(import.meta.dirname, '../../bin/priorbook-server.mjs')
const BOOKS = 'venue=venueb/dataset=books/day=2026-08-11'

const home = mkdtempSync(join(tmpdir(), 'priorbook-lake-'))
const data = toDataFolder(join(home, 'data'))
/** The ids of all rows, as a download of the day has them. */
let ids: string[]

beforeAll(async () => {
  const store = openEmbeddedStore({ file: data.tape })
  for (const batch of makeMarket(ROWS)) await store.append(batch)
  await store.seal()
  const scope = 'venue=venueb&series=KXMADE&day=2026-08-11&include_orderbook=false'
  const lines = (await createBulkCaller(store).bytes(scope)).toString().trimEnd().split('\n')
  ids = lines.slice(0, -1).map((line) => (JSON.parse(line) as { id: string }).id)
  await store.close()
}, 120_000)

afterAll(() => rmSync(home, { recursive: true, force: true }))

describe('a lake', () => {
  it('has every row once, in files that its manifest names, and is not written twice', async () => {
    const lake = join(home, 'whole')
    const first = await write(lake)
    expect(first).toMatchObject({ rows: ROWS, unchanged: 0, kept: 0 })
    await expectWhole(lake)
    const files = contentOf(lake)
    expect(files.size).toBeGreaterThan(2)
    expect(await write(lake)).toMatchObject({ days: 0, rows: 0, kept: first['days'] })
    expect(await write(lake, '--rewrite')).toMatchObject({ days: 0, unchanged: first['days'] })
    expect(contentOf(lake)).toEqual(files)
  })

  it('is made whole again: damaged, missing and foreign files', async () => {
    const lake = join(home, 'mended')
    await write(lake)
    const files = contentOf(lake)
    const [one, two] = globSync(`${BOOKS}/*.parquet`, { cwd: lake })
    rmSync(join(lake, one!))
    writeFileSync(join(lake, two!), 'short')
    writeFileSync(join(lake, BOOKS, 'part-00009-0123456789abcdef.parquet'), 'of an earlier run')
    await write(lake)
    expect(contentOf(lake)).toEqual(files)
  })

  it('has the rows of a changed tape after a rewrite, with a new manifest', async () => {
    const lake = join(home, 'rewritten')
    await write(lake)
    const other = toDataFolder(join(home, 'other'))
    const store = openEmbeddedStore({ file: other.tape })
    for (const batch of makeMarket(1000)) await store.append(batch)
    await store.close()
    const args = ['--to', lake, '--data', other.path, '--json']
    expect(await callServer('lake', ...args)).toMatchObject({ code: 0, err: '' })
    await expectWhole(lake)
    const day = ['--day', '2026-08-11', '--rewrite']
    const { out, err } = await callServer('lake', ...args, ...day)
    expect(err).toBe('')
    expect(JSON.parse(out)).toMatchObject({ rows: 1000 })
    const manifest = await expectWhole(lake, ids.slice(0, 1000))
    expect(manifest.number).toBe(2)
  })

  it(`is written exactly once although its writer is killed ${KILLS} times`, async () => {
    const lake = join(home, 'killed')
    const whole = join(home, 'uninterrupted')
    const began = performance.now()
    await run(whole).ended
    const ms = performance.now() - began
    for (let kill = 1; kill <= KILLS; kill++) {
      const child = run(lake)
      const timer = setTimeout(() => child.kill(), (ms * kill) / (KILLS + 1))
      await child.ended
      clearTimeout(timer)
    }
    await run(lake).ended
    await expectWhole(lake)
    expect(contentOf(lake)).toEqual(contentOf(whole))
  }, 3_600_000)
})

describe('two runs at once', () => {
  it('are refused: the second one says which process writes', async () => {
    const lake = join(home, 'locked')
    const lock = await lockLake(openFolderObjects(lake))
    const args = ['--to', lake, '--data', data.path, '--json']
    const { code, err } = await callServer('lake', ...args)
    expect([code === 0, JSON.parse(err)]).toMatchObject([false, { code: 'store_locked' }])
    expect(err).toContain(`process ${process.pid}`)
    expect(globSync('**/*.parquet', { cwd: lake })).toEqual([])
    await lock.release()
    await write(lake)
    await expectWhole(lake)
  })

  it('leave the lake whole, whichever comes first', async () => {
    const lake = join(home, 'twice')
    const codes = await Promise.all([run(lake).ended, run(lake).ended, run(lake).ended])
    expect(codes).toContain(0)
    await expectWhole(lake)
  })
})

async function write(lake: string, ...more: string[]): Promise<Record<string, unknown>> {
  const args = ['--to', lake, '--data', data.path, '--part-rows', '8000', '--json']
  const { code, out, err } = await callServer('lake', ...args, ...more)
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out) as Record<string, unknown>
}

function run(lake: string): { readonly ended: Promise<unknown>; kill(): void } {
  const args = [PROGRAM, 'lake', '--to', lake, '--data', data.path, '--part-rows', '8000']
  const child = spawn(process.execPath, args, { stdio: 'ignore' })
  return {
    ended: new Promise((resolve) => child.on('close', resolve)),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** The files that readers see, by name, with their hashes. */
function contentOf(lake: string): ReadonlyMap<string, string> {
  const names = globSync('**/*.{parquet,json}', { cwd: lake, exclude: ['_locks/**'] }).sort()
  return new Map(names.map((name) => [name, hashOf(readFileSync(join(lake, name)))]))
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Reads the lake as others do: all files of the folder; they are those of the manifest, and have every row once. */
async function expectWhole(lake: string, wanted = ids): Promise<LakeManifest> {
  const names = globSync(`${BOOKS}/*.parquet`, { cwd: lake }).sort()
  const newest = globSync(`_manifests/${BOOKS}/*.json`, { cwd: lake }).sort().at(-1)!
  const manifest = JSON.parse(readFileSync(join(lake, newest), 'utf8')) as LakeManifest
  expect(manifest.files.map(({ name }) => name)).toEqual(names)
  const seen: unknown[] = []
  for (const { name, bytes, sha256, rows } of manifest.files) {
    const file = readFileSync(join(lake, name))
    expect([file.length, hashOf(file)]).toEqual([bytes, sha256])
    const read = await readParquet(file)
    expect(read.rows).toHaveLength(rows)
    seen.push(...read.rows.map((row) => row['id']))
  }
  expect(seen).toEqual(wanted)
  expect(manifest.rows).toBe(wanted.length)
  return manifest
}
