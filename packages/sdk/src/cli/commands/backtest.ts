import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import {
  hashReport,
  printReport,
  REPORT_TABLES,
  reportCsv,
  reportHtml,
  type Report,
} from '../../backtest/index.ts'
import {
  layTable,
  ProgressBar,
  textOption,
  timeOption,
  UsageError,
  wholeOption,
} from '../../command-line/index.ts'
import { parseMicros } from '../../domain/index.ts'
import {
  cacheRollingJob,
  DATA_OPTION,
  readDataFiles,
  ROLLING_OPTIONS,
  rollingScopeOf,
} from '../backtest-data.ts'
import { RUN_OPTIONS, runOptionsOf, type BacktestJob } from '../backtest-job.ts'
import type { WorkerMessage } from '../backtest-worker.ts'
import { defineCommand, type CliContext } from '../command.ts'
import { summarize } from '../backtest-summary.ts'
import { printTables } from '../backtest-tables.ts'
import { CliError } from '../errors.ts'
import { parseMarket, REFERENCES_OPTION } from '../options.ts'

const OPTIONS = {
  markets: textOption('LIST', 'Markets of the service, VENUE:ID,VENUE:ID,…'),
  ...ROLLING_OPTIONS,
  references: REFERENCES_OPTION,
  data: DATA_OPTION,
  from: timeOption('From this received time on.'),
  to: timeOption('Up to, but not including, this received time.'),
  ...RUN_OPTIONS,
  out: textOption('FOLDER', 'Write report.json, report.html and CSV tables there.'),
  why: wholeOption(999_999_999, 'Explain what happened to one order.', { value: 'ORDER' }),
  timeout: wholeOption(86_400, 'Stop a strategy that hangs for this many seconds; 60 by default.', {
    value: 'S',
  }),
}

type Context = CliContext<typeof OPTIONS>

/** `backtest`: a strategy over recorded events, in a worker that can be stopped. */
export const BACKTEST = defineCommand({
  name: 'backtest',
  args: 'STRATEGY [FILE]...',
  about: 'Run a strategy over recorded books and report what would have happened, and how sure.',
  more:
    'STRATEGY is a module that exports `strategy`: an object with hooks, or a function of parameters that ' +
    'makes one. Data come from the service (--markets, --series, --contract) or from downloaded files of the format tape or ' +
    'ndjson. A strategy that does not come back for --timeout seconds is stopped.',
  options: OPTIONS,
  examples: [
    'priorbook backtest strategy.ts --markets venueb:KXBTC15M-26AUG111515-15 --from 2026-08-11 --to 2026-08-12',
    'priorbook backtest strategy.ts --series KXBTC15M --from 2026-08-11 --to 2026-08-12',
    'priorbook backtest strategy.ts --contract BTC-15m --from 2026-08-11 --to 2026-08-12',
    'priorbook backtest strategy.ts books.pbx trades.pbx --out report --queue bracket',
    "priorbook backtest strategy.ts *.pbx --params 'jump=600|1000|1500,hold=60|180' --split 2026-08-10",
  ],
  async run(context) {
    const { options, io } = context
    const scope = rollingScopeOf(context)
    const asked = jobOf(context, scope !== undefined)
    const job = scope === undefined ? asked : await cacheRollingJob(context, asked, scope)
    const done = await runWorker(context, job)
    const { out } = options
    if (out !== undefined) writeReport(out, done.report)
    if (context.isJson) {
      for (const report of done.all) await io.write(`${JSON.stringify(report)}\n`)
      return
    }
    await io.write(summarize(done.report, await hashReport(done.report)))
    if (done.report.markets.length > 1) await io.write(printTables(done.report))
    if (done.train.length > 0) await io.write(`\nbefore the split\n${cells(done.train)}`)
    if (done.all.length > 1) await io.write(`\n${cells(done.all)}`)
    if (done.why !== undefined) await io.write(`\n${done.why}\n`)
    if (out !== undefined) io.note(`${out}: report.html, report.json, ${REPORT_TABLES.join(', ')}`)
    if (done.report.status === 'failed') {
      throw new CliError('failed', `the strategy failed: ${done.report.failure?.message ?? ''}`)
    }
  },
})

type Done = Extract<WorkerMessage, { readonly type: 'done' }>

function jobOf({ args, options, service }: Context, isRolling: boolean): BacktestJob {
  const [file, ...files] = args
  if (file === undefined) throw new UsageError('the strategy is missing')
  if (!existsSync(file)) throw new CliError('not_found', `there is no file ${file}`)
  for (const name of files) {
    if (!existsSync(name)) throw new CliError('not_found', `there is no file ${name}`)
  }
  const markets = (options.markets ?? '')
    .split(',')
    .flatMap((name) => (name === '' ? [] : [parseMarket(name)]))
  const places = [markets.length > 0, isRolling, files.length > 0].filter(Boolean).length
  if (places === 0) {
    const hint =
      'Name markets of the service with --markets, --series or --contract, or files after the strategy.'
    throw new UsageError('there is nothing to run over', hint)
  }
  if (places > 1) {
    throw new UsageError('either --markets, --series or --contract, or files, not both')
  }
  const { references = [] } = options
  if (references.length > 0 && files.length > 0) {
    const hint = 'Download them with --dataset reference, and name the file beside the others.'
    throw new UsageError('--references has no meaning for files', hint)
  }
  const toMicros = (text: string | undefined): number | undefined => {
    if (text === undefined) return undefined
    return /^\d+$/.test(text) ? Number(text) * (text.length === 13 ? 1000 : 1) : parseMicros(text)
  }
  return {
    strategy: pathToFileURL(resolve(file)).href,
    files: files.map((name) => resolve(name)),
    markets,
    references,
    data: readDataFiles(options.data),
    client: files.length > 0 ? undefined : service,
    revisions: undefined,
    from: toMicros(options.from),
    to: toMicros(options.to),
    split: toMicros(options.split),
    why: options.why,
    ...runOptionsOf(options),
  }
}

// Built, the worker stands beside this file as JavaScript.
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? '../backtest-worker.ts' : '../backtest-worker.js',
  import.meta.url,
)

function runWorker(context: Context, job: BacktestJob): Promise<Done> {
  const { io, isQuiet, options, signal } = context
  const { timeout: seconds = 60 } = options
  const bar = isQuiet ? undefined : new ProgressBar(io, '')
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
      bar?.end()
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

function cells(reports: readonly Report[]): string {
  const rows = reports
    .toSorted((left, right) => Number(right.headline.pnl) - Number(left.headline.pnl))
    .map(({ run, headline, fills }) => [
      Object.entries(run.params)
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(' '),
      headline.pnl,
      headline.fees,
      String(fills.count),
    ])
  const right = true
  const columns = [
    { head: 'params' },
    { head: 'result', right },
    { head: 'fees', right },
    { head: 'fills', right },
  ]
  return `${layTable(columns, rows).join('\n')}\n`
}

function writeReport(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'report.json'), printReport(report))
  writeFileSync(join(folder, 'report.html'), reportHtml(report))
  for (const table of REPORT_TABLES) {
    writeFileSync(join(folder, `${table}.csv`), reportCsv(report, table))
  }
}
