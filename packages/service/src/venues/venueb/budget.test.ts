import { expect, it } from 'vitest'
import { toBudget } from './budget.ts'

it('gives most of the quota to books and never shares out more than there is', () => {
  for (const series of [1, 3, 20, 200]) {
    const { listingMs, bookRate, tradeRate } = toBudget(20, series, 10_000)
    expect(listingMs).toBeGreaterThanOrEqual(10_000)
    expect(bookRate).toBeGreaterThanOrEqual(10)
    expect(bookRate + tradeRate + (series * 2000) / listingMs).toBeLessThanOrEqual(18)
  }
  expect(toBudget(20, 3, 10_000).listingMs).toBe(10_000)
})
