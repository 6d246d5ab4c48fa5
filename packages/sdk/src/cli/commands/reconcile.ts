import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  compareLogs,
  parseRunLog,
  replayLog,
  type LogDifference,
  type LogLine,
  type RunLog,
} from '../../backtest/index.ts'
import { printLines, textOption, UsageError, wholeOption } from '../../command-line/index.ts'
import { printMicros, type Micros } from '../../domain/index.ts'
import { defineCommand, printJson, printTable, type ServiceAddress } from '../command.ts'
import { CliError } from '../errors.ts'
import { latencyOf } from '../latency-options.ts'
import { loadStrategy, openJob, revisionsOf } from '../open-job.ts'
import type { PaperSettings } from './paper.ts'

/** `reconcile`: whether a live run and a replay of the same hours agree. */
export const RECONCILE = defineCommand({
  name: 'reconcile',
  args: 'LOG [OTHER]',
  mostArgs: 2,
  about: 'Replay the log of a paper run over what was recorded, and tell where the two differ.',
  more:
    'Runs the same strategy with the same settings over the recorded rows from the first to the last one of ' +
    'the log, and compares orders, fills and payouts. With a second log, such as that of a backtest, the two ' +
    'are compared as they are. Where they differ, the exit status is 6.',
  options: {
    strategy: textOption('FILE', 'The strategy, where it is no longer where the log says.'),
    limit: wholeOption(100_000, 'Max differences that are listed; 20 by default.', { short: 'n' }),
  },
  examples: ['priorbook reconcile paper.ndjson', 'priorbook reconcile paper.ndjson --json'],
  async run(context) {
    const { args, options, io, isJson, isQuiet, service } = context
    const [file, other] = args
    if (file === undefined) throw new UsageError('the log is missing')
    const log = readLog(file)
    const lines =
      other === undefined ? await replayed(log, options.strategy, service) : readLog(other).lines
    const differences = compareLogs(log.lines, lines)
    if (isJson) for (const difference of differences) await printJson(context, difference)
    else {
      const shown = differences.slice(0, options.limit ?? 20)
      await printLines(io, summaryOf(log, differences))
      if (shown.length > 0) await printTable(io, COLUMNS, shown.map(cellsOf))
    }
    if (differences.length === 0) return
    const left = differences.length - (options.limit ?? 20)
    if (left > 0 && !isJson && !isQuiet) io.note(`${left} more: --limit lists them`)
    throw new CliError('incomplete', `live and replay differ in ${differences.length} places`)
  },
})

function readLog(file: string): RunLog {
  return parseRunLog(readFileSync(file, 'utf8'))
}

async function replayed(
  { head, end }: RunLog,
  file: string | undefined,
  client: ServiceAddress,
): Promise<readonly LogLine[]> {
  if (head.mode === 'backtest') {
    throw new UsageError('the log is that of a backtest', 'Name that of a paper run before it.')
  }
  if (end === undefined) {
    const hint = 'The run was cut off before it wrote its end.'
    throw new CliError('incomplete', 'the log has no end', hint)
  }
  const strategy = await loadStrategy(pathToFileURL(resolve(file ?? head.strategy)).href)
  const { markets, limits, params, queue, cash, seed, gapPolicy, assume, ...delays } =
    head.settings as PaperSettings
  const job = { client, markets, files: [], references: [], revisions: undefined }
  const { lines } = await replayLog({
    params,
    queue,
    cash,
    seed,
    gapPolicy,
    assume,
    ...(limits === undefined ? {} : { limits }),
    strategy,
    latency: latencyOf(delays),
    events: openJob(job, undefined, end.to + 1),
    revisions: (await revisionsOf(job)) ?? [],
    end,
  })
  return lines
}

const COLUMNS = [
  { head: 'TIME' },
  { head: 'DIFFERENCE' },
  { head: 'ORDER', right: true },
  { head: 'MARKET' },
  { head: 'LIVE' },
  { head: 'REPLAY', shrinks: true },
] as const

function cellsOf({ at, kind, order, market, live, replay }: LogDifference): string[] {
  const time = printMicros(at as Micros).replace('T', ' ')
  const number = order === null ? '–' : String(order)
  return [time, kind.replace('_', ' '), number, market, live ?? '–', replay ?? '–']
}

function summaryOf({ lines, end }: RunLog, differences: readonly LogDifference[]): string[] {
  const count = (type: string): number => lines.filter((line) => line.type === type).length
  const orders = new Set(lines.flatMap((line) => (line.type === 'order' ? [line.order.id] : [])))
  const kinds = new Map<string, number>()
  for (const { kind } of differences) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  const words = [...kinds].map(([kind, times]) => `${times} ${kind.replace('_', ' ')}`)
  const delivery = end?.delivery
  return [
    `live: ${orders.size} orders, ${count('fill')} fills, ${count('settlement')} payouts`,
    ...(delivery === undefined
      ? []
      : [
          `rows came ${delivery.median_ms} ms after they were recorded (median of ${delivery.rows}), ${delivery.max_ms} ms at most`,
        ]),
    differences.length === 0
      ? 'live and replay are equal'
      : `${differences.length} differences: ${words.join(', ')}`,
  ]
}
