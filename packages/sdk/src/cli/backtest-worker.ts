import { parentPort, workerData } from 'node:worker_threads'
import {
  backtest,
  printWhy,
  sweep,
  trainHoldout,
  type BacktestResult,
  type Report,
  type Revision,
  type RunOptions,
  type Strategy,
  type StrategyFactory,
} from '../backtest/index.ts'
import { dataFile } from '../backtest/feeds/data-file-node.ts'
import { createClient } from '../client/index.ts'
import { PriorbookError, printMicros, VENUE_IDS, VENUES, type Micros } from '../domain/index.ts'
import { downloadSource, replay, type Replay } from '../replay/index.ts'
import { createReplayPlatform, replayFiles } from '../replay/replay-node.ts'
import type { BacktestJob } from './backtest-job.ts'
import type { MarketName } from './options.ts'
import { readRevisions } from './tape-cache.ts'

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
  const strategy = await loadStrategy(job.strategy)
  const { client, files, markets } = job
  const revisions = job.revisions ?? (client === undefined ? undefined : await recordsOf(job))
  const replays: Replay[] = []
  const open = (from: number | undefined, to: number | undefined): Replay => {
    const range = {
      ...(from === undefined ? {} : { start: from }),
      ...(to === undefined ? {} : { end: to }),
    }
    if (client === undefined) {
      const opened = replayFiles(files, range)
      replays.push(opened)
      return opened
    }
    const caller = createClient(client)
    const times = {
      ...(from === undefined ? {} : { start_time: printMicros(from as Micros) }),
      ...(to === undefined ? {} : { end_time: printMicros(to as Micros) }),
    }
    const sources = markets.flatMap(({ venue, market_id }) =>
      (VENUES[venue].hasTrades ? (['books', 'trades'] as const) : (['books'] as const)).map(
        (dataset) =>
          downloadSource(caller, { venue, market_id, dataset, format: 'tape' as const, ...times }),
      ),
    )
    const prices = VENUE_IDS.filter((venue) => VENUES[venue].references.length > 0).flatMap(
      (venue) =>
        job.references.map((asset) => {
          const scope = { venue, dataset: 'reference', asset, format: 'tape' } as const
          return downloadSource(caller, { ...scope, ...times })
        }),
    )
    const platform = createReplayPlatform()
    return replay({ sources: [...sources, ...prices], platform, ...range })
  }
  const { from, to, split } = job
  const common: Omit<RunOptions, 'events'> = {
    strategy,
    ...(job.queue === undefined ? {} : { queue: job.queue }),
    cash: job.cash,
    seed: job.seed,
    latency: { entry: job.latencyMicros, cancel: job.latencyMicros },
    gapPolicy: job.gapPolicy,
    data: job.data.map(({ name, path, column }) => ({
      name,
      rows: { [Symbol.asyncIterator]: () => dataFile(path, column) },
    })),
    assume: job.assume,
    ...(revisions === undefined ? { records: 'newest' } : { revisions }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    onProgress: (at, observations) => say({ type: 'progress', at, observations }),
  }
  if (split !== undefined) {
    const range = { from: from ?? 0, to: to ?? Number.MAX_SAFE_INTEGER }
    const { params } = job
    const { train, holdout } = await trainHoldout({ ...common, ...range, open, split, params })
    noteRecords(replays)
    return finish(job, [holdout], train)
  }
  const [first = {}] = job.params
  const events = open(from, to)
  const results =
    job.params.length === 1
      ? [await backtest({ ...common, events, params: first })]
      : await sweep({ ...common, events, params: job.params })
  noteRecords(replays)
  finish(job, results, [])
}

// Files of older versions.
function noteRecords(replays: readonly Replay[]): void {
  if (replays.every(({ newestOnly }) => newestOnly.length === 0)) return
  const text =
    'Some files hold only the newest record of a market: its times, ticks and fees are taken as true for the whole range.'
  say({ type: 'notice', text })
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
    why:
      job.why === undefined
        ? undefined
        : why === undefined
          ? `There is no order ${job.why}.`
          : printWhy(why),
  })
}

// A module gives its strategy as `strategy`, or as its default.
async function loadStrategy(url: string): Promise<Strategy | StrategyFactory> {
  const module = (await import(url)) as { readonly strategy?: unknown; readonly default?: unknown }
  const found = module.strategy ?? module.default
  if (typeof found === 'function' || (typeof found === 'object' && found !== null)) return found
  throw new PriorbookError('invalid_argument', `${url} exports no strategy`)
}

async function recordsOf({ client, markets }: BacktestJob): Promise<Revision[]> {
  const caller = createClient(client!)
  const names = markets.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
  const revisions: Revision[] = []
  for (const market of names) revisions.push(...(await readRevisions(caller, market)))
  return revisions
}

function nameOf({ venue, market_id }: MarketName): string {
  return `${venue}:${market_id}`
}
