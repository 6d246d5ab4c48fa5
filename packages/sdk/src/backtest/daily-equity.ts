import { DAY_MICROS } from '../domain/index.ts'

/** The equity at the end of one UTC day, in money units. */
export type DayClose = { readonly day: number; readonly equity: number }

/** The equity of a run at the end of every UTC day: that of the first sample after midnight. */
export class DailyEquity {
  readonly closes: DayClose[] = []
  /** The next midnight. */
  due = Infinity
  private day = -1

  /** Notes the equity of a time; times do not go back. */
  note(at: number, equity: number): void {
    const day = Math.floor(at / DAY_MICROS)
    if (this.day < 0) this.day = day
    // Days without a sample end as the one before.
    for (; this.day < day; this.day++) this.closes.push({ day: this.day, equity })
    this.due = (day + 1) * DAY_MICROS
  }

  /** All days; the last one ends with the run. */
  daysUntil(equity: number): readonly DayClose[] {
    return this.day < 0 ? [] : [...this.closes, { day: this.day, equity }]
  }
}
