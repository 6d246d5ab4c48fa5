import { expect, it } from 'vitest'
import { createOutages } from './outages.ts'

const found = (outages: ReturnType<typeof createOutages>, now: number, interval = 1000) =>
  outages.found(
    now,
    () => interval,
    () => false,
  )

it('finds a market after three realized intervals, once per outage', () => {
  const outages = createOutages()
  for (let now = 0; now <= 20_000; now += 2000) outages.good('A', now)
  outages.bad('A', 'disconnected', '500: down')
  expect(found(outages, 26_000)).toStrictEqual([])
  expect(found(outages, 26_001)).toStrictEqual([
    { key: 'A', reason: 'disconnected', why: '500: down; no good answer for 6001 ms' },
  ])
  expect(outages.size).toBe(1)
  expect(found(outages, 90_000)).toStrictEqual([])
  outages.good('A', 91_000)
  expect(outages.size).toBe(0)
  // The outage itself is no habit.
  expect(found(outages, 97_001)).toHaveLength(1)
})

it('waits three intervals of the plan where that became slower', () => {
  const outages = createOutages()
  outages.good('A', 0)
  outages.good('A', 1000)
  expect(found(outages, 20_000, 10_000)).toStrictEqual([])
  expect(found(outages, 31_001, 10_000)).toHaveLength(1)
})

it('tells an answer that hangs from a poll that was never allowed', () => {
  const outages = createOutages()
  outages.good('A', 0)
  outages.good('B', 0)
  const reasons = outages.found(
    5000,
    () => 1000,
    (key) => key === 'A',
  )
  expect(reasons.map(({ key, reason }) => [key, reason])).toStrictEqual([
    ['A', 'venue_silent'],
    ['B', 'quota'],
  ])
})

it('knows nothing of markets that never answered or left', () => {
  const outages = createOutages()
  outages.bad('A', 'quota', '429')
  outages.good('B', 0)
  found(outages, 5000)
  outages.forget('B')
  outages.forget('C')
  expect([outages.size, found(outages, 90_000).length]).toStrictEqual([0, 0])
})
