import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openEmbeddedStore } from './open.ts'
import { makeBatches } from './tape-batches.testing.ts'
import { countOf, createTempFolder } from './temp-folder.testing.ts'

const WAL_BYTES = countOf(1 << 30, 24 << 20)
const PATIENCE_MS = 1_800_000

test(
  'a store opens with all rows after a kill that left a large write-ahead log',
  async () => {
    const folder = createTempFolder()
    const file = join(folder, 'tape.db')
    const store = openEmbeddedStore({ file })
    const batches = makeBatches(7)
    await store.append(batches.next().value)
    // A reader that holds an old state keeps SQLite from emptying its write-ahead log.
    const reader = new DatabaseSync(file)
    reader.exec('BEGIN; SELECT * FROM stream')
    for (const batch of batches) {
      await store.append(batch)
      if (statSync(`${file}-wal`).size >= WAL_BYTES) break
    }
    // What a killed writer leaves: both files as they are, without an orderly end.
    const left = join(folder, 'left.db')
    for (const end of ['', '-wal']) copyFileSync(file + end, left + end)
    const written = await store.instruments()
    const from = performance.now()
    const reopened = openEmbeddedStore({ file: left })
    const found = await reopened.instruments()
    const ms = Math.round(performance.now() - from)
    console.log(`${Math.round(statSync(`${left}-wal`).size / 1e6)} MB: open after ${ms} ms`)
    expect(found).toEqual(written)
    expect(await reopened.verify()).toMatchObject({ problems: [] })
    await reopened.close()
    reader.close()
    await store.close()
  },
  PATIENCE_MS,
)
