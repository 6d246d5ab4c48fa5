import {
  DAY_MICROS,
  isMarketState,
  startOfDay,
  printMicros,
  printScaled,
  type DatasetFloor,
  type Gap,
  type GapReason,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import {
  decimalJson,
  timeJson,
  type CalendarDayJson,
  type DatasetCoverageJson,
  type DayCoverageJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import {
  captureFact,
  newestPastTrade,
  type Coverage,
  type DayCoverage,
  type DayTotals,
  type StoreReader,
} from '../../store/store.ts'
import { firstRowTime } from '../pages/first-row.ts'
import type { ApiContext } from '../route.ts'

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
  const start = startOfDay(Math.max(first, since))
  for (let day = start; day <= last && days.length < 3660; day += DAY_MICROS) {
    const seen = known.get(day)
    if (seen === undefined || isBlank(seen)) {
      const from = Math.max(day, first)
      const gapMicros = Math.max(0, Math.min(day + DAY_MICROS, last + 1) - from)
      days.push({ day, condition: 'missing', observations: 0, observedMicros: 0, gapMicros })
    } else days.push({ ...seen, condition: conditionOf(seen, coverage!.gaps, life) })
  }
  return days
}

/** True where neither rows nor gaps account for any time: all rows of the instrument were removed. */
function isBlank({ observations, observedMicros, gapMicros }: DayCoverage): boolean {
  return observations === 0 && observedMicros === 0 && gapMicros === 0
}

function conditionOf(day: DayCoverage, gaps: readonly Gap[], life: Life): DayCoverage['condition'] {
  if (day.observations === 0) return 'missing'
  const from = Math.max(day.day, life.open ?? 0)
  const to = Math.min(day.day + DAY_MICROS, life.close)
  const isHole = (gap: Gap): boolean =>
    !isMarketState(gap.reason) && gap.start < to && (gap.end ?? Infinity) > from
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

/** Sums the books of a venue on one day over the assets of a plan. */
export class DayTally {
  #markets = 0
  #instruments = 0
  #observations = 0
  #observedMicros = 0
  readonly #holes = new Map<GapReason, { gaps: number; micros: number }>()

  add(totals: DayTotals): void {
    this.#markets += totals.markets
    this.#instruments += totals.instruments
    this.#observations += totals.observations
    this.#observedMicros += totals.observedMicros
    for (const { reason, gaps, micros } of totals.gaps) this.#addHoles(reason, gaps, micros)
  }

  /** Counts the part of a gap that is on a day; one that is open lasts until the time given. */
  addGap({ reason, start, end }: Gap, day: number, until: number): void {
    const last = Math.min(end ?? until, day + DAY_MICROS)
    const micros = last - Math.max(start, day)
    if (micros > 0) this.#addHoles(reason, 1, micros)
  }

  #addHoles(reason: GapReason, gaps: number, micros: number): void {
    const sum = this.#holes.get(reason) ?? { gaps: 0, micros: 0 }
    this.#holes.set(reason, { gaps: sum.gaps + gaps, micros: sum.micros + micros })
  }

  toJson(venue: VenueId, day: number, style: ValueStyle): CalendarDayJson {
    const holes = [...this.#holes].toSorted(([, a], [, b]) => b.micros - a.micros)
    const missing = holes.reduce((sum, [, { micros }]) => sum + micros, 0)
    return {
      venue,
      day: printDay(day),
      condition: this.#observations === 0 ? 'missing' : holes.length > 0 ? 'degraded' : 'available',
      markets: this.#markets,
      instruments: this.#instruments,
      observations: this.#observations,
      observed_ms: millis(this.#observedMicros, style)!,
      gap_ms: millis(missing, style)!,
      reasons: holes.map(([reason, { gaps, micros }]) => ({
        reason,
        gaps,
        gap_ms: millis(micros, style)!,
      })),
    }
  }
}

/** Renders a dataset with what this installation holds of it. */
export async function toDataset(
  { store }: ApiContext,
  floor: DatasetFloor,
  style: ValueStyle,
): Promise<DatasetCoverageJson> {
  const started = await store.fact(captureFact(floor.venue))
  const { first, oldest } = await beginOf(store, floor)
  const past = await pastOf(store, floor)
  return {
    kind: 'dataset',
    venue: floor.venue,
    dataset: floor.dataset,
    assets: floor.assets ?? null,
    windows: floor.windows ?? null,
    venue_floor: timeJson(floor.start, style),
    year_inferred: floor.yearInferred === true,
    backfilled:
      past !== undefined || (started !== undefined && oldest !== undefined && oldest < started),
    capture_started_time: timeJson(started, style),
    first_time: timeJson(first, style),
    first_day: first === undefined ? null : printDay(startOfDay(first)),
    backfilled_first_time: timeJson(past?.first, style),
    backfilled_last_time: timeJson(past?.last, style),
  }
}

// Trades from the venue's history, which are apart from observed ones.
async function pastOf(
  store: StoreReader,
  floor: DatasetFloor,
): Promise<{ readonly first: number; readonly last: number | undefined } | undefined> {
  if (floor.dataset !== 'trades') return undefined
  const first = await firstRowTime(store, floor.venue, floor.dataset, floor, true)
  if (first === undefined) return undefined
  return { first, last: await store.fact(newestPastTrade(floor.venue)) }
}

// The first time of a dataset, and the oldest time that a live recorder would have had to see. A recorder
// finds markets that opened before it started, but none that had closed by then.
async function beginOf(
  store: StoreReader,
  floor: DatasetFloor,
): Promise<{ readonly first: number | undefined; readonly oldest: number | undefined }> {
  const { venue, dataset, assets = [undefined], windows = [undefined] } = floor
  if (dataset !== 'catalogue') {
    const first = await firstRowTime(store, venue, dataset, floor)
    return { first, oldest: first }
  }
  const opens: number[] = []
  const closes: number[] = []
  for (const asset of assets) {
    for (const window of windows) {
      const query = { venue, asset, window, limit: 1 }
      const opened = (await store.markets(query)).markets[0]
      const closed = (await store.markets({ ...query, sort: 'close_time' })).markets[0]
      if (opened !== undefined) opens.push(opened.sortTime)
      if (closed?.record.closeTime !== undefined) closes.push(closed.record.closeTime)
    }
  }
  return { first: least(opens), oldest: least(closes) }
}

function least(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
}
