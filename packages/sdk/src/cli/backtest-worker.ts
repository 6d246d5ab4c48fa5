import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import {
  backtest,
  logStrategy,
  printWhy,
  sweep,
  trainHoldout,
  walkForward,
  type BacktestResult,
  type LogHead,
  type Report,
  type RunOptions,
  type Strategy,
  type StrategyFactory,
  type WalkStep,
} from '../backtest/index.ts'
import { parseMicros, PriorbookError } from '../domain/index.ts'
import type { Replay } from '../replay/index.ts'
import type { BacktestJob } from './backtest-job.ts'
import { LogFile } from './log-file.ts'
import { loadStrategy, openJob, revisionsOf, runOptionsOfJob } from './open-job.ts'

/** Messages of the worker: heartbeat, notice, progress, result or failure. */
export type WorkerMessage =
  | { readonly type: 'alive' }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'progress'; readonly at: number; readonly observations: number }
  | {
      readonly type: 'done'
      readonly report: Report
      readonly all: readonly Report[]
      readonly train: readonly Report[]
      /** The windows of a walk forward, in which case `all` has their tests. */
      readonly walk: readonly WalkStep[]
      readonly why: string | undefined
    }
  | { readonly type: 'failed'; readonly code: string | undefined; readonly message: string }

const port = parentPort!
const say = (message: WorkerMessage): void => port.postMessage(message)
// A strategy in an endless loop stops this as well: the command then ends the worker.
const pulse = setInterval(() => say({ type: 'alive' }), 500)

try {
  await run(workerData as BacktestJob)
} catch (error) {
  const code = error instanceof PriorbookError ? error.code : undefined
  const named = error as { readonly code?: unknown }
  const message = error instanceof Error ? error.message : String(error)
  say({
    type: 'failed',
    code: code ?? (typeof named.code === 'string' ? named.code : undefined),
    message,
  })
} finally {
  clearInterval(pulse)
}

async function run(job: BacktestJob): Promise<void> {
  const { from, to, split, params, windows } = job
  const revisions = await revisionsOf(job)
  const strategy = await loadStrategy(job.strategy)
  const log = job.log === undefined ? undefined : new LogFile(job.log)
  log?.write(headOf(job))
  const common: Omit<RunOptions, 'events'> = {
    ...runOptionsOfJob(job, log === undefined ? strategy : logged(strategy, log), revisions),
    onProgress: (at, observations) => say({ type: 'progress', at, observations }),
  }
  const replays: Replay[] = []
  const open = (start: number | undefined, end: number | undefined): Replay => {
    const opened = openJob(job, start, end)
    if (job.client === undefined) replays.push(opened)
    return opened
  }
  if (windows.length > 0) {
    const walk = await walkForward({ ...common, open, params, windows })
    const all = walk.map(({ test }) => test)
    noteRecords(replays)
    say({ type: 'done', report: all[0]!, all, train: [], walk, why: undefined })
    return
  }
  if (split !== undefined) {
    const range = { from: from ?? 0, to: to ?? Number.MAX_SAFE_INTEGER }
    const { train, holdout } = await trainHoldout({ ...common, ...range, open, split, params })
    noteRecords(replays)
    return finish(job, [holdout], train)
  }
  const [first = {}] = params
  const events = open(from, to)
  const results =
    params.length === 1
      ? [await backtest({ ...common, events, params: first })]
      : await sweep({ ...common, events, params })
  noteRecords(replays)
  const { headline, run: facts } = results[0]!.report
  log?.write({ type: 'end', to: parseMicros(facts.to), pnl: headline.pnl, first: {} })
  log?.close()
  finish(job, results, [])
}

// Files of older versions.
function noteRecords(replays: readonly Replay[]): void {
  if (replays.every(({ newestOnly }) => newestOnly.length === 0)) return
  const text =
    'Some files hold only the newest record of a market: its times, ticks and fees are taken as true for the whole range.'
  say({ type: 'notice', text })
}

function headOf(job: BacktestJob): LogHead {
  const { params, queue, cash, seed, limits, gapPolicy, assume, markets } = job
  const { latencyMicros, feedMicros, acknowledgeMicros } = job
  const delays = { latencyMicros, feedMicros, acknowledgeMicros }
  const common = { queue, cash, seed, ...delays, limits, gapPolicy, assume }
  const settings = { markets, params: params[0]!, ...common }
  const place = fileURLToPath(job.strategy)
  return { type: 'run', format: 'priorbook-log/1', mode: 'backtest', strategy: place, settings }
}

function logged(strategy: Strategy | StrategyFactory, log: LogFile): StrategyFactory {
  return (params) =>
    logStrategy(typeof strategy === 'function' ? strategy(params) : strategy, (line) =>
      log.write(line),
    )
}

function finish(
  job: BacktestJob,
  results: readonly BacktestResult[],
  train: readonly BacktestResult[],
): void {
  const best = results.reduce((left, right) =>
    Number(right.report.headline.pnl) > Number(left.report.headline.pnl) ? right : left,
  )
  const why = job.why === undefined ? undefined : best.why(job.why)
  say({
    type: 'done',
    report: best.report,
    all: results.map(({ report }) => report),
    train: train.map(({ report }) => report),
    walk: [],
    why:
      job.why === undefined
        ? undefined
        : why === undefined
          ? `There is no order ${job.why}.`
          : printWhy(why),
  })
}
