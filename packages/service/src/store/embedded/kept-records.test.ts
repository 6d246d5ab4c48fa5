import { expect, it } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
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
  expect(kept.get(101, 1)).toBeUndefined()
  expect(kept.size).toBe(8)
})

it('gives back every record that it keeps, whatever came and went', () => {
  const kept = new KeptRecords()
  const random = createRandom(3)
  const newest = new Map<number, Revision>()
  let found = 0
  for (let step = 1; step <= 1500; step++) {
    const market = Math.floor(random() * 300)
    const text = `${step}é`.repeat(Math.floor(random() * 12_000))
    const revision = { ordinal: step, knownAt: 1.7e15 + step, journal: step * 3, text }
    newest.set(market, revision)
    kept.put(market, revision)
    expect(kept.get(market, step)).toEqual(revision)
    const other = Math.floor(random() * 300)
    const { ordinal = 0 } = newest.get(other) ?? {}
    const read = kept.get(other, ordinal)
    if (read !== undefined) found++
    expect(read ?? newest.get(other)).toEqual(newest.get(other))
  }
  expect(found).toBeGreaterThan(200)
})
