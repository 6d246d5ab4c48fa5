import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { expectStore } from '../store-answers.testing.ts'
import { ModelStore } from '../store-model.testing.ts'
import { Script } from '../store-script.testing.ts'
import type { EmbeddedOptions } from './open.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'

/** The code that opening fails with, or `open`. */
function attempt(folder: TapeFolder, options: Partial<EmbeddedOptions> = {}): unknown {
  try {
    folder.open(options)
    return 'open'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

/** A foreign database. */
function writeForeign(folder: TapeFolder, userVersion: number): Buffer {
  const connection = new DatabaseSync(folder.file)
  connection.exec(`CREATE TABLE notes (text TEXT); PRAGMA user_version = ${userVersion}`)
  connection.close()
  return readFileSync(folder.file)
}

describe('opening', () => {
  test('a new file says what it is', async () => {
    const folder = createTapeFolder()
    await folder.open().close()
    const [id] = folder.sql('PRAGMA application_id')
    expect(id).toEqual({ application_id: Buffer.from('PBTA').readUInt32BE() })
    expect(folder.sql('PRAGMA user_version')).toEqual([{ user_version: SCHEMA_VERSION }])
    expect(folder.sql('PRAGMA page_size')).toEqual([{ page_size: 1024 }])
    expect(folder.sql('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }])
  })

  test('a database of a newer Priorbook is refused and left as it is', async () => {
    const folder = createTapeFolder()
    await folder.open().close()
    folder.sql('PRAGMA user_version = 999')
    const before = readFileSync(folder.file)
    expect(attempt(folder)).toBe('newer_schema')
    expect(attempt(folder, { readOnly: true })).toBe('newer_schema')
    expect(readFileSync(folder.file).equals(before)).toBe(true)
    folder.sql(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    expect(attempt(folder)).toBe('open')
  })

  test('a foreign database is refused and left unchanged', () => {
    const folder = createTapeFolder()
    const before = writeForeign(folder, 0)
    expect(attempt(folder)).toBe('store_unavailable')
    expect(attempt(folder, { readOnly: true })).toBe('store_unavailable')
    expect(readFileSync(folder.file).equals(before)).toBe(true)
  })

  test('a foreign database that happens to have our version number is refused by name', () => {
    const folder = createTapeFolder()
    writeForeign(folder, 1)
    expect(attempt(folder)).toBe('store_unavailable')
    expect(attempt(folder, { readOnly: true })).toBe('store_unavailable')
  })

  test('a file that is not a database is refused and left unchanged', () => {
    const folder = createTapeFolder()
    const text = 'This is not a database, whatever its name says.\n'.repeat(40)
    writeFileSync(folder.file, text)
    expect(attempt(folder)).toBe('corrupt_database')
    expect(attempt(folder, { readOnly: true })).toBe('corrupt_database')
    expect(readFileSync(folder.file, 'utf8')).toBe(text)
  })

  test('a missing file cannot be read, and reading does not create it', () => {
    const folder = createTapeFolder()
    expect(attempt(folder, { readOnly: true })).toBe('store_unavailable')
    expect(existsSync(folder.file)).toBe(false)
  })

  test('a folder that cannot be made is a place that cannot be written', () => {
    const folder = createTapeFolder()
    const file = join(folder.file, 'inside', 'tape.db')
    writeFileSync(folder.file, 'a file where a folder should be')
    expect(attempt(folder, { file })).toBe('store_read_only')
  })

  test('only one writer, in this process or another, until it closes', async () => {
    const folder = createTapeFolder()
    const store = folder.open()
    expect(attempt(folder)).toBe('store_locked')
    const code = `
import { openEmbeddedStore } from '${new URL('open.ts', import.meta.url).href}'
const attempt = (options) => { try { openEmbeddedStore(options); return 'open' } catch (error) { return error.code } }
const file = process.argv[1]
console.log(attempt({ file }), attempt({ file, readOnly: true }))`
    const run = (): string => {
      const args = ['--input-type=module', '-e', code, folder.file]
      return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim()
    }
    expect(run()).toBe('store_locked open')
    await store.close()
    // The other process ends without closing: the system frees its lock.
    expect(run()).toBe('open open')
    expect(attempt(folder)).toBe('open')
  })

  test('a refused opening holds nothing: the next one succeeds', async () => {
    const folder = createTapeFolder()
    await folder.open().close()
    for (let round = 0; round < 3; round++) {
      folder.sql('PRAGMA user_version = 999')
      expect(attempt(folder)).toBe('newer_schema')
      folder.sql(`PRAGMA user_version = ${SCHEMA_VERSION}`)
      await folder.open().close()
    }
  })

  test('a reader opens whether or not a writer is there, and keeps its place', async () => {
    expect.hasAssertions()
    const folder = createTapeFolder()
    const script = new Script(91)
    const model = new ModelStore(script.books)
    const write = async (batches: number): Promise<void> => {
      const store = folder.open()
      for (const batch of script.take(batches)) {
        await store.append(batch)
        model.apply(batch)
      }
      await store.close()
    }
    await write(20)
    const reader = folder.open({ readOnly: true })
    await expectStore(reader, model)
    await write(20)
    await expectStore(reader, model)
    await expectStore(folder.open({ readOnly: true }), model)
  })

  test('a backup is a store of its own; one file is never written twice', async () => {
    const folder = createTapeFolder()
    const script = new Script(92)
    const model = new ModelStore(script.books)
    const store = folder.open({ limits: { rows: 60, step: 24 } })
    const batches = script.take(60)
    for (const batch of batches.slice(0, 40)) {
      await store.append(batch)
      model.apply(batch)
    }
    const file = join(dirname(folder.file), 'copy.db')
    await store.backup(file)
    await expect(store.backup(file)).rejects.toMatchObject({ name: 'PriorbookError' })
    await expect(store.backup('/nowhere/at/all.db')).rejects.toMatchObject({
      name: 'PriorbookError',
    })
    const copy = folder.open({ file })
    for (const batch of batches) await copy.append(batch)
    await expectStore(store, model)
    for (const batch of batches.slice(40)) model.apply(batch)
    await copy.seal()
    await expectStore(copy, model)
    expect((await copy.verify()).problems).toEqual([])
  })
})
