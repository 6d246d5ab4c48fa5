import {
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
import type {
  Coverage,
  DayCoverage,
  InstrumentFacts,
  MarketState,
  StoreReader,
} from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { instrumentsOf } from './instruments.ts'

/** A UTC day in microseconds. */
export const DAY = 86_400_000_000

/** True for gaps in which the market did not trade, so that nothing was missed. */
function isExpectedGap(reason: GapReason): boolean {
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

/** The coverage of one instrument on one day. */
export type CalendarPiece = {
  readonly day: number
  readonly observations: number
  readonly observedMicros: number
  readonly holes: readonly { readonly reason: GapReason; readonly micros: number }[]
}

/** Sums the coverage of a venue's instruments on one day. */
export class DayTally {
  #instruments = 0
  #observations = 0
  #observedMicros = 0
  readonly #markets = new Set<string>()
  readonly #holes = new Map<GapReason, { gaps: number; micros: number }>()

  add(piece: CalendarPiece, market: string): void {
    if (piece.observations > 0) {
      this.#instruments++
      this.#markets.add(market)
      this.#observations += piece.observations
      this.#observedMicros += piece.observedMicros
    }
    for (const { reason, micros } of piece.holes) {
      const sum = this.#holes.get(reason) ?? { gaps: 0, micros: 0 }
      this.#holes.set(reason, { gaps: sum.gaps + 1, micros: sum.micros + micros })
    }
  }

  toJson(venue: VenueId, day: number, style: ValueStyle): CalendarDayJson {
    const holes = [...this.#holes].toSorted(([, a], [, b]) => b.micros - a.micros)
    const missing = holes.reduce((sum, [, { micros }]) => sum + micros, 0)
    return {
      venue,
      day: printDay(day),
      condition: this.#observations === 0 ? 'missing' : holes.length > 0 ? 'degraded' : 'available',
      markets: this.#markets.size,
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

// An instrument without a row for this long, in microseconds, has ended: its days are cached.
const ENDED = 3_600_000_000

const cached = new WeakMap<
  StoreReader,
  Map<string, { mark: string; pieces: readonly CalendarPiece[] }>
>()

/** The coverage of an instrument, day by day. */
export async function piecesOf(
  store: StoreReader,
  facts: InstrumentFacts,
  now: number,
): Promise<readonly CalendarPiece[]> {
  const { venue, key } = facts.instrument
  let known = cached.get(store)
  if (known === undefined) cached.set(store, (known = new Map()))
  const name = `${venue} ${key}`
  const mark = `${facts.firstSequence} ${facts.lastSequence}`
  const before = known.get(name)
  if (before?.mark === mark) return before.pieces
  const coverage = await store.coverage({ venue, key })
  const life = { open: facts.firstReceived, close: facts.lastReceived + 1 }
  const pieces = coverageDays(coverage, life, 0).map((day) => ({
    day: day.day,
    observations: day.observations,
    observedMicros: day.observedMicros,
    holes: holesOf(coverage?.gaps ?? [], day.day, facts.lastReceived),
  }))
  if (facts.lastReceived < now - ENDED) known.set(name, { mark, pieces })
  return pieces
}

function holesOf(gaps: readonly Gap[], day: number, last: number): CalendarPiece['holes'] {
  return gaps.flatMap(({ reason, start, end = last as Gap['start'] }) => {
    if (isExpectedGap(reason)) return []
    const micros = Math.min(end, day + DAY) - Math.max(start, day)
    return micros > 0 ? [{ reason, micros }] : []
  })
}

/** Renders a dataset with the time of its first row. */
export async function toDataset(
  context: ApiContext,
  floor: DatasetFloor,
  style: ValueStyle,
): Promise<DatasetCoverageJson> {
  const started = await context.store.fact(`capture_started:${floor.venue}`)
  const first = await firstTime(context, floor)
  return {
    kind: 'dataset',
    venue: floor.venue,
    dataset: floor.dataset,
    assets: floor.assets ?? null,
    windows: floor.windows ?? null,
    floor_time: timeJson(floor.start, style),
    year_inferred: floor.yearInferred === true,
    backfilled: floor.backfilled === true,
    capture_started_time: timeJson(started, style),
    first_time: timeJson(first, style),
    first_day: first === undefined ? null : printDay(Math.floor(first / DAY) * DAY),
  }
}

// The store keeps markets by open time, so the oldest ones hold the first row of a dataset.
const OLDEST = 20

async function firstTime(context: ApiContext, floor: DatasetFloor): Promise<number | undefined> {
  const { store } = context
  const { venue, dataset, assets = [undefined], windows = [undefined] } = floor
  let first: number | undefined
  const meet = (time: number | undefined): void => {
    if (time !== undefined && (first === undefined || time < first)) first = time
  }
  for (const asset of assets) {
    for (const window of windows) {
      const filters = { ...(asset && { asset }), ...(window && { window }) }
      const { markets } = await store.markets({ venue, ...filters, limit: OLDEST })
      if (dataset === 'catalogue') meet(markets[0]?.sortTime)
      else for (const market of markets) meet(await firstRow(context, market, dataset))
    }
  }
  return first
}

async function firstRow(
  context: ApiContext,
  { record }: MarketState,
  dataset: DatasetFloor['dataset'],
): Promise<number | undefined> {
  const { store } = context
  const times: number[] = []
  const query = { venue: record.venue, order: 'asc', limit: 1 } as const
  if (dataset === 'metrics') {
    for (const { tokenId: key } of record.outcomes) {
      if (key === undefined) continue
      const { rows, ordinals } = await store.samples({ ...query, key, metric: 'chance' })
      if (ordinals.length > 0) times.push(rows.received[0]!)
    }
  } else {
    for (const { key } of await instrumentsOf(context, record)) {
      if (dataset === 'books') {
        const facts = await store.instrument({ venue: record.venue, key })
        const hasRows = facts !== undefined && facts.firstSequence <= facts.lastSequence
        if (hasRows) times.push(facts.firstReceived)
      } else {
        const { rows, ordinals } = await store.trades({ ...query, key })
        if (ordinals.length > 0) times.push(rows.received[0]!)
      }
    }
  }
  return times.length === 0 ? undefined : Math.min(...times)
}
