import {
  parsedOption,
  printCount as count,
  ProgressBar,
  textOption,
  UsageError,
  type CommandIo,
} from '@priorbook/sdk/command-line'
import {
  printMicros,
  PriorbookError,
  VENUES,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { backfillCatalogue, type BackfillReport } from '../derive/backfill.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import { makeFolder } from '../lib/make-folder.ts'
import type { BackfillProgress, CatalogueBackfill } from '../venues/capture/definition.ts'
import { BACKFILL_VENUES, definitionOf } from '../venues/registry.ts'
import {
  createLog,
  LINE_MS,
  openStore,
  ORIGIN_OPTION,
  printMinute,
  toOrigin,
  toTime,
  untilStopped,
} from './backfill-call.ts'
import { HISTORY_OPTIONS, runHistory } from './backfill-history.ts'
import { CONFIG_OPTION, dataFolderOf, readConfig } from './command-config.ts'
import { defineCommand, print } from './command.ts'

const COINS = BACKFILL_VENUES.flatMap((venue) => definitionOf(venue).backfill?.assets ?? [])

/** `priorbook-server backfill VENUE --coin BTC`, or with what selects the markets of the venue */
export const backfillCommand = defineCommand({
  name: 'backfill',
  args: 'VENUE',
  about:
    'Fetches the past of a venue from before capture: of A catalogue records, resolutions, volume and liquidity of rounds of a coin, of B and C records, resolutions, trades and price history of a series, of rounds or of an event; run again, it continues where it stopped.',
  options: {
    coin: parsedOption(
      'Venue A: the coin of the rounds.',
      { value: 'COIN', words: COINS },
      (text) => text,
    ),
    ...HISTORY_OPTIONS,
    from: textOption(
      'TIME',
      'Markets that ended from this time on; with --coin the capture floor by default.',
    ),
    to: textOption('TIME', 'Markets that ended before this time; now by default.'),
    ...ORIGIN_OPTION,
    ...CONFIG_OPTION,
  },
  examples: [
    'priorbook-server backfill venuea --coin BTC --data data',
    'priorbook-server backfill venuea --coin ETH --from 2026-08-01 --to 2026-08-02T12:00:00Z',
    'priorbook-server backfill venueb --series KXBTC15M --from 2026-08-01 --data data',
    'priorbook-server backfill venuec --asset BTC --window 15m --from 2026-08-01 --to 2026-08-02',
  ],
  async run(context) {
    const { args, options, io } = context
    const named = toVenue(args)
    const { history } = definitionOf(named)
    if (history !== undefined && options.coin === undefined) {
      return runHistory(context, { venue: named, history })
    }
    const target = toTarget(args)
    const asset = toCoin(target, options.coin)
    const range = toRange(target, asset, options.from, options.to, Date.now() * 1000)
    const config = readConfig(options.config)
    const { restBase } = target.backfill.toUpstream(config[target.venue])
    const origin = toOrigin(options.origin, restBase)
    const folder = dataFolderOf(context, config, origin === 'emulator')
    const report = await backfill(config, folder, { ...target, asset, origin, ...range }, io)
    const { start, end } = range
    await print(
      context,
      { coin: asset, from: printMicros(start), to: printMicros(end), ...report },
      [
        `${count(report.complete)} of ${count(report.expected)} rounds of ${asset} from ${printMinute(start)} to ${printMinute(end)} are complete, after ${count(report.calls)} calls`,
        ...linesOf(report),
      ],
    )
    return report.missing > 0 || report.quarantined > 0 || report.isStopped ? 1 : 0
  },
})

type Job = BackfillTarget & {
  readonly asset: string
  readonly origin: 'live' | 'emulator'
  readonly start: Micros
  readonly end: Micros
}

async function backfill(
  config: Config,
  data: DataFolder,
  job: Job,
  io: CommandIo,
): Promise<BackfillReport> {
  const { venue, backfill: definition, ...rest } = job
  const upstream = definition.toUpstream(config[venue])
  if (upstream.apiKey === '' || upstream.apiSecret === '') {
    const prefix = `PRIORBOOK_${venue.toUpperCase()}`
    throw new PriorbookError(
      'invalid_config',
      `${VENUES[venue].label} requires a key: set ${venue}.apiKey and ${venue}.apiSecret (${prefix}_API_KEY, ${prefix}_API_SECRET)`,
    )
  }
  makeFolder(data.path)
  const store = openStore(data)
  const progress = showProgress(io, upstream.quota.windowMs / upstream.quota.limit)
  try {
    return await untilStopped((signal) =>
      backfillCatalogue(
        {
          ...rest,
          venue,
          store,
          journalDir: data.journal,
          recorder: config.recorder,
          log: createLog(config, data),
          upstream,
          onProgress: (one) => progress.update(one),
        },
        signal,
      ),
    )
  } finally {
    progress.end()
    await store.close()
  }
}

/** A progress bar on a terminal; elsewhere one line per minute. */
function showProgress(
  io: CommandIo,
  paceMs: number,
): {
  update(progress: BackfillProgress): void
  end(): void
} {
  const bar = new ProgressBar(io, 'backfill', LINE_MS)
  const started = performance.now()
  let first: BackfillProgress | undefined
  return {
    update(progress) {
      first ??= progress
      const { expected, complete, unresolved, missing } = progress.counts
      const now = performance.now()
      const asked = progress.calls - first.calls
      const perRound = asked < 10 ? paceMs : (now - started) / asked
      const left = Math.max(0, expected - complete - unresolved - missing)
      const words = `${count(complete)} of ${count(expected)} rounds, back to ${printMinute(progress.reached)}, ${duration(left * perRound)} left`
      bar.update(expected - left, expected, words)
    },
    end: () => bar.end(),
  }
}

function linesOf(report: BackfillReport): string[] {
  const { unresolved, missing, quarantined, isStopped } = report
  const lines: string[] = []
  if (unresolved > 0)
    lines.push(`${count(unresolved)} have no result yet; run the command again later`)
  if (missing > 0) lines.push(`${count(missing)} were not available from the venue`)
  if (quarantined > 0) lines.push(`${count(quarantined)} parts of answers could not be read`)
  if (isStopped) lines.push('stopped; run it again to continue')
  return lines
}

/** A venue that can be backfilled, and how. */
export type BackfillTarget = {
  readonly venue: VenueId
  readonly backfill: CatalogueBackfill<unknown>
}

function toVenue(rest: readonly string[]): VenueId {
  const venue = BACKFILL_VENUES.find((one) => one === rest[0])
  if (venue === undefined || rest.length !== 1) throw new UsageError(hint())
  return venue
}

/** Parses the venue of a backfill of rounds. */
export function toTarget(rest: readonly string[]): BackfillTarget {
  const venue = toVenue(rest)
  const { backfill } = definitionOf(venue)
  if (backfill === undefined) throw new UsageError(hint())
  return { venue, backfill }
}

function hint(): string {
  const calls = BACKFILL_VENUES.map((venue) => {
    const { history } = definitionOf(venue)
    const selectors = history?.selectors[0] ?? ['coin']
    return `backfill ${venue} ${selectors.map((name) => `--${name} …`).join(' ')}`
  })
  return `name a venue that can be backfilled: ${calls.join(', ')}`
}

/** Parses the coin of a backfill, in upper or lower case. */
export function toCoin({ venue, backfill }: BackfillTarget, coin: string | undefined): string {
  const coins = backfill.assets.join(', ')
  if (coin === undefined) throw new UsageError(`name a coin: --coin with one of ${coins}`)
  const known = backfill.assets.find((one) => one === coin.toUpperCase())
  if (known === undefined) {
    throw new UsageError(`--coin ${coin} is unknown; ${VENUES[venue].label} has ${coins}`)
  }
  return known
}

/** Parses the range of a backfill: by default from the coin's floor up to now. */
export function toRange(
  { backfill }: BackfillTarget,
  asset: string,
  from: string | undefined,
  to: string | undefined,
  now: number,
): { readonly start: Micros; readonly end: Micros } {
  const floor = backfill.floorOf(asset)!
  const start = from === undefined ? floor : toTime('from', from)
  const end = to === undefined ? (now as Micros) : toTime('to', to)
  if (start < floor) {
    const hint = 'leave it out to begin there'
    throw new UsageError(
      `--from ${from} lies before the capture floor of ${asset}, ${printMinute(floor)}; ${hint}`,
    )
  }
  if (start >= now) {
    throw new UsageError(
      `--from ${from ?? printMinute(floor)} lies in the future; a backfill goes up to now`,
    )
  }
  if (end > now) throw new UsageError(`--to ${to} lies in the future; leave it out to go up to now`)
  if (start >= end) {
    throw new UsageError(
      `--from ${printMinute(start)} is not before --to ${printMinute(end)}; give the earlier time first`,
    )
  }
  return { start, end }
}

/** A duration such as `3 h 12 min`. */
function duration(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return 'less than a minute'
  if (minutes < 60) return `${minutes} min`
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`
}
