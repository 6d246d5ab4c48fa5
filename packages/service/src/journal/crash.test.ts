import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { toMicros } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import { toDiskError } from './disk.ts'
import { openJournalWriter } from './index.ts'
import { createRandom } from '../lib/random.testing.ts'
import { createFolder, openWriter, readAll } from './journal-folder.testing.ts'

// Children run this folder's sources directly; `npx node` would cost 0.6 s each.
const PRELUDE = `
import { randomBytes } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { openJournalWriter } from '${new URL('index.ts', import.meta.url).href}'
import { readJournal } from '${import.meta.resolve('@priorbook/sdk/journal')}'
const dir = process.argv[1]
const open = (more) => openJournalWriter({ dir, venue: 'venueb', origin: 'live', recorder: 'r1', ...more })
const attempt = (action) => { try { return action() } catch (error) { return error.code } }
const bytesOn = (folder) => readdirSync(folder).reduce((sum, name) => sum + statSync(folder + '/' + name).size, 0)
function count() {
  let records = 0
  let damages = 0
  for (const item of readJournal({ dir, venue: 'venueb' })) {
    if (item.kind === 'block') records += item.count
    else damages++
  }
  return { records, damages }
}
const print = (value) => writeSync(1, JSON.stringify(value) + '\\n')
`

function childArguments(code: string, dir: string): string[] {
  return ['--input-type=module', '-e', PRELUDE + code, dir]
}

function runChild(command: string, args: readonly string[]): unknown {
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

describe('kill -9', () => {
  const APPEND = `
const writer = open({ segmentBytes: 200_000 })
for (let i = 1; ; i++) {
  const number = writer.nextNumber
  writer.append(number, 'message', Buffer.from(String(number).repeat(number % 300)))
  // Several blocks in one commit now and then.
  if (i % 50 === 0) writer.append(number, 'message', randomBytes(1_200_000))
  if (i % 3 === 0) print(writer.commit())
}`

  test('loses nothing committed and leaves nothing torn, cycle after cycle', async () => {
    const dir = createFolder()
    const random = createRandom(11)
    for (let cycle = 0; cycle < 5; cycle++) {
      const committed = await killWhileAppending(dir, 20 + random() * 80)
      const { records, damages } = readAll(dir)
      const wrong: number[] = []
      expect(records.length).toBeGreaterThanOrEqual(committed)
      expect(damages.every((damage) => damage.reason === 'torn_tail')).toBe(true)
      for (const [index, { number, received, bytes }] of records.entries()) {
        const isLarge = bytes.length === 1_200_000
        const isTrue = isLarge || Buffer.from(String(number).repeat(number % 300)).equals(bytes)
        if (number !== index + 1 || received !== number - (isLarge ? 1 : 0) || !isTrue) {
          wrong.push(number)
        }
      }
      expect(wrong).toEqual([])
    }
    openWriter(dir).close()
    expect(readAll(dir).damages).toEqual([])
  })

  async function killWhileAppending(dir: string, afterMs: number): Promise<number> {
    const child = spawn(process.execPath, childArguments(APPEND, dir))
    let printed = ''
    let errors = ''
    child.stderr.on('data', (chunk) => (errors += chunk))
    child.stdout.on('data', (chunk) => {
      if (printed === '') setTimeout(() => child.kill('SIGKILL'), afterMs)
      printed += chunk
    })
    await new Promise((resolve) => child.on('close', resolve))
    expect(errors).toBe('')
    // A last line without its end was not printed in full.
    return Number(printed.split('\n').at(-2))
  }
})

describe('a full disk', () => {
  const FILL = `
let full
while (full === undefined) {
  writer.append(1, 'message', randomBytes(50_000))
  full = attempt(() => void writer.commit())
}`

  test.skipIf(process.platform === 'win32')(
    'keeps what was committed, shows nothing of the rest, and keeps it pending',
    () => {
      const code = `const writer = open()${FILL}
print({ full, again: attempt(() => writer.commit()), ...count(), committed: writer.committed,
  next: writer.nextNumber, isPending: writer.pendingBytes > 50_000, size: bytesOn(dir + '/venueb') })`
      const limited = ['-c', 'trap "" XFSZ; ulimit -f 600; exec "$0" "$@"', process.execPath]
      const result = runChild('sh', [...limited, ...childArguments(code, createFolder())])
      expect(result).toMatchObject({ full: 'disk_full', again: 'disk_full', isPending: true })
      const { records, size } = result as { records: number; size: number }
      expect(records).toBeGreaterThan(3)
      expect(result).toMatchObject({ damages: 0, committed: records, next: records + 2 })
      // What did not fit was cut off again: less than a record beyond the committed ones.
      expect(size).toBeLessThan(records * 50_400)
    },
  )

  test('continues once there is space; a read-only file system has its own code', (context) => {
    const dir = createFolder()
    const mount = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
    const inside = ['-rm', 'sh', '-c', mount, dir]
    if (spawnSync('unshare', [...inside, 'true']).status !== 0) {
      context.skip('no private tmpfs can be mounted here')
    }
    const code = `
writeFileSync(dir + '/ballast', Buffer.alloc(500_000))
const writer = open({ segmentBytes: 120_000 })${FILL}
const before = count()
rmSync(dir + '/ballast')
const committed = writer.commit()
writer.close()
const after = count()
const remount = spawnSync('mount', ['-o', 'remount,ro', dir]).status
print({ full, before, committed, after, remount, readOnly: attempt(() => open()) })`
    const args = [...inside, process.execPath, ...childArguments(code, dir)]
    const result = runChild('unshare', args) as { committed: number }
    const { committed } = result
    expect(committed).toBeGreaterThan(3)
    expect(result).toEqual({
      full: 'disk_full',
      before: { records: committed - 1, damages: 0 },
      committed,
      after: { records: committed, damages: 0 },
      remount: 0,
      readOnly: 'store_read_only',
    })
  })

  test('errors of the file system have listed codes', () => {
    const codeOf = (code: string) =>
      toDiskError(Object.assign(new Error(code), { code }), '/x').code
    expect(['ENOSPC', 'EDQUOT', 'EFBIG'].map(codeOf)).toEqual(Array(3).fill('disk_full'))
    expect(['EROFS', 'EACCES', 'EPERM'].map(codeOf)).toEqual(Array(3).fill('store_read_only'))
    expect(codeOf('EIO')).toBe('store_unavailable')
  })
})

describe('a read-only folder', () => {
  test.skipIf(process.platform === 'win32')('is refused, stays readable, and costs nothing', () => {
    const dir = createFolder()
    chmodSync(dir, 0o777)
    // Root may write anywhere, so a child of root becomes nobody once its modules are loaded.
    const code = `
const journal = dir + '/venueb'
const allow = (mode) => chmodSync(journal, mode)
if (process.getuid() === 0) process.setuid(65534)
const writer = open({ segmentBytes: 300 })
writer.append(1, 'message', randomBytes(200))
writer.commit()
allow(0o555)
writer.append(2, 'message', randomBytes(200))
const rotating = attempt(() => writer.commit())
const opening = attempt(() => open())
const during = count()
allow(0o755)
const committed = writer.commit()
writer.close()
for (const name of readdirSync(journal)) chmodSync(journal + '/' + name, 0o444)
const continuing = attempt(() => open())
print({ rotating, opening, during, committed, continuing, after: count() })`
    expect(runChild(process.execPath, childArguments(code, dir))).toEqual({
      rotating: 'store_read_only',
      opening: 'store_read_only',
      during: { records: 1, damages: 0 },
      committed: 2,
      continuing: 'store_read_only',
      after: { records: 2, damages: 0 },
    })
  })
})

describe('the sync', () => {
  // Linux counts bytes that were written and then cut before they reached the disk: none after a sync.
  function cancelledBytes(): number {
    const io = readFileSync('/proc/self/io', 'utf8')
    return Number(/^cancelled_write_bytes: (\d+)$/m.exec(io)?.[1])
  }

  function cancelledAfterCommit(sync: boolean): number {
    const dir = createFolder()
    const writer = openJournalWriter({
      dir,
      venue: 'venueb',
      origin: 'live',
      recorder: 'r1',
      ...(sync ? {} : { sync }),
    })
    for (let i = 0; i < 3; i++) {
      writer.append(toMicros(i), 'message', Buffer.alloc(9000, `${i} some text `))
      writer.commit()
    }
    const [name] = readdirSync(join(dir, 'venueb')) as [string]
    const before = cancelledBytes()
    truncateSync(join(dir, 'venueb', name), 0)
    const cancelled = cancelledBytes() - before
    writer.close()
    return cancelled
  }

  test('has happened when commit returns', (context) => {
    if (process.platform !== 'linux') context.skip('only Linux counts cancelled writes')
    if (cancelledAfterCommit(false) === 0) context.skip('this file system counts no writes')
    expect(cancelledAfterCommit(true)).toBe(0)
    expect(cancelledAfterCommit(false)).toBeGreaterThan(0)
  })
})
