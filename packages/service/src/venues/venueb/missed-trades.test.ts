import { expect, it } from 'vitest'
import { createMissedTrades } from './missed-trades.ts'

it('remembers the first loss until the market is back', () => {
  const missed = createMissedTrades()
  missed.miss(['A', 'B'], 100_000)
  missed.miss(['A', 'C'], 200_000)
  expect([...missed.take(['A', 'C', 'D'])]).toStrictEqual([
    [95_000, ['A']],
    [195_000, ['C']],
  ])
  expect([...missed.take(['A'])]).toStrictEqual([])
  missed.miss(['D'], 9_000_000)
  expect([...missed.take(['B', 'D'])]).toStrictEqual([[8_995_000, ['D']]])
})
