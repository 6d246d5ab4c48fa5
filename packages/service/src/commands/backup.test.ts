import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toMicros } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import { openJournalWriter } from '../journal/index.ts'
import { callServer } from './call.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const FILES = 1500

// Removes the oldest files of a journal, as retention of a recorder does, once a folder is there.
const REMOVER = `
const { existsSync, readdirSync, unlinkSync } = require('node:fs')
const [folder, copy] = process.argv.slice(1)
const names = readdirSync(folder).sort()
console.log('ready')
while (!existsSync(copy)) {}
for (const name of names.slice(0, -5)) unlinkSync(folder + '/' + name)
`

it('a backup goes on while retention removes files of the journal, and has no hole', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'priorbook-backup-'))
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }))
  const data = join(scratch, 'data')
  expect((await callServer('import', 'venueb', SAMPLE, '--data', data)).code).toBe(0)
  const journal = join(data, 'journal')
  const writer = openJournalWriter({
    dir: journal,
    venue: 'venuea',
    origin: 'import',
    recorder: 'r1',
    acknowledged: 0,
    segmentBytes: 1,
    sync: false,
  })
  for (let record = 0; record < FILES; record++) {
    writer.append(toMicros(1_790_000_000_000_000 + record), 'note', Buffer.from('{}'))
    writer.commit()
  }
  writer.close()
  expect(readdirSync(join(journal, 'venuea')).length).toBeGreaterThan(FILES / 2)

  const copy = join(scratch, 'backup')
  const folders = [join(journal, 'venuea'), join(copy, 'journal', 'venuea')]
  const remover = spawn(process.execPath, ['-e', REMOVER, ...folders])
  onTestFinished(() => void remover.kill('SIGKILL'))
  const ended = once(remover, 'exit')
  await once(remover.stdout, 'data')
  const { code, err } = await callServer('backup', '--data', data, copy)
  expect([code, err]).toEqual([0, ''])
  await ended
  const names = readdirSync(join(copy, 'journal', 'venuea')).sort()
  const last = readdirSync(join(journal, 'venuea')).sort().at(-1)
  expect(names.at(-1)).toBe(last)
  const numbers = names.map((name) => Number.parseInt(name, 10))
  expect(numbers.at(-1)! - numbers[0]!).toBe(numbers.length - 1)
})
