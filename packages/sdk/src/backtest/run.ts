import {
  floorOf,
  PriorbookError,
  printMicros,
  VENUE_IDS,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../domain/index.ts'
import type { ReplayBatch } from '../replay/index.ts'
import type { CellOptions, GapPolicy } from './cell-options.ts'
import { Cell } from './cell.ts'
import type { LatencyOptions } from './latency.ts'
import type { Assumptions } from './market-state.ts'
import { parseMoney } from './money.ts'
import { QUEUE_MODELS, type QueueModel } from './queue.ts'
import type { Revision } from './records.ts'
import type { Report } from './report/report-shape.ts'
import { buildReport } from './report/report.ts'
import type { Params, Strategy, StrategyFactory } from './strategy.ts'
import type { Why } from './why.ts'
import { World } from './world.ts'

/** Batches of events in order of received time, as `replay()` gives them. */
export type EventSource = AsyncIterable<ReplayBatch> | Iterable<ReplayBatch>

/** What all runs over one tape share. */
export type RunOptions = {
  readonly events: EventSource
  readonly strategy: Strategy | StrategyFactory
  /** One model, or all three side by side (default): then the results of resting orders are a bracket. */
  readonly queue?: QueueModel | 'bracket'
  /** Collateral to start with: the same at every venue, or by venue; 1,000 without. */
  readonly cash?: number | string | Readonly<Partial<Record<VenueId, number | string>>>
  readonly latency?: LatencyOptions
  readonly gapPolicy?: GapPolicy
  /** How long a print may come after its change of the book, in microseconds. */
  readonly printLag?: number
  /** Fills this close to a gap are reported apart, in microseconds. */
  readonly nearGap?: number
  readonly seed?: number
  readonly assume?: Assumptions
  /** Market records by the time they became known, where the events do not hold all of them. */
  readonly revisions?: readonly Revision[]
  /**
   * Names, ticks and fees of these records are taken as true for the whole range; `newest`: of those
   * that the events bring with them (files hold the newest record of a market alone).
   */
  readonly records?: readonly MarketRecord[] | 'newest'
  /** How many orders and fills are kept for the report; all are counted. */
  readonly keep?: number
  /** Of how many orders the story is kept. */
  readonly explain?: number
  /** The range that was asked for, in microseconds; for coverage and refusals. */
  readonly from?: number
  readonly to?: number
  /** Told now and then: the time reached and the observations read. */
  readonly onProgress?: (at: number, observations: number) => void
  readonly signal?: AbortSignal
}

/** One run. */
export type BacktestOptions = RunOptions & { readonly params?: Params }

/** What came out of one set of parameters. */
export type BacktestResult = {
  readonly params: Params
  /** The report of the chosen model; of the pessimistic one in a bracket. */
  readonly report: Report
  /** All models that were run, strictest first. */
  readonly reports: readonly Report[]
  /** The story of one order in the report's own run. */
  why(order: number): Why | undefined
}

/** About 800 ms lie between a change of the book and the print of its trade at p99.9, as measured. */
export const DEFAULT_PRINT_LAG = 800_000
/** Fills within ten seconds of a gap are reported apart. */
export const DEFAULT_NEAR_GAP = 10_000_000

/** Runs a strategy over recorded events. */
export async function backtest(options: BacktestOptions): Promise<BacktestResult> {
  const [result] = await runAll(options, [options.params ?? {}])
  return result!
}

/** Runs one strategy with several sets of parameters over one reading of the tape. */
export function sweep(
  options: RunOptions & { readonly params: readonly Params[] },
): Promise<readonly BacktestResult[]> {
  return runAll(options, options.params)
}

/** Every combination of some values of each parameter, the last one varying fastest. */
export function grid(values: Readonly<Record<string, readonly Params[string][]>>): Params[] {
  let cells: Params[] = [{}]
  for (const [name, list] of Object.entries(values)) {
    cells = cells.flatMap((cell) => list.map((value) => ({ ...cell, [name]: value })))
  }
  return cells
}

/** A sweep on the first part of a range, and the best of it alone on the rest. */
export type HoldoutResult = {
  readonly train: readonly BacktestResult[]
  readonly best: BacktestResult
  readonly holdout: BacktestResult
}

/** Chooses parameters on [from, split) and shows what they do on [split, to), which chose nothing. */
export async function trainHoldout(
  options: Omit<RunOptions, 'events'> & {
    readonly params: readonly Params[]
    readonly open: (from: number, to: number) => EventSource
    readonly from: number
    readonly split: number
    readonly to: number
    /** What to choose by; the largest wins. The PnL without. */
    readonly score?: (report: Report) => number
  },
): Promise<HoldoutResult> {
  const { open, from, split, to, score = (report) => Number(report.headline.pnl) } = options
  if (!(from < split && split < to)) {
    throw new PriorbookError('invalid_argument', 'the split must lie inside the range')
  }
  const train = await runAll(
    { ...options, events: open(from, split), from, to: split },
    options.params,
  )
  let best = train[0]!
  for (const result of train) if (score(result.report) > score(best.report)) best = result
  const [holdout] = await runAll({ ...options, events: open(split, to), from: split, to }, [
    best.params,
  ])
  return { train, best, holdout: holdout! }
}

const PROGRESS_EVERY = 1 << 16
const LEAST_KEPT = 200

async function runAll(options: RunOptions, params: readonly Params[]): Promise<BacktestResult[]> {
  const run = new Run(options, params)
  const { world } = run
  const { events, records } = options
  let next = PROGRESS_EVERY
  let isFirst = true
  for await (const batch of events) {
    if (isFirst && records === 'newest') world.assumeRecords(newestOf(events))
    isFirst = false
    for (const event of batch) world.take(event)
    const { observations } = world
    if (observations < next) continue
    next = observations + PROGRESS_EVERY
    options.onProgress?.(world.now, observations)
    options.signal?.throwIfAborted()
  }
  if (world.observations === 0) throw noData(world, options)
  run.finish()
  options.onProgress?.(world.now, world.observations)
  return run.results()
}

/** The runs over one world, for whoever feeds it: a tape to its end, or a live stream without one. */
export class Run {
  readonly world: World
  private readonly options: Omit<RunOptions, 'events'>
  private readonly params: readonly Params[]
  private readonly models: readonly QueueModel[]
  private readonly cells: readonly Cell[]

  constructor(options: Omit<RunOptions, 'events'>, params: readonly Params[]) {
    const { queue = 'bracket', revisions, records } = options
    this.options = options
    this.params = params
    this.models = queue === 'bracket' ? QUEUE_MODELS : [queue]
    this.world = new World(options.assume)
    const isBracketed = this.models.length > 1
    this.cells = params.flatMap((each) =>
      this.models.map(
        (model) =>
          new Cell(this.world, cellOptions(options, each, model, isBracketed, params.length)),
      ),
    )
    this.world.attach(this.cells)
    if (revisions !== undefined) this.world.setRevisions(revisions)
    if (records !== undefined && records !== 'newest') this.world.assumeRecords(records)
  }

  /** Does what is still due and ends the runs. */
  finish(): void {
    const { to, from = 0, revisions } = this.options
    // Records that came after the last row still belong to the range.
    const known = revisions?.reduce((most, { at }) => Math.max(most, at), 0) ?? 0
    this.world.finish(Math.max(from, this.world.now, Math.min(to ?? known, known)))
  }

  /** What came out so far. */
  results(): BacktestResult[] {
    const { models, options, world } = this
    return this.params.map((params, index) => {
      const own = this.cells.slice(index * models.length, (index + 1) * models.length)
      const reports = own.map((cell) => buildReport(world, cell, own, options))
      return {
        params,
        report: reports[0]!,
        reports,
        why(id) {
          const order = own[0]!.order(id)
          return order === undefined
            ? undefined
            : { order: order.view(), steps: Object.freeze([...(order.steps ?? [])]) }
        },
      }
    })
  }
}

function newestOf(events: EventSource): readonly MarketRecord[] {
  return 'markets' in events ? (events.markets as readonly MarketRecord[]) : []
}

function cellOptions(
  options: Omit<RunOptions, 'events'>,
  params: Params,
  queue: QueueModel,
  isBracketed: boolean,
  share: number,
): CellOptions {
  const { strategy } = options
  return {
    strategy: typeof strategy === 'function' ? strategy(params) : strategy,
    params,
    seed: options.seed ?? 1,
    queue,
    isBracketed,
    latency: options.latency ?? {},
    gapPolicy: options.gapPolicy ?? 'cancel',
    cash: cashOf(options.cash),
    printLag: options.printLag ?? DEFAULT_PRINT_LAG,
    nearGap: options.nearGap ?? DEFAULT_NEAR_GAP,
    // A sweep shares the room: memory does not grow with the number of its cells.
    keep: Math.max(LEAST_KEPT, Math.floor((options.keep ?? 50_000) / share)),
    explain: Math.floor((options.explain ?? 10_000) / share),
  }
}

function cashOf(cash: RunOptions['cash']): Record<VenueId, number> {
  const each = VENUE_IDS.map((venue) => {
    const amount = typeof cash === 'object' ? (cash[venue] ?? 0) : (cash ?? 1000)
    const units = parseMoney(amount)
    if (units < 0) throw new PriorbookError('invalid_argument', `cash ${amount} is below zero`)
    return [venue, units] as const
  })
  return Object.fromEntries(each) as Record<VenueId, number>
}

function noData(world: World, options: RunOptions): PriorbookError {
  const { to } = options
  const floors = world.list.flatMap(({ venue, record }) => {
    const floor = floorOf(venue, 'books', { asset: record?.asset, window: record?.window })
    return floor !== undefined && to !== undefined && to <= floor
      ? [`books of ${venue} begin at ${printMicros(floor)}`]
      : []
  })
  const why = [...new Set(floors)].join('; ')
  const range =
    options.from === undefined || to === undefined
      ? 'the events'
      : `${printMicros(options.from as Micros)} to ${printMicros(to as Micros)}`
  return new PriorbookError(
    'no_data',
    `no recorded book in ${range}${why === '' ? '' : `: ${why}`}`,
  )
}
