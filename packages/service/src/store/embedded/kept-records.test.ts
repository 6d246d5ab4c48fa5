import { VENUES } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import type { MarketState } from '../store.ts'
import { KeptRecords } from './kept-records.ts'

const stateOf = (marketId: string, revision: number): MarketState => ({
  record: { venue: 'venuec', marketId, outcomes: [], units: VENUES.venuec.units, native: {} },
  knownAt: 1,
  revision,
  journal: 1,
})

it('gives a record only for the revision that it was made of', () => {
  const kept = new KeptRecords()
  kept.put(1, stateOf('a', 2), 700)
  expect(kept.get(1, 2)?.record.marketId).toBe('a')
  expect(kept.get(1, 3)).toBeUndefined()
  expect(kept.get(2, 2)).toBeUndefined()
})

it('forgets the oldest records beyond its bytes, and counts a replaced one once', () => {
  const kept = new KeptRecords()
  const megabyte = 500_000
  for (let market = 1; market <= 100; market++) {
    for (const revision of [1, 2]) kept.put(market, stateOf('a', revision), megabyte)
  }
  expect(kept.size).toBe(8)
  expect(kept.get(92, 2)).toBeUndefined()
  expect(kept.get(93, 2)).toBeDefined()
  kept.put(101, stateOf('a', 1), 20 * megabyte)
  expect(kept.size).toBe(0)
})
