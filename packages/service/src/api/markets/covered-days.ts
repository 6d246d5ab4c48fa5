import {
  printMicros,
  printScaled,
  type Gap,
  type GapReason,
  type Micros,
} from '@priorbook/sdk/domain'
import { decimalJson, type DayCoverageJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { Coverage, DayCoverage } from '../../store/store.ts'

/** A UTC day in microseconds. */
export const DAY = 86_400_000_000

/** True for gaps in which the market did not trade, so that nothing was missed. */
export function isExpectedGap(reason: GapReason): boolean {
  return reason === 'market_not_open' || reason === 'market_closed'
}

/** When a market traded, as far as known. */
export type Life = { readonly open: number | undefined; readonly close: number }

/**
 * The days of an instrument from the market's opening to its close, at most ten years. Days without a row
 * are `missing`, days with a gap while the market traded are `degraded`.
 */
export function coverageDays(
  coverage: Coverage | undefined,
  life: Life,
  since: number,
): DayCoverage[] {
  const known = new Map((coverage?.days ?? []).map((day) => [day.day, day]))
  const first = Math.min(life.open ?? Infinity, coverage?.facts.firstReceived ?? Infinity)
  const last = Math.max(life.close - 1, coverage?.facts.lastReceived ?? 0)
  if (!Number.isFinite(first)) return []
  const days: DayCoverage[] = []
  const start = Math.floor(Math.max(first, since) / DAY) * DAY
  for (let day = start; day <= last && days.length < 3660; day += DAY) {
    const seen = known.get(day)
    if (seen === undefined) {
      const from = Math.max(day, first)
      const gapMicros = Math.max(0, Math.min(day + DAY, last + 1) - from)
      days.push({ day, condition: 'missing', observations: 0, observedMicros: 0, gapMicros })
    } else days.push({ ...seen, condition: conditionOf(seen, coverage!.gaps, life) })
  }
  return days
}

function conditionOf(day: DayCoverage, gaps: readonly Gap[], life: Life): DayCoverage['condition'] {
  if (day.observations === 0) return 'missing'
  const from = Math.max(day.day, life.open ?? 0)
  const to = Math.min(day.day + DAY, life.close)
  const isHole = (gap: Gap): boolean =>
    !isExpectedGap(gap.reason) && gap.start < to && (gap.end ?? Infinity) > from
  return gaps.some(isHole) ? 'degraded' : 'available'
}

/** Renders a day. */
export function toDayJson(day: DayCoverage, style: ValueStyle): DayCoverageJson {
  return {
    day: printDay(day.day),
    condition: day.condition,
    observations: day.observations,
    observed_ms: millis(day.observedMicros, style)!,
    gap_ms: millis(day.gapMicros, style)!,
    mean_spacing_ms: millis(day.meanSpacingMicros, style),
  }
}

/** A duration in milliseconds, to the microsecond. */
export function millis(
  micros: number | undefined,
  style: ValueStyle,
): DayCoverageJson['mean_spacing_ms'] {
  return micros === undefined ? null : decimalJson(printScaled(Math.round(micros), 3), style)
}

/** A day as `2026-08-05`. */
export function printDay(time: number): string {
  return printMicros(time as Micros).slice(0, 10)
}
