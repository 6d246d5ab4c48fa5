import type { DayCoverageJson } from '../wire/index.ts'
import type { CommandIo } from '../command-line/index.ts'

const MARKS = { available: '█', degraded: '▒', missing: '·' } as const
const STYLES = { available: 'green', degraded: 'yellow', missing: 'red' } as const

/** What the marks mean. */
export const CALENDAR_LEGEND = '█ available   ▒ degraded: with gaps   · missing'

/** Draws days as a calendar: one line per month, one column per day of the month. */
export function layCalendar(days: readonly DayCoverageJson[], paint: CommandIo['paint']): string[] {
  const byMonth = new Map<string, Map<number, DayCoverageJson['condition']>>()
  for (const { day, condition } of days) {
    const month = day.slice(0, 7)
    const cells = byMonth.get(month) ?? new Map<number, DayCoverageJson['condition']>()
    cells.set(Number(day.slice(8)), condition)
    byMonth.set(month, cells)
  }
  const lines = [paint('dim', `         ${HEAD}`.trimEnd())]
  for (const month of [...byMonth.keys()].sort()) {
    const cells = byMonth.get(month)!
    let text = ''
    for (let day = 1; day <= Math.max(...cells.keys()); day++) {
      const condition = cells.get(day)
      text += condition === undefined ? ' ' : paint(STYLES[condition], MARKS[condition])
    }
    lines.push(`${month}  ${text}`)
  }
  return lines
}

const HEAD = Array.from({ length: 31 }, (_, index) => {
  const day = index + 1
  return day === 1 || day % 5 === 0 ? String(day) : ''
}).reduce((line, text, index) => line.padEnd(index) + text, '')
