import { dirname, join } from 'node:path'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { expectStore } from '../store-answers.testing.ts'
import { ModelStore } from '../store-model.testing.ts'
import { Script } from '../store-script.testing.ts'
import { Database } from './database.ts'
import { readLog, type RowSink } from './log.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'
import { View } from './view.ts'

/** A tape that was copied while a pass of packing was under way: the log still has rows that are in chunks. */
async function copyWhilePacking(seed: number): Promise<{
  readonly folder: TapeFolder
  readonly file: string
  readonly model: ModelStore
  readonly script: Script
}> {
  const folder = createTapeFolder()
  const script = new Script(seed)
  const model = new ModelStore(script.books)
  const store = folder.open({ limits: { rows: 200, step: 1 } })
  for (const batch of script.take(90)) {
    await store.append(batch)
    model.apply(batch)
  }
  const file = join(dirname(folder.file), 'copy.db')
  await store.backup(file)
  return { folder, file, model, script }
}

/** The rows of the log, by stream: how many, and how many of them are in chunks. */
function countLog(database: Database): { readonly all: number; readonly packed: number } {
  const counts = { all: 0, packed: 0 }
  const count = (stream: number, ordinal: number): void => {
    counts.all++
    const { next } = database.get('SELECT next FROM stream WHERE id = ?', stream)!
    if (ordinal < (next as number)) counts.packed++
  }
  const sink: RowSink = {
    book: count,
    trade: count,
    sample: count,
    gap: () => undefined,
    market: () => undefined,
  }
  for (const { id, bytes } of database.all('SELECT id, bytes FROM log ORDER BY id')) {
    readLog(id as number, bytes as Uint8Array, sink)
  }
  return counts
}

test('of the rows in the log only those that are in no chunk are read into memory', async () => {
  const { file } = await copyWhilePacking(301)
  const database = new Database(file, true)
  onTestFinished(() => database.close())
  const view = new View(database, createNodePlatform())
  database.read(() => view.refresh())
  const { all, packed } = countLog(database)
  expect(packed).toBeGreaterThan(50)
  expect([view.tail.rows, view.tail.passed]).toEqual([all - packed, packed])
  const kept = [...view.tail.streams.values()].map(({ columns }) => columns.count)
  expect(kept.reduce((sum, count) => sum + count, 0)).toBe(all - packed)
  expect(Math.min(...kept)).toBeGreaterThan(0)
})

test('a tape whose packing was interrupted answers as before, and goes on', async () => {
  const { folder, file, model, script } = await copyWhilePacking(302)
  await expectStore(folder.open({ file, readOnly: true }), model)
  const store = folder.open({ file, limits: { rows: 200, step: 1 } })
  await expectStore(store, model)
  for (const batch of script.take(60)) {
    await store.append(batch)
    model.apply(batch)
  }
  await expectStore(store, model)
  await store.seal()
  await expectStore(store, model)
  expect((await store.verify()).problems).toEqual([])
})

test('a log is truncated after a pass that a kill interrupted, however few rows are left to pack', async () => {
  const { folder, file, script } = await copyWhilePacking(303)
  const before = new Database(file, true)
  const { all, packed } = countLog(before)
  before.close()
  expect(all - packed).toBeLessThan(all - 20)
  const store = folder.open({ file, limits: { rows: all - 10, step: 1 } })
  for (const batch of script.take(20)) await store.append(batch)
  await store.close()
  const after = new Database(file, true)
  onTestFinished(() => after.close())
  expect(countLog(after).all).toBeLessThan(all)
})
