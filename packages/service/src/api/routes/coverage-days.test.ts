import { DAY_MICROS, type Micros } from '@priorbook/sdk/domain'
import { type CalendarDayJson, Problem } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import type { DayTotals, Store } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { COVERAGE_DAYS_ROUTE } from './coverage-days.ts'

const NOW = 20_000 * DAY_MICROS + 7_200_000_000
const HOUR = 3_600_000_000
const at = (days: number, hours: number): Micros =>
  ((20_000 - days) * DAY_MICROS + hours * HOUR) as Micros

const day = (days: number, more: Partial<DayTotals> = {}): DayTotals => ({
  day: at(days, 0),
  asset: 'BTC',
  markets: 1,
  instruments: 1,
  observations: 10,
  observedMicros: HOUR,
  gaps: [],
  ...more,
})

function storeOf(days: readonly DayTotals[]): Store {
  const store = {
    days: async (_venue: string, from: number, to: number) =>
      days.filter((one) => one.day >= from && one.day < to),
    gaps: async () => [],
    fact: async () => at(3, 0),
  }
  return store as unknown as Store
}

async function ask(
  store: Store,
  query = {},
  window = 0,
  assets = ['BTC', 'ETH'],
): Promise<CalendarDayJson[]> {
  const allows = (_venue: string, asset: string): boolean => assets.includes(asset)
  const grant = { requireVenue() {}, requireAsset() {}, windowStart: () => window, allows }
  const request = { query: { venue: 'venueb', ...query }, grant }
  const context = { store, now: () => NOW } as unknown as ApiContext
  const answer = await COVERAGE_DAYS_ROUTE.handle(request as never, context)
  return (answer as { data: CalendarDayJson[] }).data
}

describe('the calendar of a venue', () => {
  const lost = (gaps: number, micros: number): DayTotals['gaps'] => [
    { reason: 'disconnected', gaps, micros },
  ]
  const days = [
    day(3, { gaps: lost(1, HOUR) }),
    day(3, { asset: 'ETH', gaps: lost(1, 2 * HOUR) }),
    day(2),
  ]

  it('has a row for every day, also for those without an observation', async () => {
    const rows = await ask(storeOf(days), { start_time: at(4, 0) })
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

  it('leaves out the assets that a plan does not include', async () => {
    const rows = await ask(storeOf(days), { start_time: at(4, 0) }, 0, ['BTC'])
    expect(rows[1]).toMatchObject({ markets: 1, observations: 10, gap_ms: 3_600_000 })
  })

  it('begins with the window of the plan', async () => {
    const rows = await ask(storeOf([day(2)]), {}, at(2, 5))
    expect(rows.map(({ day }) => day)).toHaveLength(3)
  })

  it('refuses empty ranges and too many days', async () => {
    const store = storeOf([])
    await expect(ask(store, { start_time: NOW })).rejects.toBeInstanceOf(Problem)
    await expect(ask(store, { start_time: NOW - 93 * DAY_MICROS })).rejects.toBeInstanceOf(Problem)
    expect(await ask(store)).toHaveLength(31)
  })
})
