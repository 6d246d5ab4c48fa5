import type { ListedMarketJson } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import { activityOf, coverageBar, isTrading, sortLoaded } from './market-sort.ts'
import { MINUTE } from './time.ts'

const row = (first: number | null, last: number | null, observations: number) =>
  ({
    open_time: 0,
    close_time: 10 * MINUTE,
    coverage: { first_time: first, last_time: last, observations, gaps: 0 },
  }) as unknown as ListedMarketJson

describe('a list of markets', () => {
  it('is sorted by rows per minute, silent markets last', () => {
    const busy = row(0, MINUTE, 600)
    const calm = row(0, 5 * MINUTE, 700)
    const silent = row(null, null, 0)
    expect(activityOf(busy)).toBe(600)
    expect(activityOf(silent)).toBe(0)
    expect(sortLoaded([silent, calm, busy], 'activity')).toEqual([busy, calm, silent])
  })

  it('does not overrate the first two rows of a market', () => {
    expect(activityOf(row(0, 1000, 2))).toBe(12)
  })

  it('has markets of the present only where their newest book is one', () => {
    const now = 100 * MINUTE
    const at = (last: number, status: string | null) => ({ ...row(0, last, 9), status }) as never
    expect(isTrading(at(now - MINUTE, 'open'), now)).toBe(true)
    expect(isTrading(at(now - MINUTE, null), now)).toBe(true)
    expect(isTrading(at(now - MINUTE, 'resolved'), now)).toBe(false)
    expect(isTrading(at(now - 11 * MINUTE, 'open'), now)).toBe(false)
    expect(isTrading(row(null, null, 0), now)).toBe(false)
  })

  it('shows which part of a lifetime was recorded', () => {
    expect(coverageBar(row(2 * MINUTE, 5 * MINUTE, 9), 0)).toEqual({ from: 0.2, to: 0.5 })
    expect(coverageBar(row(null, null, 0), 0)).toBeUndefined()
  })
})
