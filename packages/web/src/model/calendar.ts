import type { CalendarDayJson } from '@priorbook/sdk/wire'
import { DAY, printDate } from './time.ts'

/** One cell of a calendar. */
export type CalendarCell = {
  readonly day: string
  /** `none`: books were recorded, but nothing of this dataset. */
  readonly state: 'available' | 'degraded' | 'missing' | 'none' | 'before'
  /** The share of the time that was recorded, 0 to 1. */
  readonly share: number
  readonly row: CalendarDayJson | undefined
}

/** Weeks of seven days, Monday first; days outside the range are undefined. */
export function toWeeks(
  cells: readonly CalendarCell[],
): readonly (readonly (CalendarCell | undefined)[])[] {
  const [first] = cells
  if (first === undefined) return []
  const weekday = (new Date(`${first.day}T00:00:00Z`).getUTCDay() + 6) % 7
  const padded: (CalendarCell | undefined)[] = [
    ...Array.from({ length: weekday }, () => undefined),
    ...cells,
  ]
  const weeks: (CalendarCell | undefined)[][] = []
  for (let index = 0; index < padded.length; index += 7) weeks.push(padded.slice(index, index + 7))
  while (weeks.at(-1)!.length < 7) weeks.at(-1)!.push(undefined)
  return weeks
}

/** The cells of a venue's books. */
export function bookCells(rows: readonly CalendarDayJson[], started: number | undefined) {
  return rows.map((row): CalendarCell => {
    const isBefore =
      row.observations === 0 && (started === undefined || row.day < printDate(started))
    return {
      day: row.day,
      state: isBefore ? 'before' : row.condition,
      share: shareOf(row),
      row,
    }
  })
}

/** The cells of a dataset that the connections of the books capture, from its first day on. */
export function derivedCells(
  books: readonly CalendarCell[],
  firstDay: string | null,
): readonly CalendarCell[] {
  return books.map((cell) =>
    firstDay === null || cell.day < firstDay
      ? { ...cell, state: isEmpty(cell) ? cell.state : 'none', share: 0 }
      : cell,
  )
}

function isEmpty({ state }: CalendarCell): boolean {
  return state === 'before' || state === 'missing'
}

/** The share of the time that was recorded. */
export function shareOf({ observed_ms: seen, gap_ms: missed }: CalendarDayJson): number {
  const observed = Number(seen)
  const all = observed + Number(missed)
  return all === 0 ? 0 : observed / all
}

/** The range of a calendar that ends today. */
export function calendarRange(now: number, days: number): { from: number; to: number } {
  const today = Math.floor(now / DAY) * DAY
  return { from: today - (days - 1) * DAY, to: now }
}
