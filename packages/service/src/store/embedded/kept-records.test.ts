import { expect, it } from 'vitest'
import type { Revision } from './revision-body.ts'
import { KeptRecords } from './kept-records.ts'

const revisionOf = (ordinal: number, length: number): Revision => ({
  ordinal,
  knownAt: 1,
  journal: 1,
  text: 'a'.repeat(length),
})

it('gives a record only for the revision that it was made of', () => {
  const kept = new KeptRecords()
  kept.put(1, revisionOf(2, 700))
  expect(kept.get(1, 2)?.text).toHaveLength(700)
  expect(kept.get(1, 3)).toBeUndefined()
  expect(kept.get(2, 2)).toBeUndefined()
})

it('forgets the oldest records beyond its bytes, and counts a replaced one once', () => {
  const kept = new KeptRecords()
  const megabyte = 1_000_000
  for (let market = 1; market <= 100; market++) {
    for (const ordinal of [1, 2]) kept.put(market, revisionOf(ordinal, megabyte))
  }
  expect(kept.size).toBe(8)
  expect(kept.get(92, 2)).toBeUndefined()
  expect(kept.get(93, 2)).toBeDefined()
  kept.put(101, revisionOf(1, 20 * megabyte))
  expect(kept.size).toBe(0)
})
