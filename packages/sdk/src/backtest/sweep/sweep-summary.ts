import type { Report } from '../report/index.ts'
import type { Params } from '../strategy.ts'
import { deflateSharpe, sharpeOf, type DeflatedSharpe, type Sharpe } from './deflated-sharpe.ts'

/** One run of a sweep. */
export type SweepCell = {
  readonly params: Params
  readonly pnl: string
  readonly fees: string
  readonly fills: number
  /** By event: trades of one event are correlated. Null where there are too few. */
  readonly sharpe: Sharpe | null
}

/** An axis of a heat map: the values or spans of one parameter. */
export type SweepAxis = { readonly param: string; readonly labels: readonly string[] }

/** The mean result by two parameters, over all values of the others. */
export type HeatMap = {
  readonly x: SweepAxis
  /** Absent where one parameter varies. */
  readonly y: SweepAxis | null
  /** By row (y), then by column (x); null where no run fell. */
  readonly values: readonly (readonly (number | null)[])[]
}

/** All runs of a sweep, the best one among its neighbours, and how much of it may be luck. */
export type SweepSummary = {
  readonly format: 'priorbook-sweep/1'
  readonly tries: number
  readonly cells: readonly SweepCell[]
  readonly best: SweepCell
  /** Runs that differ from the best one by one step of one parameter; of random ones the nearest. */
  readonly neighbours: readonly SweepCell[]
  /** Of the best run; null where it has no Sharpe ratio. */
  readonly deflated: DeflatedSharpe | null
  readonly heat_map: HeatMap | null
}

/** Sums up the reports of a sweep. */
export function summarizeSweep(reports: readonly Report[]): SweepSummary {
  const cells = reports.map(toCell)
  const best = bestOf(cells)
  const ratios = cells.flatMap(({ sharpe }) => (sharpe === null ? [] : [sharpe.ratio]))
  const varied = variedParams(cells)
  return {
    format: 'priorbook-sweep/1',
    tries: cells.length,
    cells,
    best,
    neighbours: neighboursOf(best, cells, varied),
    deflated: best.sharpe === null ? null : deflateSharpe(best.sharpe, ratios, cells.length),
    heat_map: heatMapOf(cells, varied),
  }
}

/** The results of the events that a run traded in. */
export function resultsByEvent({ markets }: Report): ReadonlyMap<string, number> {
  const events = new Map<string, number>()
  for (const { event, fills, pnl } of markets) {
    if (fills > 0) events.set(event, (events.get(event) ?? 0) + Number(pnl))
  }
  return events
}

function toCell(report: Report): SweepCell {
  const { run, headline, fills } = report
  return {
    params: run.params as Params,
    pnl: headline.pnl,
    fees: headline.fees,
    fills: fills.count,
    sharpe: sharpeOf([...resultsByEvent(report).values()]) ?? null,
  }
}

function bestOf(cells: readonly SweepCell[]): SweepCell {
  return cells.reduce((left, right) => (Number(right.pnl) > Number(left.pnl) ? right : left))
}

type Varied = { readonly param: string; readonly values: readonly Params[string][] }

// Parameters with more than one value, in the order of their names in the first set.
function variedParams(cells: readonly SweepCell[]): Varied[] {
  return Object.keys(cells[0]!.params).flatMap((param) => {
    const values = [...new Set(cells.map(({ params }) => params[param]!))].toSorted(compareValues)
    return values.length > 1 ? [{ param, values }] : []
  })
}

function compareValues(left: Params[string], right: Params[string]): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  return String(left) < String(right) ? -1 : 1
}

const NEAREST = 4

function neighboursOf(
  best: SweepCell,
  cells: readonly SweepCell[],
  varied: readonly Varied[],
): SweepCell[] {
  const steps = (cell: SweepCell): number[] =>
    varied.map(({ param, values }) =>
      Math.abs(values.indexOf(cell.params[param]!) - values.indexOf(best.params[param]!)),
    )
  const sum = (list: readonly number[]): number => list.reduce((total, value) => total + value, 0)
  const others = cells.filter((cell) => cell !== best)
  const adjacent = others.filter((cell) => sum(steps(cell)) === 1)
  if (adjacent.length > 0) return adjacent
  const share = (cell: SweepCell): number =>
    sum(steps(cell).map((count, index) => count / (varied[index]!.values.length - 1)))
  return others.toSorted((left, right) => share(left) - share(right)).slice(0, NEAREST)
}

function heatMapOf(cells: readonly SweepCell[], varied: readonly Varied[]): HeatMap | null {
  const [first, second] = varied
  if (first === undefined) return null
  const x = axisOf(first)
  const y = second === undefined ? undefined : axisOf(second)
  const rows = y?.labels.length ?? 1
  const sums = Array.from({ length: rows }, () => x.labels.map(() => ({ sum: 0, count: 0 })))
  for (const { params, pnl } of cells) {
    const cell = sums[y?.placeOf(params) ?? 0]![x.placeOf(params)]!
    cell.sum += Number(pnl)
    cell.count++
  }
  return {
    x: { param: x.param, labels: x.labels },
    y: y === undefined ? null : { param: y.param, labels: y.labels },
    values: sums.map((row) =>
      row.map(({ sum, count }) => (count === 0 ? null : Number((sum / count).toFixed(8)))),
    ),
  }
}

type Axis = SweepAxis & { placeOf(params: Params): number }

// More values than a picture can show are put together into spans of equal width.
const MAX_LABELS = 24
const SPANS = 12

function axisOf({ param, values }: Varied): Axis {
  const numbers = values.filter((value) => typeof value === 'number')
  if (values.length <= MAX_LABELS || numbers.length < values.length) {
    const labels = values.map(String)
    return { param, labels, placeOf: (params) => values.indexOf(params[param]!) }
  }
  const low = numbers[0]!
  const width = (numbers.at(-1)! - low) / SPANS
  const labels = Array.from({ length: SPANS }, (_, index) =>
    [index, index + 1].map((edge) => String(Number((low + edge * width).toPrecision(6)))).join('–'),
  )
  return {
    param,
    labels,
    placeOf: (params) => Math.min(SPANS - 1, Math.floor((Number(params[param]) - low) / width)),
  }
}
