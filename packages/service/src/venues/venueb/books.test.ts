import { describe, expect, it } from 'vitest'
import { AwaitedBooks, Sequences, SubscriptionProbe } from './books.ts'

describe('a book after a loss', () => {
  it('is requested at once and again until it arrives', () => {
    const books = new AwaitedBooks()
    books.lose(3, ['A', 'B'], 0)
    expect(books.due(0)).toStrictEqual([{ sid: 3, tickers: ['A', 'B'] }])
    expect(books.due(500)).toStrictEqual([])
    books.settle('A')
    expect(books.due(600)).toStrictEqual([{ sid: 3, tickers: ['B'] }])
    expect(books.overdue(2000)).toStrictEqual({ lost: [], silent: [] })
    expect(books.overdue(2001)).toStrictEqual({ lost: ['B'], silent: [] })
    books.clear()
    expect(books.overdue(9000).lost).toStrictEqual([])
  })

  it('restarts its deadline when more is lost before it arrives', () => {
    const books = new AwaitedBooks()
    books.lose(3, ['A'], 0)
    books.lose(3, ['A'], 1500)
    expect(books.overdue(2100).lost).toStrictEqual([])
    expect(books.overdue(3600).lost).toStrictEqual(['A'])
  })
})

it('a book of a new subscription is awaited, then requested, then given up', () => {
  const books = new AwaitedBooks()
  books.expect(1, ['A'], 0)
  expect(books.due(999)).toStrictEqual([])
  expect(books.due(1000)).toStrictEqual([{ sid: 1, tickers: ['A'] }])
  expect(books.overdue(10_001)).toStrictEqual({ lost: [], silent: ['A'] })
  books.settle('A')
  expect(books.overdue(10_001).silent).toStrictEqual([])
})

it('requests for a book that is closed again and again slow down, until a calm period', () => {
  const books = new AwaitedBooks()
  const requests: number[] = []
  for (let now = 0; now < 30_000; now += 10) {
    books.recover(1, 'A', now)
    if (books.due(now).length === 0) continue
    requests.push(now)
    books.settle('A')
  }
  expect(requests.slice(0, 6)).toStrictEqual([0, 500, 1500, 3500, 7500, 12_500])
  books.clear()
  books.recover(1, 'A', 60_000)
  expect(books.due(60_000)).toHaveLength(1)
})

it('markets without any book since their subscription are known, and late ones reported once', () => {
  const books = new AwaitedBooks()
  books.expect(1, ['A', 'B'], 0)
  books.expect(2, ['C'], 500)
  books.settle('B')
  books.lose(1, ['A', 'B'], 1000)
  expect([books.unheard(1), books.unheard()]).toStrictEqual([['A'], ['A', 'C']])
  expect(books.late(3000)).toStrictEqual([])
  expect(books.late(3001)).toStrictEqual(['A'])
  expect(books.late(3600)).toStrictEqual(['C'])
  expect(books.late(9000)).toStrictEqual([])
  books.settle('A')
  expect(books.unheard()).toStrictEqual(['C'])
  books.clear()
  expect(books.unheard()).toStrictEqual([])
})

it('a quiet subscription is probed with one market after the other', () => {
  const probe = new SubscriptionProbe()
  probe.heard(1, 'A', 0, true)
  probe.heard(1, 'B', 0, true)
  probe.heard(2, 'C', 0, false)
  expect(probe.size).toBe(2)
  expect(probe.due(2499)).toStrictEqual([])
  expect(probe.due(2500)).toStrictEqual([{ sid: 1, ticker: 'A' }])
  expect(probe.due(2600)).toStrictEqual([])
  probe.heard(1, 'A', 2700, true)
  expect(probe.dead(9000)).toStrictEqual([])
  expect(probe.due(5200)).toStrictEqual([{ sid: 1, ticker: 'B' }])
})

it('a subscription that does not answer is found within 6 s', () => {
  const probe = new SubscriptionProbe()
  probe.heard(1, 'A', 0, true)
  probe.due(2500)
  expect(probe.dead(5500)).toStrictEqual([])
  expect(probe.dead(5501)).toStrictEqual([1])
  probe.answered(1)
  expect(probe.dead(5501)).toStrictEqual([])
})

it('a market that left is not probed', () => {
  const probe = new SubscriptionProbe()
  probe.heard(1, 'A', 0, true)
  probe.forget('A')
  expect(probe.due(9000)).toStrictEqual([])
  probe.heard(1, 'A', 0, true)
  probe.end(1)
  expect([probe.size, probe.due(9000).length]).toStrictEqual([0, 0])
})

it('numbers are first, next, a jump or old, per subscription', () => {
  const sequences = new Sequences()
  const steps = [22, 23, 24, 24, 27, 26, 28].map((seq) => sequences.check(1, seq))
  expect(steps).toStrictEqual(['first', 'next', 'next', 'old', 'jump', 'old', 'next'])
  expect(sequences.check(2, 5)).toBe('first')
  expect([sequences.last(1), sequences.last(2), sequences.last(3)]).toStrictEqual([
    28,
    5,
    undefined,
  ])
  sequences.clear()
  expect(sequences.check(1, 1)).toBe('first')
})
