import { describe, expect, it } from 'vitest'
import { createRandom } from './random.ts'
import { LevelInterest, SpareCounters } from './level-interest.ts'

const keys = (...list: number[]): Uint32Array => Uint32Array.from(list)

describe.each([
  ['a counter per level', 10_000],
  ['a map for fine ticks', 1_000_000],
])('the levels that concern runs, with %s', (_, one) => {
  it('are those that were added more often than removed', () => {
    const random = createRandom(3, 'interest')
    const interest = new LevelInterest(one)
    const expected = new Map<number, number>()
    for (let step = 0; step < 5000; step++) {
      const key = 2 + random.below(40)
      const count = expected.get(key) ?? 0
      const change = count > 0 && random.below(2) === 0 ? -1 : 1
      interest.add(key, change)
      expected.set(key, count + change)
      const asked = 2 + random.below(40)
      expect(interest.touches(keys(asked), 0, 1, 1)).toBe((expected.get(asked) ?? 0) > 0)
    }
  })

  it('are found in keys of coarser ticks, between two places of the list', () => {
    const interest = new LevelInterest(one)
    interest.add(5200 * 2 + 1, 1)
    const changed = keys(52 * 2 + 1, 52 * 2, 51 * 2 + 1)
    expect(interest.touches(changed, 0, 3, 100)).toBe(true)
    expect(interest.touches(changed, 1, 3, 100)).toBe(false)
    interest.add(5200 * 2 + 1, -1)
    expect(interest.touches(changed, 0, 3, 100)).toBe(false)
  })
})

describe('counters of markets without orders', () => {
  it('go to the next market, so that a thousand markets one after another need one set', () => {
    const spare = new SpareCounters()
    for (let market = 0; market < 1000; market++) {
      const interest = new LevelInterest(10_000, spare)
      interest.add(100, 1)
      interest.add(101, 1)
      expect(spare.size).toBe(0)
      interest.add(100, -1)
      expect(interest.touches(keys(100), 0, 1, 1)).toBe(false)
      expect(interest.touches(keys(101), 0, 1, 1)).toBe(true)
      interest.add(101, -1)
      expect(spare.size).toBe(1)
    }
  })
})
