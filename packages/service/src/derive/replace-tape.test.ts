import { fileURLToPath } from 'node:url'
import { PriorbookError } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { createTestFolder } from './import.testing.ts'
import { replaceTape } from './replace-tape.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))

it('lets no recorder write while the tape is derived again', async () => {
  const folder = createTestFolder()
  onTestFinished(() => folder.destroy())
  await folder.importPaths(SAMPLE)
  const { data } = folder
  const codes = new Set<string>()
  const { records } = await replaceTape(data, Date.now(), () => {
    try {
      void openEmbeddedStore({ file: data.tape }).close()
      codes.add('opened')
    } catch (error) {
      codes.add((error as PriorbookError).code)
    }
  })
  expect(records).toBeGreaterThan(0)
  expect([...codes]).toEqual(['store_locked'])
  // Afterwards the folder is free again.
  const store = openEmbeddedStore({ file: data.tape })
  expect((await store.verify()).problems).toEqual([])
  await store.close()
})
