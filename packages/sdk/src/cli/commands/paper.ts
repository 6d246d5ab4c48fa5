import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  logStrategy,
  orderMessages,
  paper,
  type LogHead,
  type Revision,
} from '../../backtest/index.ts'
import type { LiveMessage, PriorbookClient } from '../../client/index.ts'
import { textOption, UsageError, wholeOption } from '../../command-line/index.ts'
import { toMarketJson } from '../../wire/index.ts'
import { RUN_OPTIONS, runOptionsOf } from '../backtest-job.ts'
import { defineCommand } from '../command.ts'
import { Delivery } from '../delivery.ts'
import { CliError } from '../errors.ts'
import { latencyOf } from '../latency-options.ts'
import { LogFile } from '../log-file.ts'
import { loadStrategy } from '../open-job.ts'
import { parseMarket, type MarketName } from '../options.ts'
import { readRevisions } from '../tape-cache.ts'

const {
  random: _random,
  split: _split,
  workers: _workers,
  'walk-forward': _walk,
  ...OPTIONS
} = RUN_OPTIONS

// Rows of several instruments come out of order by less than this; they are put in order first.
const HOLD_MICROS = 1_000_000

/** `paper`: a strategy on the live stream, whose orders are simulated. */
export const PAPER = defineCommand({
  name: 'paper',
  args: 'STRATEGY',
  mostArgs: 1,
  about: 'Run a strategy on the live stream without sending its orders, and write a log.',
  more:
    'The log has the same lines as that of a backtest. priorbook reconcile replays it later over what was ' +
    'recorded and names every difference. Rows are put into the order of their received times first, which ' +
    'takes a second. Ends with Ctrl-C or after --seconds.',
  options: {
    markets: textOption('LIST', 'Markets of the service, VENUE:ID,VENUE:ID,…'),
    ...OPTIONS,
    log: textOption('FILE', 'The log; it must not exist.'),
    seconds: wholeOption(31_536_000, 'End this many seconds after the first message.', {
      value: 'S',
    }),
  },
  examples: [
    'priorbook paper strategy.ts --markets venueb:KXBTC15M-26AUG111515-15 --log paper.ndjson --seconds 900',
  ],
  async run(context) {
    const { args, options, io, isQuiet } = context
    const [file] = args
    if (file === undefined) throw new UsageError('the strategy is missing')
    if (!existsSync(file)) throw new CliError('not_found', `there is no file ${file}`)
    const { log, seconds } = options
    if (log === undefined) throw new UsageError('the log is missing', 'Add --log FILE.')
    const markets = (options.markets ?? '').split(',').filter(Boolean).map(parseMarket)
    if (markets.length === 0) throw new UsageError('no market is named', 'Add --markets.')
    const settings = settingsOf(options, markets)
    const strategy = await loadStrategy(pathToFileURL(resolve(file)).href)
    const stop = new AbortController()
    const out = new LogFile(log)
    const head: LogHead = {
      type: 'run',
      format: 'priorbook-log/1',
      mode: 'paper',
      strategy: resolve(file),
      settings,
    }
    try {
      out.write(head)
      const made = typeof strategy === 'function' ? strategy(settings.params) : strategy
      const delivery = new Delivery(seconds, () => stop.abort())
      const client = context.client()
      const records = await recordsOf(client, markets)
      const live = client.live(
        markets.map((market) => ({ ...market, number_format: 'string' as const })),
        { signal: AbortSignal.any([context.signal, stop.signal]) },
      )
      const { report } = await paper({
        messages: withRecords(
          records,
          delivery.watchOrdered(orderMessages(delivery.watch(live), HOLD_MICROS)),
        ),
        strategy: logStrategy(made, (line) => out.write(line)),
        params: settings.params,
        queue: settings.queue,
        cash: settings.cash,
        seed: settings.seed,
        latency: latencyOf(settings),
        ...(settings.limits === undefined ? {} : { limits: settings.limits }),
        gapPolicy: settings.gapPolicy,
        assume: settings.assume,
      })
      out.write(delivery.end(report.headline.pnl))
      if (!isQuiet) {
        io.note(`${log}: ${report.orders.sent} orders, ${report.fills.count} fills`)
      }
      if (report.status === 'failed') {
        throw new CliError('failed', `the strategy failed: ${report.failure?.message ?? ''}`)
      }
    } finally {
      out.close()
    }
  },
})

/** The settings of a paper run, which its log keeps. */
export type PaperSettings = ReturnType<typeof settingsOf>

function settingsOf(
  options: Parameters<typeof runOptionsOf>[0] extends infer Given
    ? Omit<Given, 'random' | 'split' | 'workers' | 'walk-forward'>
    : never,
  markets: readonly MarketName[],
) {
  const rest = { random: undefined, split: undefined, workers: undefined }
  const { queue = 'pessimistic' } = options
  const { params, sets, ...settings } = runOptionsOf({
    ...rest,
    'walk-forward': undefined,
    ...options,
  })
  if (queue === 'bracket') {
    throw new UsageError('a log has one queue model', 'Choose one with --queue.')
  }
  if (sets > 1) throw new UsageError('--params makes several runs', 'A log has one.')
  return { markets, params: params[0]!, ...settings, queue }
}

async function recordsOf(
  client: PriorbookClient,
  markets: readonly MarketName[],
): Promise<Revision[]> {
  const all: Revision[] = []
  for (const market of markets) all.push(...(await readRevisions(client, market)))
  return all.toSorted((left, right) => left.at - right.at)
}

// The stream sends records that change; those of before come first.
async function* withRecords(
  records: readonly Revision[],
  messages: AsyncIterable<LiveMessage>,
): AsyncGenerator<LiveMessage> {
  for (const { at, record } of records) {
    yield { type: 'market', row: toMarketJson({ record, knownAt: at }) }
  }
  yield* messages
}
