import type { Gap, Micros } from '@priorbook/sdk/domain'
import { type CalendarDayJson, Problem } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import type { Coverage, Store } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { COVERAGE_DAYS_ROUTE } from './coverage-days.ts'
import { DAY } from '../markets/coverage.ts'

const NOW = 20_000 * DAY + 7_200_000_000
const HOUR = 3_600_000_000
const at = (days: number, hours: number): Micros => ((20_000 - days) * DAY + hours * HOUR) as Micros

const gap = (reason: Gap['reason'], start: Micros, end: Micros): Gap => ({
  venue: 'venueb',
  scope: 'instrument',
  key: 'X',
  reason,
  start,
  end,
  afterSequence: 1,
  journal: 1,
})

function coverageOf(key: string, first: Micros, last: Micros, gaps: readonly Gap[]): Coverage {
  const days = []
  for (let day = Math.floor(first / DAY) * DAY; day <= last; day += DAY) {
    const observedMicros = Math.min(last, day + DAY) - Math.max(first, day)
    days.push({
      day,
      condition: 'available' as const,
      observations: 10,
      observedMicros,
      gapMicros: 0,
    })
  }
  const instrument = { venue: 'venueb' as const, key, market: key }
  const facts = { firstSequence: 1, lastSequence: 10, firstReceived: first, lastReceived: last }
  return { facts: { instrument, ...facts }, days, gaps }
}

function storeOf(coverages: readonly Coverage[]): { store: Store; reads: () => number } {
  let reads = 0
  const store = {
    instruments: async () => coverages.map(({ facts }) => facts),
    coverage: async ({ key }: { key: string }) => {
      reads++
      return coverages.find(({ facts }) => facts.instrument.key === key)
    },
    fact: async () => at(3, 0),
  }
  return { store: store as unknown as Store, reads: () => reads }
}

async function ask(store: Store, query = {}, window = 0): Promise<CalendarDayJson[]> {
  const grant = { requireVenue() {}, allows: () => true, windowStart: () => window }
  const request = { query: { venue: 'venueb', ...query }, grant }
  const context = { store, now: () => NOW } as unknown as ApiContext
  const answer = await COVERAGE_DAYS_ROUTE.handle(request as never, context)
  return (answer as { data: CalendarDayJson[] }).data
}

describe('the calendar of a venue', () => {
  const quiet = coverageOf('X', at(3, 1), at(2, 2), [
    gap('disconnected', at(3, 5), at(3, 6)),
    gap('market_closed', at(2, 2), at(1, 0)),
  ])
  const other = coverageOf('Y', at(3, 4), at(3, 8), [gap('disconnected', at(3, 5), at(3, 7))])

  it('has a row for every day, also for those without an observation', async () => {
    const rows = await ask(storeOf([quiet, other]).store, { start_time: at(4, 0) })
    expect(rows.map(({ condition }) => condition)).toEqual([
      'missing',
      'degraded',
      'available',
      'missing',
      'missing',
    ])
    expect(rows[1]).toMatchObject({
      markets: 2,
      instruments: 2,
      observations: 20,
      gap_ms: 3 * 3_600_000,
      reasons: [{ reason: 'disconnected', gaps: 2, gap_ms: 3 * 3_600_000 }],
    })
    expect(rows[2]).toMatchObject({ markets: 1, gap_ms: 0, reasons: [] })
  })

  it('reads the days of an ended instrument once', async () => {
    const { store, reads } = storeOf([quiet, other])
    const first = await ask(store)
    expect(await ask(store)).toEqual(first)
    expect(reads()).toBe(2)
  })

  it('begins with the window of the plan', async () => {
    const rows = await ask(storeOf([quiet]).store, {}, at(2, 5))
    expect(rows.map(({ day }) => day)).toHaveLength(3)
  })

  it('refuses empty ranges and too many days', async () => {
    const { store } = storeOf([])
    await expect(ask(store, { start_time: NOW })).rejects.toBeInstanceOf(Problem)
    await expect(ask(store, { start_time: NOW - 93 * DAY })).rejects.toBeInstanceOf(Problem)
    expect(await ask(store)).toHaveLength(31)
  })
})
