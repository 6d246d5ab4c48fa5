import { execFile, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { createLines, START_MS } from '../derive/lines.testing.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { callServer, type Called as Result } from './call.testing.ts'

const BIN = fileURLToPath(new URL('../../bin/priorbook-server.mjs', import.meta.url))
const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))

/** Runs the program as a user does. */
function run(...args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { cwd: scratch }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 99
      resolve({ code, out, err })
    })
  })
}

const call = callServer

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-commands-'))
const data = join(scratch, 'data')
const json = async <T>(...args: string[]): Promise<T> => {
  const { out, err } = await call(...args, '--json')
  if (out === '') throw new Error(err)
  return JSON.parse(out) as T
}

beforeAll(async () => {
  const { code, out } = await run('import', 'venueb', '--data', data, SAMPLE)
  expect(out).toContain('observations')
  expect(code).toBe(0)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('calls', () => {
  it('shows help, and help for one command', async () => {
    const all = await run('--help')
    expect(all.code).toBe(0)
    for (const name of [
      'demo',
      'import',
      'verify',
      'seal',
      'rebuild',
      'backup',
      'restore',
      'doctor',
    ]) {
      expect(all.out).toContain(name)
    }
    expect((await call('verify', '--help')).out).toContain('Usage: priorbook-server verify')
  })

  it('explains a wrong call and exits with 2', async () => {
    for (const args of [
      ['nonsense'],
      ['import', 'venueb'],
      ['import', 'venuez', 'x'],
      ['verify', '--nonsense'],
      ['backup', '--data', data],
      ['import', 'venueb', '--data', data, join(scratch, 'nowhere')],
    ]) {
      const { code, err } = await (args.length < 3 ? run : call)(...args)
      expect([args, code]).toEqual([args, 2])
      expect(err).not.toContain('    at ')
      expect(err).toMatch(/no command|invalid_argument/)
    }
  })

  it('names a setting as the docs do, not an option that does not exist', async () => {
    const { code, err } = await call('serve', '--port', 'many', '--data', join(scratch, 'never'))
    expect([code, err]).toEqual([1, expect.stringContaining('api.port is "many", not a number')])
  })

  it('exits with 1 and a listed code where there is nothing to read', async () => {
    const { code, err } = await run('verify', '--data', join(scratch, 'empty'))
    expect(code).toBe(1)
    expect(err).toContain('store_unavailable')
    expect(err).not.toContain('    at ')
  })

  it('runs the demo with a book on the screen', async () => {
    const { code, out } = await run('demo')
    expect(code).toBe(0)
    expect(out).toMatch(/full-depth books/)
    expect(out).toMatch(/ask {2}0\.\d+/)
    expect(out).toMatch(/bid {2}0\.\d+/)
    expect(out).toContain('disconnected')
    expect((await call('demo')).code).toBe(0)
  })
})

describe('a data folder', () => {
  it('is verified, with its journal', async () => {
    type Report = { problems: unknown[]; observations: number; records: number }
    const report = await json<Report>('verify', '--data', data, '--journal')
    expect(report.problems).toEqual([])
    expect(report.observations).toBeGreaterThan(5000)
    expect(report.records).toBeGreaterThan(report.observations)
  })

  it('is sealed twice without a change', async () => {
    const before = readFileSync(join(data, 'tape.db'))
    expect((await call('seal', '--data', data)).code).toBe(0)
    expect(readFileSync(join(data, 'tape.db')).equals(before)).toBe(true)
  })

  it('is derived again with equal hashes', async () => {
    type Report = { differences: unknown[]; chunks: number }
    const report = await json<Report>('rebuild', '--data', data)
    expect(report.differences).toEqual([])
    expect(report.chunks).toBeGreaterThan(3)
    expect(readdirSync(data).filter((name) => name.startsWith('rebuild-'))).toEqual([])
  })

  it('is backed up and restored', async () => {
    const backup = join(scratch, 'backup')
    await run('keys', 'create', '--plan', 'quant', '--name', 'kept', '--data', data)
    writeFileSync(join(data, 'plans.json'), '{"plans":{}}')
    const made = await run('backup', '--data', data, backup)
    expect(made.code).toBe(0)
    expect(made.out).toContain('1 keys, own plans')
    expect((await call('backup', '--data', data, backup)).code).toBe(2)
    const restored = join(scratch, 'restored')
    const told = await run('restore', '--data', restored, backup)
    expect(told.code).toBe(0)
    expect(told.out).toContain('1 keys, own plans')
    const keys = await json<readonly { name: string }[]>('keys', 'list', '--data', restored)
    expect(keys).toEqual(await json('keys', 'list', '--data', data))
    rmSync(join(data, 'plans.json'))
    expect((await call('restore', '--data', restored, backup)).code).toBe(2)
    type Report = { problems: unknown[]; observations: number }
    const own = await json<Report>('verify', '--data', data)
    expect(await json<Report>('verify', '--data', restored)).toEqual(own)
    expect(
      (await json<{ differences: unknown[] }>('rebuild', '--data', restored)).differences,
    ).toEqual([])
  })

  it('is not sound without the end of its journal, or with records that it does not have', async () => {
    const cut = join(scratch, 'cut')
    await call('import', 'venueb', '--data', cut, SAMPLE)
    const segment = readdirSync(join(cut, 'journal'), { recursive: true, encoding: 'utf8' })
      .map((name) => join(cut, 'journal', name))
      .filter((path) => statSync(path).isFile())
      .at(-1)!
    const whole = readFileSync(segment)
    writeFileSync(segment, whole.subarray(0, Math.floor(whole.length / 2)))
    const verified = await call('verify', '--data', cut)
    expect(verified.code).toBe(1)
    expect(verified.out).toMatch(/corrupt_journal: it ends at record \d+, but the tape has records/)
    const examined = await call('doctor', '--data', cut)
    expect(examined.code).toBe(1)
    expect(examined.out).toContain('cannot be derived again')

    // A tape that lost its newest commits, as by a truncated log: the journal knows more.
    const behind = join(scratch, 'behind')
    const tape = join(behind, 'tape.db')
    const file = join(scratch, 'lines.ndjson')
    const lines = createLines()
    lines.snapshot(START_MS, 1, [['0.4000', '5.00']], [])
    writeFileSync(file, lines.text())
    await call('import', 'venueb', '--data', behind, file)
    const before = readFileSync(tape)
    lines.delta(START_MS + 5, 2, 'yes', '0.4100', '1.00')
    writeFileSync(file, lines.text())
    await call('import', 'venueb', '--data', behind, file)
    writeFileSync(tape, before)
    const pending = /\d+ journal records are not in the tape/
    expect((await call('doctor', '--data', behind)).out).toMatch(pending)
    const early = await call('verify', '--journal', '--data', behind)
    expect(early.out).toMatch(pending)
    expect(early.code).toBe(0)
  })

  it('gets a new tape from its journal when the old one cannot be opened', async () => {
    const broken = join(scratch, 'broken')
    await call('import', 'venueb', '--data', broken, SAMPLE)
    const own = await json<object>('verify', '--data', broken)
    const tape = join(broken, 'tape.db')
    const bytes = readFileSync(tape)
    bytes.fill(0xff, 0, 4096)
    writeFileSync(tape, bytes)
    const examined = await call('doctor', '--data', broken)
    expect(examined.code).toBe(1)
    expect(examined.out).toContain('rebuild --fresh')
    const { code, out } = await run('rebuild', '--fresh', '--data', broken)
    expect(out).toContain('a new tape was derived')
    expect(code).toBe(0)
    expect(await json('verify', '--data', broken)).toEqual(own)
    expect((await call('verify', '--journal', '--data', broken)).code).toBe(0)
    const beside = readdirSync(broken).filter((name) => name.startsWith('tape.db.'))
    expect(beside.map((name) => name.replace(/-\d.*/, ''))).toEqual(
      expect.arrayContaining(['tape.db.damaged']),
    )
    expect(beside.filter((name) => name.includes('fresh'))).toEqual([])
  })

  it('has open gaps for the doctor where something is lost, not where a market is not open', async () => {
    const folder = join(scratch, 'states')
    await call('import', 'venueb', '--data', folder, SAMPLE)
    const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    const reasons = ['market_closed', 'market_not_open', 'disconnected'] as const
    const position = (await store.appliedPosition('venueb')) + 1
    await store.append({
      venue: 'venueb',
      origin: 'import',
      recorder: 'r1',
      normalizer: 1,
      position,
      gaps: reasons.map((reason) => ({
        venue: 'venueb',
        scope: 'instrument',
        key: reason,
        reason,
        start: 1_790_000_000_000_000 as Micros,
        afterSequence: 0,
        journal: position,
      })),
    })
    await store.close()
    const { out } = await call('doctor', '--data', folder)
    expect(out).toMatch(/^look {2}1 gap is open$/m)
  })

  it('is diagnosed by the doctor, healthy or damaged', async () => {
    const healthy = await call('doctor', '--data', data)
    expect(healthy.out).toContain('are sound')
    expect(healthy.code).toBe(0)
    expect((await call('doctor', '--data', join(scratch, 'none'))).out).toContain(
      'does not exist yet',
    )

    const ill = join(scratch, 'ill')
    await call('import', 'venueb', '--data', ill, SAMPLE)
    const database = new DatabaseSync(join(ill, 'tape.db'))
    database.exec('UPDATE body SET bytes = substr(bytes, 1, 100) WHERE id = 2')
    database.close()
    const sick = await run('doctor', '--data', ill)
    expect(sick.code).toBe(1)
    expect(sick.out).toContain('rebuild --adopt')
    expect((await call('verify', '--data', ill)).out).toContain('corrupt_chunk')
    // The journal mends it, and what was known before stays readable.
    const mended = await run('rebuild', '--data', ill, '--adopt')
    expect(mended.out).toContain('adopted')
    expect((await call('verify', '--data', ill)).code).toBe(0)
    expect((await json<{ differences: unknown[] }>('rebuild', '--data', ill)).differences).toEqual(
      [],
    )
    const store = openEmbeddedStore({ file: join(ill, 'tape.db'), readOnly: true })
    try {
      const [facts] = await store.instruments()
      const query = { ...facts!.instrument, order: 'asc', limit: 1_000_000 } as const
      const whole = await store.books(query)
      const before = await store.books({ ...query, knownAt: facts!.lastReceived })
      expect(whole.corrupt).toEqual([])
      expect(whole.count).toBe(facts!.lastSequence)
      expect(before.corrupt).toHaveLength(1)
      expect(before.count).toBeLessThan(whole.count)
    } finally {
      await store.close()
    }
  })

  it('reports problems of an import line by line and exits with 1', async () => {
    const lines = createLines()
    lines.snapshot(START_MS, 1, [['0.4000', '5.00']], [])
    lines.raw('{"recv_ms":')
    const file = join(scratch, 'bad.ndjson')
    writeFileSync(file, lines.text())
    const folder = join(scratch, 'bad')
    const { code, out } = await call('import', 'venueb', '--data', folder, file, BIN)
    expect(code).toBe(1)
    expect(out).toContain(`problem ${file}:2: invalid_line`)
    expect(out).toContain(`skipped ${BIN}`)
    expect(existsSync(join(folder, 'tape.db'))).toBe(true)
  })

  it('allows one writer', async () => {
    const store = openEmbeddedStore({ file: join(data, 'tape.db') })
    try {
      const { code, err } = await run('seal', '--data', data)
      expect(code).toBe(1)
      expect(err).toContain('store_locked')
      expect((await call('verify', '--data', data)).code).toBe(0)
    } finally {
      await store.close()
    }
  })
})

describe('output', () => {
  /** Runs the program in a shell, which goes on with `rest`. */
  function pipe(
    args: string,
    rest: string,
  ): { readonly status: number | null; readonly err: string } {
    const shell = `"${process.execPath}" "${BIN}" ${args} ${rest}`
    const options = { cwd: scratch, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', shell], options)
    return { status, err: stderr }
  }

  it('whose reader has ended stops the command, which exits with 141', () => {
    const cat = `journal cat --venue venueb --data "${data}"`
    expect(pipe(cat, '| head -n 0 > /dev/null').err).toBe('')
    for (const args of [cat, `verify --data "${data}"`, `keys list --data "${data}"`]) {
      // The reader has ended before the first line is written.
      const shell = `exec 3> >(true); wait $!; "${process.execPath}" "${BIN}" ${args} >&3`
      const { status, stderr } = spawnSync('bash', ['-c', shell], {
        cwd: scratch,
        encoding: 'utf8',
      })
      expect([args, status, stderr]).toEqual([args, 141, ''])
    }
  })

  it.skipIf(!existsSync('/dev/full'))('of a full disk says so', () => {
    for (const args of ['--help', `keys list --data "${data}"`, `verify --data "${data}"`]) {
      const { status, err } = pipe(args, '> /dev/full')
      const said = 'priorbook-server: standard output cannot be written: the disk is full\n'
      expect([args, status, err]).toEqual([args, 1, expect.stringContaining(said)])
      expect(err).not.toContain('    at ')
    }
  })
})

describe('files of a data folder', () => {
  it('are readable by their own user alone', async () => {
    await run('keys', 'create', '--plan', 'quant', '--name', 'mine', '--data', data)
    const open = readdirSync(data, { recursive: true, encoding: 'utf8' })
      .map((name) => join(data, name))
      .filter((path) => (statSync(path).mode & 0o077) !== 0)
    expect(open).toEqual([])
    expect(statSync(data).mode & 0o777).toBe(0o700)
  })

  const readOnly = join(scratch, 'read-only')
  mkdirSync(readOnly)
  const isolate = (folder: string, script: string) => {
    const mount = `mount --bind ${folder} ${readOnly} && mount -o remount,ro,bind ${readOnly}`
    return spawnSync('unshare', ['--mount', 'sh', '-c', `${mount} && ${script}`], {
      encoding: 'utf8',
    })
  }
  const canMount = isolate(scratch, 'true').status === 0

  it.skipIf(!canMount)('can be read on a read-only mount', () => {
    const verify = `${process.execPath} ${BIN} verify --data ${readOnly}`
    const { status, stdout, stderr } = isolate(data, `! touch ${readOnly}/x && ${verify}`)
    expect(`${stdout}${stderr}`).toContain('sound')
    expect(status).toBe(0)
  })
})
