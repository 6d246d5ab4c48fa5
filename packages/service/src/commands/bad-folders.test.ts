import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { callServer } from './call.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-bad-folders-'))
const data = join(scratch, 'data')
const file = join(scratch, 'file')
const recording = join(scratch, 'recording')

beforeAll(async () => {
  await openEmbeddedStore({ file: join(data, 'tape.db') }).close()
  writeFileSync(file, 'not a folder\n')
  mkdirSync(recording)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

// The system answers mkdir in /proc with ENOENT although /proc exists.
const NOWHERE = ['/proc/priorbook', '/proc/priorbook/deeper', '/sys/priorbook']
const FILES = [file, '/dev/null']
const BELOW_FILES = [join(file, 'data'), '/dev/null/data']

const COMMANDS = [
  ['keys', 'create'],
  ['keys', 'list'],
  ['serve', '--upstream', 'none', '--port', '0', '--ops-port', '0'],
  ['import', 'venueb', recording],
  ['backfill', 'venueb', '--series', 'KXBTC15M', '--from', '2026-08-01'],
  ['verify'],
  ['verify', '--journal'],
  ['seal'],
  ['rebuild'],
  ['prove'],
  ['retention', '--dry-run'],
  ['tape', 'pack'],
  ['journal', 'pack'],
  ['journal', 'cat', '--venue', 'venueb'],
  ['tier', '--older-than', '1d', '--to', join(scratch, 'tier')],
  ['cold', '--to', join(scratch, 'cold')],
  ['lake', '--to', join(scratch, 'lake')],
  ['backup', join(scratch, 'backup')],
  ['restore', data],
]

const TARGETS = [
  ['tier', '--older-than', '1d', '--to'],
  ['cold', '--to'],
  ['lake', '--to'],
  ['backup'],
]

// The call ends with an error that has a code, names the path or the folder above it, and has no stack trace.
const REFUSED = { isError: true, hasCode: true, isNamed: true, trace: false, out: '' }

async function refusalOf(args: readonly string[], path: string) {
  const { code, out, err } = await callServer(...args)
  return {
    // Shown where a call does something else.
    call: `${args.join(' ')} → ${err}`,
    isError: code === 1 || code === 2,
    hasCode: /^priorbook-server: .* \([a-zA-Z_]+\)$/m.test(err),
    isNamed: err.includes(path.replace(/\/(data|deeper)$/, '')),
    trace: /^ +at /m.test(err),
    out,
  }
}

describe.skipIf(process.platform !== 'linux')('a folder that cannot be made', () => {
  it.each(COMMANDS)('is refused at once as --data of %s %s', async (...args) => {
    for (const path of [...NOWHERE, ...BELOW_FILES]) {
      expect(await refusalOf([...args, '--data', path], path)).toMatchObject(REFUSED)
    }
  })

  it.each(TARGETS)('is refused at once as the target of %s %s', async (...args) => {
    for (const path of [...NOWHERE, ...BELOW_FILES, ...FILES]) {
      expect(await refusalOf([...args, path, '--data', data], path)).toMatchObject(REFUSED)
    }
  })
})

it.each(COMMANDS)('a file is refused as --data of %s %s', async (...args) => {
  for (const path of FILES) {
    const call = await refusalOf([...args, '--data', path], path)
    expect(call).toMatchObject(REFUSED)
    expect(call.call).toContain(`${path} is not a folder`)
  }
})
