import { join } from 'node:path'
import type { MarketRevision, Micros } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import { BEGIN, createRecord } from '../store-script.testing.ts'
import { openEmbeddedStore } from './open.ts'
import { createTempFolder } from './temp-folder.testing.ts'

it('tells how many markets it has compared with their lists', async () => {
  const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
  onTestFinished(() => store.close())
  const revisions = ['A', 'B'].map((market): MarketRevision => {
    const record = createRecord({ venue: 'venueb', market }, '1')
    return { kind: 'market', journal: 1, received: BEGIN as Micros, record }
  })
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await store.append({ ...made, venue: 'venueb', position: 1, revisions })
  const told: unknown[] = []
  const { problems } = await store.verify((...step) => void told.push(step))
  expect(problems).toEqual([])
  expect(told).toEqual([
    [0, 2, 'markets'],
    [1, 2, 'markets'],
  ])
})
