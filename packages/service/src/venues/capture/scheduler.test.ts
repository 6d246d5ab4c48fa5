import { describe, expect, it } from 'vitest'
import { CallPace, chooseNext, type ScheduledCall } from './scheduler.ts'

type Kind = 'catalogue' | 'detail' | 'book' | 'trade'
type Job = ScheduledCall<string, Kind>

const SHARES = { book: 0.5, catalogue: 0.2, detail: 0.2, trade: 0.1 }
const NONE = { catalogue: 0, detail: 0, book: 0, trade: 0 }

function job(name: string, changes: Partial<Job> = {}): Job {
  return { kind: 'book', dueMs: 0, everyMs: 100, weight: 1, urgent: false, call: name, ...changes }
}

function chosen(jobs: readonly Job[], spent = NONE, nowMs = 1000): string {
  const next = chooseNext(jobs, SHARES, spent, nowMs)
  return next.type === 'call' ? next.next.call : `wait ${next.untilMs}`
}

describe('the next call', () => {
  it('is not made before it is due', () => {
    expect(chosen([])).toBe('wait Infinity')
    expect(chosen([job('a', { dueMs: 1500 }), job('b', { dueMs: 1200 })])).toBe('wait 1200')
  })

  it('is an urgent one before all, the latest first', () => {
    const jobs = [
      job('late'),
      job('urgent', { urgent: true, dueMs: 990, kind: 'trade' }),
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

  it('is of the kind that is furthest below its share', () => {
    const jobs = [job('trade', { kind: 'trade' }), job('book'), job('list', { kind: 'catalogue' })]
    expect(chosen(jobs)).toBe('book')
    expect(chosen(jobs, { ...NONE, book: 1 })).toBe('list')
    expect(chosen(jobs, { ...NONE, book: 1, catalogue: 1 })).toBe('trade')
    expect(chosen(jobs, { ...NONE, book: 1, catalogue: 1, trade: 1 })).toBe('book')
  })

  it('divides a full quota by the shares and starves no kind', () => {
    const kinds: Kind[] = ['book', 'catalogue', 'detail', 'trade']
    const spent = { ...NONE }
    for (let call = 0; call < 60; call++) {
      const next = chooseNext(
        kinds.map((kind) => job(kind, { kind })),
        SHARES,
        spent,
        1000,
      )
      if (next.type === 'call') spent[next.next.kind]++
    }
    expect(spent).toStrictEqual({ book: 30, catalogue: 12, detail: 12, trade: 6 })
  })

  it('gives one kind what the others do not use', () => {
    const spent = { ...NONE, trade: 40 }
    expect(chosen([job('trade', { kind: 'trade' })], spent)).toBe('trade')
  })
})

describe('the pace', () => {
  it('lets a quarter go at once, the rest evenly, and never more than the limit in a window', () => {
    const pace = new CallPace({ limit: 60, windowMs: 60_000 }, SHARES)
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

  it('says when the next call may go, without counting urgent ones', () => {
    const pace = new CallPace({ limit: 10, windowMs: 7000 }, SHARES)
    pace.spend('book', false, 0)
    pace.spend('book', false, 0)
    for (let call = 0; call < 5; call++) pace.spend('book', true, 0)
    expect(pace.readyMs(0)).toBe(500)
    expect(pace.readyMs(500)).toBe(500)
  })

  it('counts what each kind spent in the last window', () => {
    const pace = new CallPace({ limit: 10, windowMs: 1000 }, SHARES)
    pace.spend('book', false, 0)
    pace.spend('trade', true, 600)
    expect(pace.spent(900)).toStrictEqual({ ...NONE, book: 1, trade: 1 })
    expect(pace.spent(1000)).toStrictEqual({ ...NONE, trade: 1 })
  })
})
