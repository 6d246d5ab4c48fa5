import { Worker } from 'node:worker_threads'
import { ProgressBar, UsageError, type CommandIo } from '../command-line/index.ts'
import type { BacktestJob } from './backtest-job.ts'
import type { WorkerMessage } from './backtest-worker.ts'
import { CliError } from './errors.ts'

/** The result of a job. */
export type Done = Extract<WorkerMessage, { readonly type: 'done' }>

/** What workers need of their command. */
export type WorkerContext = {
  readonly io: CommandIo
  readonly isQuiet: boolean
  readonly signal: AbortSignal
  /** How long a strategy may not come back. */
  readonly seconds: number
}

/**
 * Runs a job in workers, which can be stopped. Sets of parameters, or windows of a walk forward, are spread over
 * them; the result is the same for any number of workers.
 */
export async function runWorkers(
  context: WorkerContext,
  job: BacktestJob,
  workers: number,
): Promise<Done> {
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const bar = context.isQuiet ? undefined : new ProgressBar(context.io, '')
  try {
    const parts = partsOf(job, workers)
    const done = await Promise.all(
      parts.map((part, index) =>
        runWorker({ ...context, signal }, part, index === 0 ? bar : undefined),
      ),
    )
    return merge(done)
  } finally {
    // The first failure stops the others.
    stop.abort(new CliError('failed', 'another worker failed'))
    bar?.end()
  }
}

function partsOf(job: BacktestJob, workers: number): BacktestJob[] {
  const isWalk = job.windows.length > 0
  // The choice on the first part of a split needs all runs in one place.
  if (job.split !== undefined) return [job]
  const items = isWalk ? job.windows.length : job.params.length
  const count = Math.max(1, Math.min(workers, items))
  return Array.from({ length: count }, (_, index) => {
    const [start, end] = [index, index + 1].map((edge) => Math.floor((edge * items) / count))
    return isWalk
      ? { ...job, windows: job.windows.slice(start, end) }
      : { ...job, params: job.params.slice(start, end) }
  })
}

function merge(parts: readonly Done[]): Done {
  // The windows of a walk do not compete: its report is that of the first one.
  const isWalk = parts[0]!.walk.length > 0
  const best = isWalk
    ? parts[0]!
    : parts.reduce((left, right) =>
        Number(right.report.headline.pnl) > Number(left.report.headline.pnl) ? right : left,
      )
  return {
    ...best,
    all: parts.flatMap(({ all }) => all),
    train: parts.flatMap(({ train }) => train),
    walk: parts.flatMap(({ walk }) => walk),
  }
}

// Built, the worker stands beside this file as JavaScript.
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './backtest-worker.ts' : './backtest-worker.js',
  import.meta.url,
)

function runWorker(
  context: WorkerContext,
  job: BacktestJob,
  bar: ProgressBar | undefined,
): Promise<Done> {
  const { io, isQuiet, seconds, signal } = context
  const worker = new Worker(WORKER, { workerData: job })
  return new Promise((settle, reject) => {
    let seen = Date.now()
    const watch = setInterval(() => {
      if (Date.now() - seen < seconds * 1000) return
      finish(() =>
        reject(
          new CliError(
            'failed',
            `the strategy did not come back for ${seconds} s and was stopped`,
            'It loops, or computes too long in one hook; --timeout gives it more time.',
          ),
        ),
      )
    }, 250)
    const stop = (): void => finish(() => reject(signal.reason as Error))
    const finish = (end: () => void): void => {
      clearInterval(watch)
      signal.removeEventListener('abort', stop)
      void worker.terminate()
      end()
    }
    signal.addEventListener('abort', stop)
    worker.on('error', (error) => finish(() => reject(error as Error)))
    worker.on('message', (message: WorkerMessage) => {
      seen = Date.now()
      switch (message.type) {
        case 'alive':
          return
        case 'notice':
          if (!isQuiet) io.note(message.text)
          return
        case 'progress':
          if (bar !== undefined) showProgress(bar, job, message.at, message.observations)
          return
        case 'failed':
          finish(() => reject(failure(message)))
          return
        case 'done':
          finish(() => settle(message))
      }
    })
  })
}

function failure({ code, message }: Extract<WorkerMessage, { readonly type: 'failed' }>): Error {
  if (code === 'no_data') return new CliError('empty', message)
  if (code === 'fee_unknown') {
    return new UsageError(message, 'Such as --assume venueb-maker=none or venuec-fees=none.')
  }
  return code === undefined ? new CliError('failed', message) : new UsageError(message)
}

function showProgress(bar: ProgressBar, job: BacktestJob, at: number, observations: number): void {
  const { from, to } = job
  const place = new Date(at / 1000).toISOString().slice(0, 19)
  const text = `${place}  ${(observations / 1e6).toFixed(2)} M books`
  if (from === undefined || to === undefined) bar.update(0, undefined, text)
  else bar.update(at - from, to - from, text)
}
