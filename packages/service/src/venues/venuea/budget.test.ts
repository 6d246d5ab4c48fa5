import { describe, expect, it } from 'vitest'
import { createPace, planNext, type CallClass, type Job } from './budget.ts'

const NONE = { catalogue: 0, detail: 0, book: 0, trade: 0 }

function job(name: string, changes: Partial<Job<string>> = {}): Job<string> {
  return { class: 'book', dueMs: 0, everyMs: 100, weight: 1, urgent: false, call: name, ...changes }
}

function chosen(jobs: readonly Job<string>[], spent = NONE, nowMs = 1000): string {
  const plan = planNext(jobs, spent, nowMs)
  return plan.kind === 'call' ? plan.job.call : `wait ${plan.untilMs}`
}

describe('the next call', () => {
  it('is none before one is due', () => {
    expect(chosen([])).toBe('wait Infinity')
    expect(chosen([job('a', { dueMs: 1500 }), job('b', { dueMs: 1200 })])).toBe('wait 1200')
  })

  it('is an urgent one before all, the latest first', () => {
    const jobs = [
      job('late'),
      job('urgent', { urgent: true, dueMs: 990, class: 'trade' }),
      job('more urgent', { urgent: true, dueMs: 900 }),
      job('not yet', { urgent: true, dueMs: 1001 }),
    ]
    expect(chosen(jobs, { ...NONE, book: 50 })).toBe('more urgent')
  })

  it('is the one that is latest by its own period', () => {
    const jobs = [
      job('a minute, late by 30 s', { everyMs: 60_000, dueMs: 70_000 }),
      job('20 s, late by 20 s', { everyMs: 20_000, dueMs: 80_000 }),
    ]
    expect(chosen(jobs, NONE, 100_000)).toBe('20 s, late by 20 s')
  })

  it('is the weightier of two that are equally late', () => {
    expect(chosen([job('other'), job('BTC 15m', { weight: 2 })])).toBe('BTC 15m')
    const fresh = [job('other', { dueMs: 1000 }), job('BTC 15m', { weight: 2, dueMs: 1000 })]
    expect(chosen(fresh)).toBe('BTC 15m')
  })

  it('is of the class that is furthest below its share', () => {
    const jobs = [
      job('trade', { class: 'trade' }),
      job('book'),
      job('list', { class: 'catalogue' }),
    ]
    expect(chosen(jobs)).toBe('book')
    expect(chosen(jobs, { ...NONE, book: 1 })).toBe('list')
    expect(chosen(jobs, { ...NONE, book: 1, catalogue: 1 })).toBe('trade')
    expect(chosen(jobs, { ...NONE, book: 1, catalogue: 1, trade: 1 })).toBe('book')
  })

  it('shares a full quota by the shares, and starves nobody', () => {
    const classes: CallClass[] = ['book', 'catalogue', 'detail', 'trade']
    const spent = { ...NONE }
    for (let call = 0; call < 60; call++) {
      const plan = planNext(
        classes.map((name) => job(name, { class: name })),
        spent,
        1000,
      )
      if (plan.kind === 'call') spent[plan.job.class]++
    }
    expect(spent).toStrictEqual({ book: 30, catalogue: 12, detail: 12, trade: 6 })
  })

  it('leaves to the others what a class does not use', () => {
    const spent = { ...NONE, trade: 40 }
    expect(chosen([job('trade', { class: 'trade' })], spent)).toBe('trade')
  })
})

describe('the pace', () => {
  it('lets a quarter go at once, the rest evenly, and never more than the limit in a window', () => {
    const pace = createPace({ limit: 60, windowMs: 60_000 })
    const times: number[] = []
    for (let now = 1000; now < 241_000; now += 50) {
      if (pace.readyMs(now) > now) continue
      pace.spend('book', false, now)
      times.push(now)
    }
    const within = (from: number): number =>
      times.filter((time) => time >= from && time < from + 60_000).length
    expect(times.filter((time) => time < 1800)).toHaveLength(15)
    expect(Math.max(...times.map(within))).toBeLessThanOrEqual(58)
    expect(within(120_000)).toBe(42)
  })

  it('says when the next may go, and does not count urgent ones', () => {
    const pace = createPace({ limit: 10, windowMs: 7000 })
    pace.spend('book', false, 0)
    pace.spend('book', false, 0)
    for (let call = 0; call < 5; call++) pace.spend('book', true, 0)
    expect(pace.readyMs(0)).toBe(500)
    expect(pace.readyMs(500)).toBe(500)
  })

  it('counts what each class spent in the last window', () => {
    const pace = createPace({ limit: 10, windowMs: 1000 })
    pace.spend('book', false, 0)
    pace.spend('trade', true, 600)
    expect(pace.spent(900)).toStrictEqual({ ...NONE, book: 1, trade: 1 })
    expect(pace.spent(1000)).toStrictEqual({ ...NONE, trade: 1 })
  })
})
