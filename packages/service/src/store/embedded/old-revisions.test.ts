import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Micros } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import { BEGIN, createRecord } from '../store-script.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from './open.ts'
import { createTempFolder } from './temp-folder.testing.ts'

const MARKET = { venue: 'venueb', market: 'KXBTC-26AUG05-T1.5' } as const
const made = { origin: 'live', recorder: 'r1', normalizer: 1, venue: 'venueb' } as const

async function revise(store: EmbeddedStore, from: number, to: number): Promise<void> {
  for (let index = from; index <= to; index++) {
    const record = createRecord(MARKET, String(index), { participantCount: index })
    const received = (BEGIN + index * 10) as Micros
    const revision = { kind: 'market', journal: index, received, record } as const
    await store.append({ ...made, position: index, revisions: [revision] })
  }
}

async function remove(store: EmbeddedStore, before: number): Promise<number> {
  let rows = 0
  for (let after: number | undefined = 0; after !== undefined;) {
    const step = await store.removeSome('revisions', { venue: 'venueb', before, after })
    rows += step.rows
    after = step.next
  }
  return rows
}

test('versions replaced before a time go; the one that held then stays, and all after it', async () => {
  const file = join(createTempFolder(), 'tape.db')
  const store = openEmbeddedStore({ file })
  await revise(store, 1, 80)
  const { venue, market } = MARKET
  const all = await store.revisions(venue, market, { limit: 100 })
  // While the record changes, versions go by groups of 32.
  expect(await remove(store, BEGIN + 700)).toBe(64)
  expect(await store.revisions(venue, market, { limit: 100 })).toEqual(all.slice(64))
  expect(await store.market(venue, market, BEGIN + 700)).toEqual(all[69])
  expect(await store.market(venue, market, BEGIN + 300)).toBeUndefined()
  expect(await remove(store, BEGIN + 700)).toBe(0)

  // When it changes no more, the last version alone stays.
  expect(await remove(store, BEGIN + 2000)).toBe(15)
  expect(await store.revisions(venue, market, { limit: 100 })).toEqual(all.slice(79))
  await revise(store, 81, 130)
  await store.close()
  const again = openEmbeddedStore({ file })
  const states = await again.revisions(venue, market, { limit: 100 })
  expect(states.map(({ revision }) => revision)).toEqual(
    Array.from({ length: 51 }, (_, index) => 80 + index),
  )
  expect(states.map(({ record }) => record.participantCount)).toEqual(
    states.map(({ revision }) => revision),
  )
  expect(await again.market(venue, market)).toEqual(states.at(-1))
  expect((await again.verify()).problems).toEqual([])
  await again.close()
})

test('a lost version is damage, not retention', async () => {
  const file = join(createTempFolder(), 'tape.db')
  const store = openEmbeddedStore({ file })
  await revise(store, 1, 5)
  await store.close()
  const database = new DatabaseSync(file)
  database.exec('DELETE FROM revision WHERE ordinal = 1')
  database.close()
  const again = openEmbeddedStore({ file })
  await expect(again.revisions('venueb', MARKET.market, { limit: 9 })).rejects.toThrow('missing')
  expect((await again.verify()).problems).not.toEqual([])
  await again.close()
})
