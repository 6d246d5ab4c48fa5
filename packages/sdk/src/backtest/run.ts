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
import type { AccountLimits } from './account-limits.ts'
import type { DataFeed } from './feeds/data-feed.ts'
import { mergeFeeds } from './feeds/merge-feeds.ts'
import type { GapPolicy, LatencyOptions, StrategyRunOptions } from './run-options.ts'
import type { Assumptions } from './market-state.ts'
import { parseMoney } from './money.ts'
import { QUEUE_MODELS, type QueueModel } from './queue.ts'
import type { Revision } from './records.ts'
import type { Report } from './report/report-shape.ts'
import { buildReport } from './report/report.ts'
import { StrategyRun } from './strategy-run.ts'
import type { Params, Strategy, StrategyFactory } from './strategy.ts'
import type { Why } from './why.ts'
import { World } from './world.ts'

/** Batches of events in order of received time, as `replay()` yields them. */
export type EventSource = AsyncIterable<ReplayBatch> | Iterable<ReplayBatch>

/** The options that all runs over one tape share. */
export type RunOptions = {
  readonly events: EventSource
  readonly strategy: Strategy | StrategyFactory
  /** Series of one's own, played among the events by their received time. */
  readonly data?: readonly DataFeed[]
  /**
   * One model, or `bracket`: all three, which needs a function that creates the strategy. Default: `bracket`
   * for a function, `pessimistic` for an object, whose memory three runs would share.
   */
  readonly queue?: QueueModel | 'bracket'
  /** Collateral to start with, at every venue or by venue; default: 1,000. */
  readonly cash?: number | string | Readonly<Partial<Record<VenueId, number | string>>>
  readonly latency?: LatencyOptions
  /** Limits of the account by position, loss and requests per second; default: none. */
  readonly limits?: AccountLimits
  readonly gapPolicy?: GapPolicy
  /** Max delay of a trade print after the book change it belongs to, in microseconds. */
  readonly printLag?: number
  /** Fills within this distance of a gap are reported separately, in microseconds. */
  readonly nearGap?: number
  readonly seed?: number
  readonly assume?: Assumptions
  /** Market records by the time they became known, where the events do not hold all of them. */
  readonly revisions?: readonly Revision[]
  /**
   * Records whose names, ticks and fees are assumed for the whole range. `newest` means those of files that
   * have only the newest record of a market; where files have all of them, each counts from the time at
   * which it became known.
   */
  readonly records?: readonly MarketRecord[] | 'newest'
  /** Max orders and fills that are kept for the report; all are counted. */
  readonly keep?: number
  /** How many orders keep the steps that explain them. */
  readonly explain?: number
  /** The requested range, in microseconds, for coverage and error messages. */
  readonly from?: number
  readonly to?: number
  /** Called now and then with the time reached and the number of book rows read. */
  readonly onProgress?: (at: number, observations: number) => void
  readonly signal?: AbortSignal
  /** How many sets of parameters run in all, where they are spread over workers: limits are divided by it. */
  readonly sets?: number
}

/** The options of one run. */
export type BacktestOptions = RunOptions & { readonly params?: Params }

/** The result of one set of parameters. */
export type BacktestResult = {
  readonly params: Params
  /** The report of the chosen queue model; in a bracket, of the pessimistic one. */
  readonly report: Report
  /** The reports of all queue models that were run, strictest first. */
  readonly reports: readonly Report[]
  /** Explains one order of the report. */
  why(order: number): Why | undefined
}

/** Measured: 99.9 % of prints come within about 800 ms of the book change they belong to. */
export const DEFAULT_PRINT_LAG = 800_000
/** Fills within ten seconds of a gap are reported separately. */
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

/** Every combination of the values of each parameter; the last parameter varies fastest. */
export function grid(values: Readonly<Record<string, readonly Params[string][]>>): Params[] {
  let sets: Params[] = [{}]
  for (const [name, list] of Object.entries(values)) {
    sets = sets.flatMap((set) => list.map((value) => ({ ...set, [name]: value })))
  }
  return sets
}

/** A sweep over the first part of a range, and its best parameters on the rest. */
export type HoldoutResult = {
  readonly train: readonly BacktestResult[]
  readonly best: BacktestResult
  readonly holdout: BacktestResult
}

/** Chooses parameters on [from, split) and tests them on [split, to), which took no part in the choice. */
export async function trainHoldout(
  options: Omit<RunOptions, 'events'> & {
    readonly params: readonly Params[]
    readonly open: (from: number, to: number) => EventSource
    readonly from: number
    readonly split: number
    readonly to: number
    /** The score to choose by, largest first; default: the PnL. */
    readonly score?: (report: Report) => number
  },
): Promise<HoldoutResult> {
  const { open, from, split, to, score = (report) => Number(report.headline.pnl) } = options
  if (!(from < split && split < to)) {
    throw new PriorbookError('invalid_argument', 'the split must lie within the range')
  }
  requireFresh(options)
  const train = await runAll(
    { ...options, events: open(from, split), from, to: split },
    options.params,
  )
  let best = train[0]!
  for (const result of train) if (score(result.report) > score(best.report)) best = result
  const [holdout] = await runAll(
    { ...options, events: open(split, to), from: split, to, sets: 1 },
    [best.params],
  )
  return { train, best, holdout: holdout! }
}

// Training and test must share neither the memory of a strategy nor rows that can be read only once.
function requireFresh({ strategy, data = [] }: Pick<RunOptions, 'strategy' | 'data'>): void {
  if (typeof strategy !== 'function') {
    const detail =
      'a split needs a function that creates the strategy, so that the test begins fresh'
    throw new PriorbookError('invalid_argument', detail)
  }
  for (const { name, rows } of data) {
    const again =
      Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
    if ((again as unknown) !== rows) continue
    const detail = `the rows of ${name} can be read only once: give something that can be read again`
    throw new PriorbookError('invalid_argument', detail)
  }
}

// Book rows between two calls of `onProgress`.
const PROGRESS_EVERY = 1 << 16
// Min orders and fills kept per run of a sweep.
const MIN_KEPT = 200

async function runAll(options: RunOptions, params: readonly Params[]): Promise<BacktestResult[]> {
  const run = new RunSet(options, params)
  const { world } = run
  const { events, records, data = [] } = options
  let next = PROGRESS_EVERY
  let isFirst = true
  const all = data.length === 0 ? events : mergeFeeds(events, data, options.to)
  for await (const batch of all) {
    if (isFirst && records === 'newest') world.assumeRecords(newestOf(events))
    isFirst = false
    world.applyAll(batch)
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

/** All runs over one world; the caller feeds the world from a tape or a live stream. */
export class RunSet {
  readonly world: World
  private readonly options: Omit<RunOptions, 'events'>
  private readonly params: readonly Params[]
  private readonly models: readonly QueueModel[]
  private readonly runs: readonly StrategyRun[]

  constructor(options: Omit<RunOptions, 'events'>, params: readonly Params[]) {
    const { revisions, records } = options
    this.options = options
    this.params = params
    this.models = modelsOf(options, params.length)
    this.world = new World(options.assume)
    const isBracketed = this.models.length > 1
    this.runs = params.flatMap((each) =>
      this.models.map(
        (model) =>
          new StrategyRun(
            this.world,
            strategyOptions(options, each, model, isBracketed, options.sets ?? params.length),
          ),
      ),
    )
    this.world.attach(this.runs)
    if (revisions !== undefined) this.world.setRevisions(revisions)
    if (records !== undefined && records !== 'newest') this.world.assumeRecords(records)
  }

  /** True while a strategy of any run has not failed. */
  get isAlive(): boolean {
    return this.runs.some(({ hooks }) => hooks.isAlive)
  }

  /** Ends all runs, with everything that is still due. */
  finish(): void {
    const { to, from = 0, revisions } = this.options
    // Records from after the last row still belong to the range.
    const known = revisions?.reduce((most, { at }) => Math.max(most, at), 0) ?? 0
    this.world.finish(Math.max(from, this.world.now, Math.min(to ?? known, known)))
  }

  /** The results so far; each report is built when it is first read. */
  results(): BacktestResult[] {
    const { models, options, world } = this
    return this.params.map((params, index) => {
      const own = this.runs.slice(index * models.length, (index + 1) * models.length)
      const built: Report[] = []
      const reportOf = (place: number): Report =>
        (built[place] ??= buildReport(world, own[place]!, own, options))
      return {
        params,
        get report() {
          return reportOf(0)
        },
        get reports() {
          return own.map((_, place) => reportOf(place))
        },
        why(id) {
          const { orders } = own[0]!
          const order = orders.find(id)
          return order === undefined ? undefined : { order, steps: orders.steps.of(id) }
        },
      }
    })
  }
}

// Runs that share an object would share its memory, so more than one run needs a function.
function modelsOf(
  { strategy, queue }: Omit<RunOptions, 'events'>,
  sets: number,
): readonly QueueModel[] {
  const isFactory = typeof strategy === 'function'
  const wanted = queue ?? (isFactory ? 'bracket' : 'pessimistic')
  const models = wanted === 'bracket' ? QUEUE_MODELS : [wanted]
  if (!isFactory && models.length * sets > 1) {
    throw new PriorbookError(
      'invalid_argument',
      'the strategy is an object, whose memory several runs would share: give a function that creates it, or choose one queue model and one set of parameters',
    )
  }
  return models
}

function newestOf(events: EventSource): readonly MarketRecord[] {
  return 'newestOnly' in events ? (events.newestOnly as readonly MarketRecord[]) : []
}

function strategyOptions(
  options: Omit<RunOptions, 'events'>,
  params: Params,
  queue: QueueModel,
  isBracketed: boolean,
  sets: number,
): StrategyRunOptions {
  const { strategy } = options
  return {
    strategy: typeof strategy === 'function' ? strategy(params) : strategy,
    isOnlyModel: typeof strategy !== 'function' && options.queue === undefined,
    params,
    seed: options.seed ?? 1,
    queue,
    isBracketed,
    latency: options.latency ?? {},
    limits: options.limits,
    gapPolicy: options.gapPolicy ?? 'cancel',
    cash: cashOf(options.cash),
    printLag: options.printLag ?? DEFAULT_PRINT_LAG,
    nearGap: options.nearGap ?? DEFAULT_NEAR_GAP,
    // A sweep divides the limits, so that memory does not grow with the number of runs.
    keep: Math.max(MIN_KEPT, Math.floor((options.keep ?? 50_000) / sets)),
    explain: Math.floor((options.explain ?? 10_000) / sets),
  }
}

function cashOf(cash: RunOptions['cash']): Record<VenueId, number> {
  const each = VENUE_IDS.map((venue) => {
    const amount = typeof cash === 'object' ? (cash[venue] ?? 0) : (cash ?? 1000)
    const units = parseMoney(amount)
    if (units < 0) throw new PriorbookError('invalid_argument', `the cash ${amount} is negative`)
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
