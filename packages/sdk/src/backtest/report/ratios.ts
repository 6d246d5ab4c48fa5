import { rounded } from './evaluation.ts'

/** A ratio of daily results to their spread, with its standard error. */
export type DayRatio = {
  /** Per day, and for a year of 365 days. */
  readonly daily: number | null
  readonly annual: number | null
  /** One standard error of `daily` and of `annual`: the ratio is known to about twice this. */
  readonly daily_error: number | null
  readonly annual_error: number | null
}

const UNKNOWN: DayRatio = { daily: null, annual: null, daily_error: null, annual_error: null }
// Venues trade on every day of the year.
const DAYS_OF_YEAR = 365

/** Mean over standard deviation of daily results. */
export function sharpeOf(days: readonly number[]): DayRatio {
  const mean = meanOf(days)
  const variance = meanOf(days.map((day) => (day - mean) ** 2))
  return ratioOf(days, mean, variance, (day) => (day - mean) ** 2)
}

/** Mean over the root mean square of the days with a loss, counted over all days. */
export function sortinoOf(days: readonly number[]): DayRatio {
  const square = (day: number): number => Math.min(0, day) ** 2
  return ratioOf(days, meanOf(days), meanOf(days.map(square)), square)
}

// The error is that of the delta method: it assumes no shape of the distribution, only days that do not depend on
// each other. `spread` is the mean of `square` over all days.
function ratioOf(
  days: readonly number[],
  mean: number,
  spread: number,
  square: (day: number) => number,
): DayRatio {
  const { length } = days
  if (length < 2 || spread <= 0) return UNKNOWN
  const root = Math.sqrt(spread)
  const ratio = mean / root
  const influence = days.map(
    (day) => (day - mean) / root - (ratio / (2 * spread)) * (square(day) - spread),
  )
  const error = Math.sqrt(
    influence.reduce((sum, each) => sum + each ** 2, 0) / (length * (length - 1)),
  )
  const year = Math.sqrt(DAYS_OF_YEAR)
  return {
    daily: rounded(ratio),
    annual: rounded(ratio * year),
    daily_error: rounded(error),
    annual_error: rounded(error * year),
  }
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
