import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { VenueId } from '@priorbook/sdk/domain'
import { expect, onTestFinished, test } from 'vitest'
import { withMethods } from '../../lib/with-methods.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import type { StoreReader } from '../../store/store.ts'
import { cacheOf } from './store-cache.ts'

const MADE = { origin: 'live', recorder: 'r1', normalizer: 1 } as const

test('a cache lasts until its venue is written, and is checked once after a commit of another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-cache-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let asked = 0
  const counted = withMethods<StoreReader>(store, {
    appliedPosition(venue: VenueId) {
      asked++
      return store.appliedPosition(venue)
    },
  })
  const commit = (venue: VenueId, position: number): Promise<void> =>
    store.append({ ...MADE, venue, position, revisions: [] })

  await commit('venueb', 1)
  const first = await cacheOf(counted, 'venueb')
  expect(await cacheOf(counted, 'venueb')).toBe(first)
  expect(asked).toBe(1)

  await commit('venuea', 1)
  for (let request = 0; request < 5; request++) {
    expect(await cacheOf(counted, 'venueb')).toBe(first)
  }
  expect(asked).toBe(2)

  await commit('venueb', 2)
  const second = await cacheOf(counted, 'venueb')
  expect(second).not.toBe(first)
  expect(second.position).toBe(2)
  expect(await cacheOf(counted, 'venueb')).toBe(second)
  expect(asked).toBe(3)
})
