import type { CalendarDayJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { bookCells, calendarRange, derivedCells, shareOf, toWeeks } from './calendar.ts'
import { DAY } from './time.ts'

const day = (name: string, observations: number, gapMs = 0): CalendarDayJson => ({
  venue: 'venueb',
  day: name,
  condition: observations === 0 ? 'missing' : gapMs > 0 ? 'degraded' : 'available',
  markets: 1,
  instruments: 1,
  observations,
  observed_ms: observations * 100,
  gap_ms: gapMs,
  reasons: [],
})

const rows = [
  day('2026-08-05', 0),
  day('2026-08-06', 10, 1000),
  day('2026-08-07', 0),
  day('2026-08-08', 5),
]
const started = Date.parse('2026-08-06T12:00:00Z') * 1000

describe('a calendar', () => {
  const cells = bookCells(rows, started)

  it('distinguishes missing days from days before capture', () => {
    expect(cells.map(({ state }) => state)).toEqual(['before', 'degraded', 'missing', 'available'])
    expect(cells[1]!.share).toBe(0.5)
    expect(shareOf(rows[0]!)).toBe(0)
  })

  it('starts a dataset on its first day', () => {
    const states = (first: string | null) => derivedCells(cells, first).map(({ state }) => state)
    // A day with books is not one of which nothing was recorded.
    expect(states('2026-08-08')).toEqual(['before', 'none', 'missing', 'available'])
    expect(states(null)).toEqual(['before', 'none', 'missing', 'none'])
  })

  it('has weeks that begin on Monday', () => {
    const weeks = toWeeks(cells)
    // 2026-08-05 is a Wednesday.
    expect(weeks).toHaveLength(1)
    expect(weeks[0]!.map((cell) => cell?.day.slice(8))).toEqual([
      undefined,
      undefined,
      '05',
      '06',
      '07',
      '08',
      undefined,
    ])
    expect(toWeeks([])).toEqual([])
  })

  it('ends today', () => {
    const now = 20_000 * DAY + 5
    expect(calendarRange(now, 7)).toEqual({ from: 19_994 * DAY, to: now })
  })
})
