import { describe, expect, it } from 'vitest'
import { createRecovery } from './recovery.ts'

describe('books after a loss', () => {
  it('are asked for at once and again until they came', () => {
    const recovery = createRecovery()
    recovery.lost(3, ['A', 'B'], 0)
    expect(recovery.due(0)).toStrictEqual([{ sid: 3, tickers: ['A', 'B'] }])
    expect(recovery.due(500)).toStrictEqual([])
    recovery.arrived('A')
    expect(recovery.due(600)).toStrictEqual([{ sid: 3, tickers: ['B'] }])
    expect(recovery.overdue(2000)).toStrictEqual({ lost: [], silent: [] })
    expect(recovery.overdue(2001)).toStrictEqual({ lost: ['B'], silent: [] })
    recovery.clear()
    expect(recovery.overdue(9000).lost).toStrictEqual([])
  })

  it('count anew when more is lost before they came', () => {
    const recovery = createRecovery()
    recovery.lost(3, ['A'], 0)
    recovery.lost(3, ['A'], 1500)
    expect(recovery.overdue(2100).lost).toStrictEqual([])
    expect(recovery.overdue(3600).lost).toStrictEqual(['A'])
  })
})

it('lets books of a new subscription come by themselves, then asks, then gives up', () => {
  const recovery = createRecovery()
  recovery.expect(1, ['A'], 0)
  expect(recovery.due(999)).toStrictEqual([])
  expect(recovery.due(1000)).toStrictEqual([{ sid: 1, tickers: ['A'] }])
  expect(recovery.overdue(10_001)).toStrictEqual({ lost: [], silent: ['A'] })
  recovery.drop('A')
  expect(recovery.overdue(10_001).silent).toStrictEqual([])
})

it('slows down for a book that is refused again and again, until there was calm', () => {
  const recovery = createRecovery()
  const asks: number[] = []
  for (let now = 0; now < 30_000; now += 10) {
    recovery.want(1, 'A', now)
    if (recovery.due(now).length === 0) continue
    asks.push(now)
    recovery.arrived('A')
  }
  expect(asks.slice(0, 6)).toStrictEqual([0, 500, 1500, 3500, 7500, 12_500])
  recovery.clear()
  recovery.want(1, 'A', 60_000)
  expect(recovery.due(60_000)).toHaveLength(1)
})

it('knows the markets that nothing came of since they were subscribed, and tells late ones once', () => {
  const recovery = createRecovery()
  recovery.expect(1, ['A', 'B'], 0)
  recovery.expect(2, ['C'], 500)
  recovery.arrived('B')
  recovery.lost(1, ['A', 'B'], 1000)
  expect([recovery.unheard(1), recovery.unheard()]).toStrictEqual([['A'], ['A', 'C']])
  expect(recovery.late(3000)).toStrictEqual([])
  expect(recovery.late(3001)).toStrictEqual(['A'])
  expect(recovery.late(3600)).toStrictEqual(['C'])
  expect(recovery.late(9000)).toStrictEqual([])
  recovery.arrived('A')
  expect(recovery.unheard()).toStrictEqual(['C'])
  recovery.clear()
  expect(recovery.unheard()).toStrictEqual([])
})
