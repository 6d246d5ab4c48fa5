import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { callServer } from '../../../commands/call.testing.ts'
import type { DataFolder } from '../../../lib/data-folder.ts'
import { openEmbeddedStore } from '../open.ts'
import { merge, mergeDifferences, hear, TICKER, type Said } from './merge.testing.ts'
import { mergeRecorders } from './merge.ts'
import { booksOf, createDataFolder, record } from '../../../recorder/scripted.testing.ts'

const SAID: readonly Said[] = [
  { at: 0 },
  { at: 10, change: { cents: 3, by: 1 } },
  { at: 20, change: { cents: 4, by: 1 } },
]

async function createPair(): Promise<[DataFolder, DataFolder]> {
  const [a, b] = [createDataFolder(), createDataFolder()]
  await hear(a, 'a', SAID, [{ from: 5.5, to: 15.5, kind: 'noticed' }])
  await hear(b, 'b', SAID, [])
  return [a, b]
}

/** The code that a merge is refused with; whatever was there stays. */
async function refusalOf(target: string, ...folders: string[]): Promise<string> {
  try {
    await mergeRecorders({ target, folders })
  } catch (error) {
    if (error instanceof PriorbookError) return error.code
    throw error
  }
  return 'merged'
}

describe('what cannot be merged', () => {
  it('is refused with a listed code', async () => {
    const [a, b] = await createPair()
    const target = createDataFolder().path
    const nothing = createDataFolder().path
    expect(await refusalOf(target)).toBe('invalid_argument')
    expect(await refusalOf(target, a.path)).toBe('invalid_argument')
    expect(await refusalOf(target, a.path, nothing)).toBe('store_unavailable')
    expect(await refusalOf(target, a.path, a.path)).toBe('invalid_argument')
    expect(await refusalOf(a.path, a.path, b.path)).toBe('invalid_argument')
    expect(await refusalOf(join(a.path, 'merged'), a.path, b.path)).toBe('invalid_argument')
    expect(await refusalOf(dirname(a.path), a.path, b.path)).toBe('invalid_argument')
    expect(existsSync(target)).toBe(false)
    expect(existsSync(nothing)).toBe(false)
  })

  it('is refused also by another name of the same folder', async () => {
    const [a, b] = await createPair()
    const other = join(dirname(b.path), 'other')
    symlinkSync(a.path, other)
    expect(await refusalOf(createDataFolder().path, a.path, other)).toBe('invalid_argument')
    expect(await refusalOf(other, a.path, b.path)).toBe('invalid_argument')
  })

  it('is two folders of one recorder, of real and emulated data, or an empty tape', async () => {
    const [a, b] = await createPair()
    const target = createDataFolder().path
    const twin = createDataFolder()
    await hear(twin, 'a', SAID, [])
    expect(await refusalOf(target, a.path, twin.path)).toBe('invalid_argument')
    const live = createDataFolder()
    const connect = { note: 'connected', slot: 1, url: 'ws://b' } as const
    await record(live, 'venueb', (script) => script.note(connect), {
      recorder: 'live',
      origin: 'live',
    })
    expect(await refusalOf(target, b.path, live.path)).toBe('origin_mismatch')
    const empty = createDataFolder()
    await openEmbeddedStore({ file: empty.tape }).close()
    expect(await refusalOf(target, b.path, empty.path)).toBe('store_unavailable')
    expect(existsSync(target)).toBe(false)
  })
})

describe('the folder of a merge', () => {
  it('is never one that holds anything else', async () => {
    const [a, b] = await createPair()
    const recorded = createDataFolder()
    await hear(recorded, 'c', SAID, [])
    const before = await booksOf(recorded, 'venueb', TICKER)
    expect(await refusalOf(recorded.path, a.path, b.path)).toBe('invalid_argument')
    expect(await booksOf(recorded, 'venueb', TICKER)).toEqual(before)
    const notes = createDataFolder()
    mkdirSync(notes.path)
    writeFileSync(join(notes.path, 'notes.txt'), 'mine')
    expect(await refusalOf(notes.path, a.path, b.path)).toBe('invalid_argument')
    expect(readdirSync(notes.path)).toEqual(['notes.txt'])
  })

  it('keeps the earlier merge when a new one fails or another process writes to it', async () => {
    const [a, b] = await createPair()
    const target = createDataFolder()
    await merge(target, a, b)
    const before = await booksOf(target, 'venueb', TICKER)
    expect(before).toHaveLength(4)
    await expect(
      mergeRecorders({
        target: target.path,
        folders: [a.path, b.path],
        onProgress: () => {
          throw new PriorbookError('disk_full', 'in the middle')
        },
      }),
    ).rejects.toThrow('in the middle')
    expect(await booksOf(target, 'venueb', TICKER)).toEqual(before)
    const held = openEmbeddedStore({ file: target.tape })
    expect(await refusalOf(target.path, a.path, b.path)).toBe('store_locked')
    await held.close()
    expect(await refusalOf(target.path, a.path, b.path)).toBe('merged')
    expect(readdirSync(dirname(target.path))).toEqual(['data'])
  })

  it('is whole again after a kill at any point', async () => {
    const [a, b] = await createPair()
    const [target, other] = [createDataFolder(), createDataFolder()]
    await merge(target, a, b)
    await merge(other, a, b)
    // Killed while it wrote.
    mkdirSync(`${target.path}.merging`)
    writeFileSync(`${target.path}.merging/tape.db`, 'half')
    await merge(target, a, b)
    expect(readdirSync(dirname(target.path))).toEqual(['data'])
    // Killed between the two renamings: the old one is taken back, also when this merge is refused.
    renameSync(target.path, `${target.path}.before`)
    await expect(
      mergeRecorders({
        target: target.path,
        folders: [a.path, b.path],
        onProgress: () => {
          throw new PriorbookError('disk_full', 'in the middle')
        },
      }),
    ).rejects.toThrow('in the middle')
    expect(await mergeDifferences(target, other)).toEqual([])
    expect(readdirSync(dirname(target.path))).toEqual(['data'])
  })
})

describe('the command merge', () => {
  it('says what it did, and as JSON', async () => {
    const [a, b] = await createPair()
    const target = createDataFolder()
    const args = ['merge', '--data', target.path, b.path, a.path]
    const plain = await callServer(...args)
    expect(plain.code).toBe(0)
    expect(plain.out).toContain('1 instruments: 4 observations, 1 of them fill gaps')
    const json = await callServer(...args, '--json')
    expect(json.code).toBe(0)
    expect(JSON.parse(json.out)).toMatchObject({
      folder: target.path,
      recorders: [{ ids: ['a'] }, { ids: ['b'] }],
      books: { observations: 4, filled: 1, repeated: 0, gaps: 1 },
    })
  })
})
