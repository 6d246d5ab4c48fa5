import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toMicros } from '@priorbook/sdk/domain'
import { expect, onTestFinished, test } from 'vitest'
import { moveAway, openJournalWriter, removeSegments } from '../journal/index.ts'
import { openObjects } from '../objects/open-objects.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { ColdMover } from './cold-mover.ts'

test('a folder that is not mounted is not taken for a new one, also where only the journal is there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-mover-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const address = join(folder, 'archive')
  const journalDir = join(folder, 'journal')
  const writer = openJournalWriter({
    dir: journalDir,
    venue: 'venueb',
    origin: 'live',
    recorder: 'r1',
    segmentBytes: 1000,
    sync: false,
  })
  for (let at = 0; at < 50; at++) {
    writer.append(toMicros(1_786_000_000_000_000 + at), 'message', Buffer.from(`${Math.random()}`))
    writer.commit()
  }
  writer.close()
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(() => store.close())
  const now = Date.now() * 1000 + 86_400_000_000
  const moved = await moveAway({
    dir: journalDir,
    venue: 'venueb',
    objects: openObjects(address, {}),
    owner: await store.owner(),
    before: now,
    packed: 50,
    now,
    keepUnused: 0,
  })
  expect(moved.files).toBeGreaterThan(1)
  const config = { address, after: '1d', keepUnused: '0s', cacheMb: 10 }
  const mover = new ColdMover({ store, journalDir, config })
  await mover.pass()
  expect(mover.status()?.journal).toEqual({ files: moved.files, bytes: moved.bytes })
  // An object has to go, so that the storage is needed.
  expect(removeSegments(journalDir, 'venueb', { bytes: 0 })?.files.length).toBe(moved.files)
  renameSync(address, `${address}.unmounted`)
  await expect(mover.pass()).rejects.toMatchObject({ code: 'objects_refused' })
  expect(existsSync(address)).toBe(false)
})
