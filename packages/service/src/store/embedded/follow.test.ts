import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ModelStore } from '../store-model.testing.ts'
import { write } from '../store-opened.testing.ts'
import { INSTRUMENTS, Script } from '../store-script.testing.ts'
import { openEmbeddedStore } from './open.ts'
import { createTempFolder } from './temp-folder.testing.ts'

it('streams that a rebuild replaced are told, and readers have the new rows', async () => {
  const folder = createTempFolder()
  const file = join(folder, 'tape.db')
  const store = openEmbeddedStore({ file })
  const reader = openEmbeddedStore({ file, readOnly: true })
  const rebuiltFile = join(folder, 'rebuilt.db')
  const rebuilt = openEmbeddedStore({ file: rebuiltFile })
  onTestFinished(async () => {
    for (const one of [store, reader, rebuilt]) await one.close()
  })
  const script = new Script(91)
  const batches = script.take(40)
  await write(store, new ModelStore(script.books), batches)
  await store.seal()
  // What a newer normalizer would make of the journal: here, fewer rows.
  await write(rebuilt, new ModelStore(script.books), batches.slice(0, 25))
  await rebuilt.seal()
  const { venue, key } = INSTRUMENTS[1]!
  const before = (await reader.instrument({ venue, key }))!.lastSequence
  const followers = [await store.follow(), await reader.follow()]
  expect((await store.adopt(rebuiltFile, script.now)).length).toBeGreaterThan(0)
  for (const follower of followers) {
    expect(await follower.poll()).toMatchObject({ missed: 'rebuilt' })
    expect(await follower.poll()).toBeUndefined()
  }
  const after = (await rebuilt.instrument({ venue, key }))!.lastSequence
  expect(after).toBeLessThan(before)
  for (const one of [store, reader]) {
    expect((await one.instrument({ venue, key }))!.lastSequence).toBe(after)
  }
})
