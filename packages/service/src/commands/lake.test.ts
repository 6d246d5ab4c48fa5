import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { readTable, type TableSnapshot } from '../lake/iceberg/read-table.testing.ts'
import { createBulkCaller } from '../api/bulk/bulk.testing.ts'
import { makeMarket } from '../api/bulk/generated-market.testing.ts'
import { readParquet } from '../api/bulk/read-back.testing.ts'
import { after, MarketWriter, roundOfB } from '../api/contracts/contract-tape.testing.ts'
import { lockLake } from '../lake/lake-lock.ts'
import type { LakeManifest } from '../lake/lake-manifest.ts'
import { writeLake, type LakeOrder } from '../lake/write-lake.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { withMethods } from '../lib/with-methods.ts'
import { openFolderObjects } from '../objects/folder-objects.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { countOf } from '../store/embedded/temp-folder.testing.ts'
import { callServer } from './call.testing.ts'

const KILLS = countOf(50, 4)
const ROWS = 30_000
const PROGRAM = join(import.meta.dirname, '../../bin/priorbook-server.mjs')
const BOOKS = 'venue=venueb/dataset=books/day=2026-08-11'
const TABLE = '_iceberg/venueb/books/metadata'

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
    expect(JSON.parse(out)).toMatchObject({ rows: 1000, snapshots: 0 })
    const manifest = await expectWhole(lake, ids.slice(0, 1000))
    expect(manifest.number).toBe(2)
    expect(globSync('_iceberg/**', { cwd: lake })).toEqual([])
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
    const snapshots = await Promise.all([lake, whole].map((one) => expectTable(one)))
    expect(snapshots.map(({ length }) => length)).toEqual([1, 1])
  }, 3_600_000)
})

describe('an Iceberg table of a lake', () => {
  it('has the files of the manifests, and no snapshot where nothing is new', async () => {
    const lake = join(home, 'table')
    expect(await write(lake)).toMatchObject({ snapshots: 0 })
    expect(await write(lake, '--iceberg')).toMatchObject({ days: 0, snapshots: 1 })
    const [first] = await expectTable(lake)
    expect(first).toMatchObject({
      summary: {
        operation: 'append',
        'added-records': String(ROWS),
        'total-records': String(ROWS),
        'total-data-files': '4',
      },
    })
    expect(await write(lake, '--iceberg', '--rewrite')).toMatchObject({ snapshots: 0 })
    expect(await expectTable(lake)).toEqual([first])
  })

  it('has a rewritten day as an overwrite, also where a later run does not ask for tables', async () => {
    const lake = join(home, 'overwritten')
    await write(lake, '--iceberg')
    const other = toDataFolder(join(home, 'longer'))
    const store = openEmbeddedStore({ file: other.tape })
    // Its first file is the same one.
    for (const batch of makeMarket(12_000)) await store.append(batch)
    await store.close()
    const args = ['--to', lake, '--data', other.path, '--part-rows', '8000', '--json']
    const { out, err } = await callServer('lake', ...args, '--rewrite')
    expect(err).toBe('')
    expect(JSON.parse(out)).toMatchObject({ rows: 12_000, snapshots: 1 })
    await expectWhole(lake, ids.slice(0, 12_000))
    // The snapshot before named files that are gone.
    const [newest, ...others] = await expectTable(lake)
    expect(others).toEqual([])
    expect(newest).toMatchObject({
      'sequence-number': 2,
      summary: {
        operation: 'overwrite',
        'added-data-files': '1',
        'deleted-data-files': '3',
        'total-data-files': '2',
        'total-records': '12000',
      },
    })
  })

  it(`never names a file that is gone, although ${KILLS} rewrites are killed`, async () => {
    const lake = join(home, 'torn')
    const other = toDataFolder(join(home, 'shorter'))
    const store = openEmbeddedStore({ file: other.tape })
    for (const batch of makeMarket(20_000)) await store.append(batch)
    await store.close()
    await write(lake, '--iceberg')
    const began = performance.now()
    await run(lake, data.path, '--rewrite').ended
    const ms = performance.now() - began
    for (let kill = 1; kill <= KILLS; kill++) {
      // The end of a run, where files are published and removed.
      const tape = kill % 2 === 1 ? other.path : data.path
      const child = run(lake, tape, '--rewrite')
      const timer = setTimeout(() => child.kill(), ms * (0.6 + (0.4 * kill) / KILLS))
      await child.ended
      clearTimeout(timer)
      const { files } = await readTable((name) => readFileSync(join(lake, name)), 'venueb', 'books')
      const sizes = files.map(({ path }) => statSync(fileURLToPath(path)).size)
      expect(sizes).toEqual(files.map(({ bytes }) => bytes))
      const rows = files.reduce((sum, file) => sum + file.rows, 0)
      expect([20_000, ROWS]).toContain(rows)
    }
    await run(lake, other.path, '--rewrite').ended
    await expectWhole(lake, ids.slice(0, 20_000))
    await expectTable(lake)
  }, 3_600_000)

  it('keeps its log of snapshots in their order, and forgets it up to one that is gone', async () => {
    const lake = join(home, 'logged')
    const [tape, other] = [toDataFolder(join(home, 'by-day')), toDataFolder(join(home, 'by-day-2'))]
    const history: LogEntry[] = []
    /** Runs the command, and compares the log with the snapshots that were the newest one after another. */
    const publish = async (path: string, ...more: string[]): Promise<readonly LogEntry[]> => {
      const args = ['--to', lake, '--data', path, '--iceberg', ...more]
      expect(await callServer('lake', ...args)).toMatchObject({ code: 0 })
      const version = readFileSync(join(lake, TABLE, 'version-hint.text'), 'utf8')
      const text = readFileSync(join(lake, TABLE, `v${version}.metadata.json`), 'utf8')
      const metadata = JSON.parse(text) as LoggedMetadata
      const { snapshots, 'snapshot-log': log } = metadata
      const newest = snapshots.find((one) => one['snapshot-id'] === metadata['current-snapshot-id'])
      const { 'snapshot-id': id, 'timestamp-ms': time } = newest!
      if (history.at(-1)?.['snapshot-id'] !== id) {
        history.push({ 'snapshot-id': id, 'timestamp-ms': time })
      }
      const kept = new Set(snapshots.map((one) => one['snapshot-id']))
      const gone = history.findLastIndex((one) => !kept.has(one['snapshot-id']))
      expect(log).toEqual(history.slice(gone + 1))
      const times = log.map((one) => one['timestamp-ms'])
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      return log
    }
    for (const [at, day] of [2, 3, 4, 5].entries()) {
      await writeDays(tape, at === 0 ? [1, day] : [day])
      expect(await publish(tape.path)).toHaveLength(at + 1)
    }
    expect(await publish(tape.path)).toHaveLength(4)
    // Of the fourth day another tape has more rows, so that the snapshots which name its files end.
    await writeDays(other, [1, 2, 3, 4, 4, 5])
    const log = await publish(other.path, '--rewrite')
    expect(log).toHaveLength(1)
    expect(history).toHaveLength(5)
  })

  it('follows a manifest that a killed run left, before files of an earlier one are removed', async () => {
    const lake = join(home, 'behind')
    await write(lake, '--iceberg')
    const before = join(home, 'behind-before')
    cpSync(lake, before, { recursive: true })
    const other = toDataFolder(join(home, 'half-as-long'))
    const store = openEmbeddedStore({ file: other.tape })
    onTestFinished(() => store.close())
    for (const batch of makeMarket(ROWS / 2)) await store.append(batch)
    const objects = openFolderObjects(lake)
    const removed: string[] = []
    const remove = async (name: string): Promise<void> => {
      const { files } = await readTable((file) => readFileSync(join(lake, file)), 'venueb', 'books')
      expect(files.map(({ path }) => path)).not.toContain(`file://${lake}/${name}`)
      removed.push(name)
      await objects.remove(name)
    }
    const order: LakeOrder = {
      store,
      objects: withMethods(objects, { remove }),
      now: Date.now() * 1000,
      isRewritten: true,
      partRows: 8000,
      withTables: false,
      reached: () => Promise.resolve(Infinity),
      check: () => undefined,
      onDay: () => undefined,
    }
    await writeLake(order)
    // As a kill leaves it after the manifest: the table and the files are those of the run before.
    rmSync(join(lake, '_iceberg'), { recursive: true })
    cpSync(join(before, '_iceberg'), join(lake, '_iceberg'), { recursive: true })
    cpSync(join(before, BOOKS), join(lake, BOOKS), { recursive: true })
    removed.length = 0
    expect(await writeLake(order)).toMatchObject({ days: 0, snapshots: 1 })
    expect(removed.filter((name) => name.endsWith('.parquet')).length).toBeGreaterThan(0)
    await expectWhole(lake, ids.slice(0, ROWS / 2))
    await expectTable(lake)
  })

  it('begins again with the new locations where its folder was moved', async () => {
    const lake = join(home, 'here')
    await write(lake, '--iceberg')
    const [before] = await expectTable(lake)
    const moved = join(home, 'there')
    renameSync(lake, moved)
    expect(await write(moved)).toMatchObject({ days: 0, snapshots: 1 })
    const [after, ...others] = await expectTable(moved)
    expect(others).toEqual([])
    expect(after!['sequence-number']).toBe(2)
    expect(after!['snapshot-id']).not.toBe(before!['snapshot-id'])
  })

  it('is completed where a run ended before the hint, or left files of a commit', async () => {
    const lake = join(home, 'half')
    await write(lake, '--iceberg')
    const folder = join(lake, TABLE)
    writeFileSync(join(folder, 'version-hint.text'), '0')
    writeFileSync(join(folder, '000002-2026-08-12-0123456789abcdef.avro'), 'of a run that ended')
    await write(lake)
    expect(await expectTable(lake)).toHaveLength(1)
  })
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

function run(
  lake: string,
  tape = data.path,
  ...more: string[]
): { readonly ended: Promise<unknown>; kill(): void } {
  const words = ['--to', lake, '--data', tape, '--part-rows', '8000', '--iceberg']
  const args = [PROGRAM, 'lake', ...words, ...more]
  const child = spawn(process.execPath, args, { stdio: 'ignore' })
  return {
    ended: new Promise((resolve) => child.on('close', resolve)),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** The files that readers see, by name, with their hashes; those of tables have the times of their commits. */
function contentOf(lake: string): ReadonlyMap<string, string> {
  const exclude = ['_locks/**', '_iceberg/**']
  const names = globSync('**/*.{parquet,json}', { cwd: lake, exclude }).sort()
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

/** The table has exactly the files of the manifest, and its folder only what its snapshots need. */
type LogEntry = { readonly 'snapshot-id': number; readonly 'timestamp-ms': number }
type LoggedMetadata = {
  readonly 'current-snapshot-id': number
  readonly snapshots: readonly LogEntry[]
  readonly 'snapshot-log': readonly LogEntry[]
}

/** Goes on in a tape with a book on each of some days, one after another. */
async function writeDays({ tape }: DataFolder, days: readonly number[]): Promise<void> {
  const store = openEmbeddedStore({ file: tape })
  const journal = await store.appliedPosition('venueb')
  const seconds = (day: number, row: number): number => (day - 100) * 86_400 + row
  const record = roundOfB({ openTime: after(seconds(0, 0)) })
  const market = new MarketWriter(store, record, journal)
  if (journal === 0) await market.record(record, seconds(days[0]!, 0))
  for (const [index, day] of days.entries()) {
    await market.book(seconds(day, index + 1), [[`0.4${index}`, '10']], [['0.6', `1${day}`]])
  }
  await store.close()
}

async function expectTable(lake: string): Promise<readonly TableSnapshot[]> {
  const newest = globSync(`_manifests/${BOOKS}/*.json`, { cwd: lake }).sort().at(-1)!
  const manifest = JSON.parse(readFileSync(join(lake, newest), 'utf8')) as LakeManifest
  const table = await readTable((name) => readFileSync(join(lake, name)), 'venueb', 'books')
  const toPath = (name: string): string => `file://${lake}/${name}`
  expect(table.files).toEqual(
    manifest.files.map(({ name, rows, bytes }) => ({ path: toPath(name), rows, bytes })),
  )
  expect(table.location).toBe(toPath('_iceberg/venueb/books'))
  expect(globSync(`${TABLE}/*`, { cwd: lake }).map(toPath).sort()).toEqual(table.needed)
  return table.snapshots
}
