import { expect, it } from 'vitest'
import { MissedTrades } from './socket.ts'

it('the first loss of trades is remembered until the market is subscribed again', () => {
  const missed = new MissedTrades()
  missed.add(['A', 'B'], 100_000)
  missed.add(['A', 'C'], 200_000)
  expect([...missed.drain(['A', 'C', 'D'])]).toStrictEqual([
    [95_000, ['A']],
    [195_000, ['C']],
  ])
  expect([...missed.drain(['A'])]).toStrictEqual([])
  missed.add(['D'], 9_000_000)
  expect([...missed.drain(['B', 'D'])]).toStrictEqual([[8_995_000, ['D']]])
})
