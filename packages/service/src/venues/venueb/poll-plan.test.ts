import { describe, expect, it } from 'vitest'
import { PollPlan, type PolledMarket } from './poll-plan.ts'

const OPTIONS = { minIntervalMs: 1000, maxIntervalMs: 120_000, closingMs: 300_000 }

/** Polls in virtual time, one every `1000 / perSecond` ms, each answered at once. */
function simulate(
  markets: readonly (PolledMarket & { readonly changesPerSecond: number })[],
  seconds: number,
  perSecond = 20,
): { readonly polls: Map<string, number>; readonly widest: Map<string, number> } {
  const plan = new PollPlan(OPTIONS, perSecond)
  plan.set(markets, 0)
  const rates = new Map(markets.map(({ key, changesPerSecond }) => [key, changesPerSecond]))
  const last = new Map<string, number>()
  const polls = new Map<string, number>()
  const widest = new Map<string, number>()
  const warm = (seconds * 1000) / 2
  for (let now = 0; now < seconds * 1000; now += 1000 / perSecond) {
    const key = plan.next(now)
    if (key === undefined) continue
    const before = last.get(key)
    const changes =
      before === undefined ? undefined : Math.round((rates.get(key)! * (now - before)) / 1000)
    plan.done(key, now, changes)
    last.set(key, now)
    if (now < warm) continue
    polls.set(key, (polls.get(key) ?? 0) + 1)
    if (before !== undefined) widest.set(key, Math.max(widest.get(key) ?? 0, now - before))
  }
  return { polls, widest }
}

const sumOf = (keys: readonly PolledMarket[], polls: Map<string, number>) =>
  keys.reduce((sum, { key }) => sum + (polls.get(key) ?? 0), 0)

describe('a plan of 400 markets at 20 polls a second', () => {
  const shapes = {
    'few busy ones': (index: number) => (index < 40 ? 5 : 0.01),
    'a straight line': (index: number) => ((400 - index) / 400) * 2,
    'a long tail': (index: number) => 50 / (index + 1),
  }

  it.each(Object.entries(shapes))(
    'polls the busiest tenth 5 times as often: %s',
    (_name, shape) => {
      const markets = Array.from({ length: 400 }, (_, index) => ({
        key: `M${index}`,
        changesPerSecond: shape(index),
      }))
      const { polls, widest } = simulate(markets, 1200)
      const busiest = sumOf(markets.slice(0, 40), polls)
      const quietest = sumOf(markets.slice(360), polls)
      expect(quietest).toBeGreaterThan(0)
      expect(busiest / quietest).toBeGreaterThanOrEqual(5)
      // Every market within the maximal interval, and one turn of the queue.
      expect(widest.size).toBe(400)
      expect(Math.max(...widest.values())).toBeLessThanOrEqual(OPTIONS.maxIntervalMs * 1.1)
    },
  )

  it('polls markets that close soon more often', () => {
    const markets = Array.from({ length: 400 }, (_, index) => ({
      key: `M${index}`,
      changesPerSecond: 0.2,
      closesInMs: index < 40 ? 0 : 3_600_000,
    }))
    const { polls } = simulate(markets, 1200)
    const soon = sumOf(markets.slice(0, 40), polls)
    expect(soon / sumOf(markets.slice(360), polls)).toBeGreaterThan(2.5)
  })
})

describe('a plan', () => {
  it('polls new markets at once and never one twice at a time', () => {
    const plan = new PollPlan(OPTIONS, 20)
    plan.set([{ key: 'A' }, { key: 'B' }], 0)
    expect([plan.next(0), plan.next(0), plan.next(0)]).toStrictEqual(['A', 'B', undefined])
    plan.done('A', 10)
    expect(plan.next(500)).toBeUndefined()
    expect(plan.next(1010)).toBe('A')
  })

  it('puts an urgent market first, but not twice within half of an interval', () => {
    const plan = new PollPlan(OPTIONS, 20)
    plan.set([{ key: 'A' }, { key: 'B' }], 0)
    for (const key of [plan.next(0)!, plan.next(0)!]) plan.done(key, 0)
    plan.hurry('B')
    plan.hurry('unknown')
    expect(plan.next(400)).toBeUndefined()
    expect([plan.next(500), plan.next(500)]).toStrictEqual(['B', undefined])
  })

  it('forgets markets that left, also while their poll is in flight', () => {
    const plan = new PollPlan(OPTIONS, 1)
    plan.set([{ key: 'A' }], 0)
    expect(plan.next(0)).toBe('A')
    plan.set([], 1)
    plan.done('A', 2, 3)
    expect(plan.next(10_000)).toBeUndefined()
    expect(plan.intervalMs('A')).toBe(OPTIONS.maxIntervalMs)
  })

  it('stretches all intervals when the rate is too low for the maximal interval', () => {
    const markets = Array.from({ length: 1000 }, (_, index) => ({
      key: `M${index}`,
      changesPerSecond: index < 100 ? 1 : 0,
    }))
    const { polls, widest } = simulate(markets, 2400, 4)
    expect(polls.size).toBe(1000)
    // Half of the rate goes to floors: at most 1000 / 2 seconds each.
    expect(Math.max(...widest.values())).toBeLessThanOrEqual(550_000)
    expect(sumOf(markets.slice(0, 100), polls)).toBeGreaterThan(
      sumOf(markets.slice(900), polls) * 5,
    )
  })

  it('does not exceed one poll per minimal interval', () => {
    const { polls, widest } = simulate([{ key: 'A', changesPerSecond: 9 }], 100)
    expect(polls.get('A')).toBe(50)
    expect(widest.get('A')).toBe(1000)
  })
})
