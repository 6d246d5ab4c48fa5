import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  hashReport,
  printReport,
  REPORT_TABLES,
  reportCsv,
  reportHtml,
  reportParquet,
  summarizeSweep,
  summarizeWalk,
  sweepHtml,
  walkWindows,
  type Report,
  type RollingScope,
  type WalkWindow,
} from '../../backtest/index.ts'
import {
  flagOption,
  textOption,
  timeOption,
  UsageError,
  wholeOption,
} from '../../command-line/index.ts'
import { parseMicros } from '../../domain/index.ts'
import {
  cacheJob,
  cacheRollingJob,
  DATA_OPTION,
  readDataFiles,
  ROLLING_OPTIONS,
  rollingScopeOf,
} from '../backtest-data.ts'
import { RUN_OPTIONS, runOptionsOf, type BacktestJob, type WalkLengths } from '../backtest-job.ts'
import { runWorkers, type Done } from '../backtest-workers.ts'
import { compareReportFiles } from '../backtest-compare.ts'
import { withInputs } from '../backtest-inputs.ts'
import { defineCommand, type CliContext } from '../command.ts'
import { summarize } from '../backtest-summary.ts'
import { printTables } from '../backtest-tables.ts'
import { CliError } from '../errors.ts'
import { parseMarket, REFERENCES_OPTION } from '../options.ts'
import { printCells, printParams, printSweep, printWalk } from '../sweep-text.ts'

const OPTIONS = {
  markets: textOption('LIST', 'Markets of the service, VENUE:ID,VENUE:ID,…'),
  ...ROLLING_OPTIONS,
  references: REFERENCES_OPTION,
  data: DATA_OPTION,
  from: timeOption('From this received time on.'),
  to: timeOption('Up to, but not including, this received time.'),
  ...RUN_OPTIONS,
  out: textOption('FOLDER', 'Write report.json, report.html and CSV tables there.'),
  compare: flagOption('Compare two reports: the arguments are two files report.json.'),
  parquet: textOption(
    'FOLDER',
    'Write fills, orders, markets, equity and settlements as Parquet there.',
  ),
  log: textOption(
    'FILE',
    'Write orders, fills and payouts as priorbook paper does; needs one --queue model.',
  ),
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
    'priorbook backtest --compare before/report.json after/report.json',
    "priorbook backtest strategy.ts *.pbx --params 'jump=600|1000|1500,hold=60|180' --split 2026-08-10",
    "priorbook backtest strategy.ts --series KXBTC15M --from 2026-08-11 --to 2026-08-13 --params 'edge=100..500' --random 40 --walk-forward 12h/4h --workers 2",
  ],
  async run(context) {
    const { options, io, isJson } = context
    const { out, workers = 1, timeout: seconds = 60 } = options
    if (options.compare) return compareReportFiles({ files: context.args, out, isJson, io })
    const scope = rollingScopeOf(context)
    const asked = jobOf(context, scope !== undefined)
    if (asked.log !== undefined && !isOneRun(asked)) {
      const hint =
        'Choose one --queue model and one set of --params, and neither --split nor --walk-forward.'
      throw new UsageError('a log has one run', hint)
    }
    const job = await withData(context, asked, scope, workers)
    const run = await runWorkers({ ...context, seconds }, job, workers)
    // Files that were downloaded for the run say when they were made: its data are told by their rows.
    const done = { ...run, report: await withInputs(run.report, asked) }
    if (out !== undefined) writeResults(out, done, context.service.url)
    if (options.parquet !== undefined) writeParquet(options.parquet, done.report)
    if (context.isJson) {
      for (const report of done.all) await io.write(`${JSON.stringify(report)}\n`)
      return refuseFailed(done)
    }
    if (done.walk.length > 0) {
      await io.write(printWalk(done.walk))
      return refuseFailed(done)
    }
    await io.write(summarize(done.report, await hashReport(done.report)))
    if (done.report.markets.length > 1) await io.write(printTables(done.report))
    if (done.train.length > 0) await io.write(`\nbefore the split\n${sweepText(done.train)}`)
    if (done.all.length > 1) await io.write(`\n${sweepText(done.all)}`)
    if (done.why !== undefined) await io.write(`\n${done.why}\n`)
    if (out !== undefined) io.note(`${out}: report.html, report.json, ${REPORT_TABLES.join(', ')}`)
    refuseFailed(done)
  },
})

// A run that failed did less than the others, whichever of them was the best.
function refuseFailed({ train, all }: Done): void {
  const reports = [...train, ...all]
  const failed = reports.filter(({ status }) => status === 'failed')
  const [first] = failed
  if (first === undefined) return
  const many = reports.length > 1 ? ` in ${failed.length} of ${reports.length} runs` : ''
  const params = printParams(first.run.params, ', ')
  const which = many === '' || params === '' ? '' : `, with ${params}`
  const why = `${first.failure?.message ?? 'without a reason'}${which}`
  throw new CliError('failed', `the strategy failed${many}: ${why}`)
}

function sweepText(reports: readonly Report[]): string {
  return `${printCells(reports)}\n${printSweep(summarizeSweep(reports))}`
}

// Several workers read the same files, so that nothing is downloaded twice.
async function withData(
  context: Context,
  job: BacktestJob,
  scope: RollingScope | undefined,
  workers: number,
): Promise<BacktestJob> {
  if (scope !== undefined) return cacheRollingJob(context, job, scope)
  return job.client !== undefined && workers > 1 ? cacheJob(context, job) : job
}

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
  const [from, to] = [toMicros(options.from), toMicros(options.to)]
  const windows = windowsOf(options['walk-forward'], from, to, options.split !== undefined)
  return {
    strategy: pathToFileURL(resolve(file)).href,
    files: files.map((name) => resolve(name)),
    markets,
    references,
    data: readDataFiles(options.data),
    client: files.length > 0 ? undefined : service,
    revisions: undefined,
    from,
    to,
    windows,
    split: toMicros(options.split),
    why: options.why,
    log: options.log === undefined ? undefined : resolve(options.log),
    ...runOptionsOf(options),
  }
}

function isOneRun({ queue, sets, split, windows }: BacktestJob): boolean {
  const isOneModel = queue !== undefined && queue !== 'bracket'
  return isOneModel && sets === 1 && split === undefined && windows.length === 0
}

function windowsOf(
  lengths: WalkLengths | undefined,
  from: number | undefined,
  to: number | undefined,
  isSplit: boolean,
): readonly WalkWindow[] {
  if (lengths === undefined) return []
  if (isSplit) throw new UsageError('either --split or --walk-forward, not both')
  if (from === undefined || to === undefined) {
    throw new UsageError('--walk-forward needs a range', 'Add --from and --to.')
  }
  return walkWindows(from, to, lengths.train, lengths.test)
}

function writeResults(folder: string, { report, all, train, walk }: Done, explorer: string): void {
  mkdirSync(folder, { recursive: true })
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  const reports = train.length > 0 ? train : all
  if (walk.length > 0) write('walk.json', `${JSON.stringify(summarizeWalk(walk), undefined, 1)}\n`)
  else if (reports.length > 1) {
    const summary = summarizeSweep(reports)
    write('sweep.json', `${JSON.stringify(summary, undefined, 1)}\n`)
    write('sweep.html', sweepHtml(summary))
  }
  write('report.json', printReport(report))
  write('report.html', reportHtml(report, { explorer }))
  for (const table of REPORT_TABLES) write(`${table}.csv`, reportCsv(report, table))
}

function writeParquet(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true })
  for (const table of REPORT_TABLES) {
    writeFileSync(join(folder, `${table}.parquet`), reportParquet(report, table))
  }
}
