import {
  printCount as count,
  ProgressBar,
  textOption,
  UsageError,
  type CommandIo,
} from '@priorbook/sdk/command-line'
import { printMicros, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { backfillHistory, type HistoryProgress, type HistoryReport } from '../derive/history.ts'
import {
  HISTORY_SELECTORS,
  type HistoryScope,
  type HistorySelector,
  type HistorySource,
} from '../venues/capture/history.ts'
import { makeFolder } from '../lib/make-folder.ts'
import {
  createLog,
  LINE_MS,
  openStore,
  printMinute,
  toOriginOfAll,
  toTime,
  untilStopped,
} from './backfill-call.ts'
import { dataFolderOf, readConfig } from './command-config.ts'
import { print, type ServerExtra } from './command.ts'

/** The options that select the markets of a history. */
export const HISTORY_OPTIONS = {
  series: textOption('TICKER', 'Venue B: the series of the markets, such as KXBTC15M.'),
  event: textOption('ID', 'Venues B and C: all markets of this event, whenever they end.'),
  asset: textOption('ASSET', 'Venue C: the asset of the rounds, such as BTC.'),
  window: textOption('WINDOW', 'Venue C: the length of the rounds, such as 15m.'),
}

/** The venue of a history, and how it is fetched. */
export type HistoryTarget = { readonly venue: VenueId; readonly history: HistorySource<unknown> }

/** What the options of the command say. */
export type HistoryCall = ServerExtra & {
  readonly io: CommandIo
  readonly options: { readonly [Name in HistorySelector]?: string | undefined } & {
    readonly from?: string | undefined
    readonly to?: string | undefined
    readonly origin?: string | undefined
    readonly config?: string | undefined
  }
}

/** Fetches the history of some markets and prints what was fetched; 1 where something is left to do. */
export async function runHistory(call: HistoryCall, target: HistoryTarget): Promise<number> {
  const { options, io } = call
  const { venue, history } = target
  const scope = toScope(target, options, Date.now() * 1000)
  const config = readConfig(options.config)
  const origin = toOriginOfAll(options.origin, venue, history.basesOf(config[venue]))
  const data = dataFolderOf(call, config, origin === 'emulator')
  makeFolder(data.path)
  const store = openStore(data)
  const bar = new ProgressBar(io, 'backfill', LINE_MS)
  try {
    const report = await untilStopped((signal) =>
      backfillHistory(
        {
          venue,
          store,
          journalDir: data.journal,
          origin,
          recorder: config.recorder,
          log: createLog(config, data),
          scope,
          open: (context) => history.open(config[venue], context),
          onProgress: (progress) => bar.update(progress.done, progress.total, wordsOf(progress)),
        },
        signal,
      ),
    )
    bar.end()
    const { start, end, withOpen: _withOpen, ...selected } = scope
    const range = { from: printMicros(start), to: printMicros(end) }
    await print(call, { ...selected, ...range, ...report }, linesOf(report))
    return report.gaps > 0 || report.quarantined > 0 || report.isStopped ? 1 : 0
  } finally {
    bar.end()
    await store.close()
  }
}

function wordsOf({ part, calls }: HistoryProgress): string {
  return `${part}, ${count(calls)} calls`
}

function linesOf(report: HistoryReport): string[] {
  const { markets, complete, unresolved, trades, values, gaps, calls, quarantined, isStopped } =
    report
  const lines = [
    `${count(complete)} of ${count(markets)} markets have their result; ${count(trades)} new trades and ${count(values)} values of price histories, after ${count(calls)} calls`,
  ]
  if (gaps > 0) lines.push(`${count(gaps)} spans were not available from the venue`)
  if (unresolved > 0) {
    lines.push(`${count(unresolved)} have no result yet; run the command again later`)
  }
  if (quarantined > 0) lines.push(`${count(quarantined)} parts of answers could not be read`)
  if (isStopped) lines.push('stopped; run it again to continue')
  return lines
}

/** Parses what selects the markets of a history, and the range in which they ended. */
function toScope(
  { venue, history }: HistoryTarget,
  options: HistoryCall['options'],
  now: number,
): HistoryScope {
  const given = HISTORY_SELECTORS.filter((name) => options[name] !== undefined)
  const group = history.selectors.find((names) => given.every((name) => names.includes(name)))
  if (group === undefined || group[0] === undefined || !given.includes(group[0])) {
    const ways = history.selectors.map((names) => names.map((name) => `--${name}`).join(' '))
    throw new UsageError(`name the markets of ${venue}: ${ways.join(', or ')}`)
  }
  const selected = Object.fromEntries(
    given.map((name) => [name, name === 'asset' ? options[name]!.toUpperCase() : options[name]!]),
  )
  const start = options.from === undefined ? 0 : toTime('from', options.from)
  const end = options.to === undefined ? now : toTime('to', options.to)
  if (options.from === undefined && options.event === undefined) {
    throw new UsageError('say since when: --from with a time such as 2026-08-01')
  }
  if (end > now) throw new UsageError(`--to ${options.to} lies in the future; leave it out`)
  if (start >= end) {
    const [from, to] = [printMinute(start as Micros), printMinute(end as Micros)]
    throw new UsageError(`--from ${from} is not before --to ${to}; give the earlier time first`)
  }
  const withOpen = options.to === undefined
  return { ...selected, start: start as Micros, end: end as Micros, withOpen }
}
