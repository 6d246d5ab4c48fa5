import { expect, it } from 'vitest'
import { PollOutages, toBudget } from './polling.ts'

const begun = (outages: PollOutages, now: number, interval = 1000) =>
  outages.begun(
    now,
    () => interval,
    () => false,
  )

it('an outage begins after three realized intervals and is reported once', () => {
  const outages = new PollOutages()
  for (let now = 0; now <= 20_000; now += 2000) outages.succeeded('A', now)
  outages.failed('A', 'disconnected', '500: down')
  expect(begun(outages, 26_000)).toStrictEqual([])
  expect(begun(outages, 26_001)).toStrictEqual([
    { key: 'A', reason: 'disconnected', why: '500: down; no good answer for 6001 ms' },
  ])
  expect(outages.size).toBe(1)
  expect(begun(outages, 90_000)).toStrictEqual([])
  outages.succeeded('A', 91_000)
  expect(outages.size).toBe(0)
  // The outage itself does not count as an interval.
  expect(begun(outages, 97_001)).toHaveLength(1)
})

it('an outage begins after three planned intervals when the plan became slower', () => {
  const outages = new PollOutages()
  outages.succeeded('A', 0)
  outages.succeeded('A', 1000)
  expect(begun(outages, 20_000, 10_000)).toStrictEqual([])
  expect(begun(outages, 31_001, 10_000)).toHaveLength(1)
})

it('an outage names a hanging answer or a poll that the quota did not allow', () => {
  const outages = new PollOutages()
  outages.succeeded('A', 0)
  outages.succeeded('B', 0)
  const reasons = outages.begun(
    5000,
    () => 1000,
    (key) => key === 'A',
  )
  expect(reasons.map(({ key, reason }) => [key, reason])).toStrictEqual([
    ['A', 'venue_silent'],
    ['B', 'quota'],
  ])
})

it('a market that never answered or left has no outage', () => {
  const outages = new PollOutages()
  outages.failed('A', 'quota', '429')
  outages.succeeded('B', 0)
  begun(outages, 5000)
  outages.forget('B')
  outages.forget('C')
  expect([outages.size, begun(outages, 90_000).length]).toStrictEqual([0, 0])
})

it('most of the quota goes to books and the shares never exceed it', () => {
  for (const series of [1, 3, 20, 200]) {
    const { listingMs, bookRate, tradeRate } = toBudget(20, series, 10_000)
    expect(listingMs).toBeGreaterThanOrEqual(10_000)
    expect(bookRate).toBeGreaterThanOrEqual(10)
    expect(bookRate + tradeRate + (series * 2000) / listingMs).toBeLessThanOrEqual(18)
  }
  expect(toBudget(20, 3, 10_000).listingMs).toBe(10_000)
})
