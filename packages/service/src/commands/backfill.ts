import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  parsedOption,
  printCount as count,
  ProgressBar,
  textOption,
  toInstant,
  UsageError,
  type CommandIo,
} from '@priorbook/sdk/command-line'
import {
  parseMicros,
  printMicros,
  PriorbookError,
  VENUES,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import { pino, type Logger } from 'pino'
import type { Config } from '../config/index.ts'
import { backfillCatalogue, type BackfillReport } from '../derive/backfill.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { BackfillProgress, CatalogueBackfill } from '../venues/capture/definition.ts'
import { BACKFILL_VENUES, definitionOf } from '../venues/registry.ts'
import { CONFIG_OPTION, dataFolderOf, readConfig } from './command-config.ts'
import { defineCommand, print } from './command.ts'

const LINE_MS = 60_000

const [VENUE = ''] = BACKFILL_VENUES
const COINS = BACKFILL_VENUES.flatMap((venue) => definitionOf(venue).backfill!.assets)

/** `priorbook-server backfill VENUE --coin BTC` */
export const backfillCommand = defineCommand({
  name: 'backfill',
  args: `${VENUE} --coin COIN`,
  about:
    'Fetches catalogue records, resolutions, volume and liquidity of past 5- and 15-minute rounds, from now back to the capture floor of the coin; run again, it continues where it stopped.',
  options: {
    coin: parsedOption('The coin of the rounds.', { value: 'COIN', words: COINS }, (text) => text),
    from: textOption('TIME', 'Rounds from this time on; the capture floor by default.'),
    to: textOption('TIME', 'Rounds before this time; now by default.'),
    origin: parsedOption(
      'The origin of the data; emulator for a loopback address, else live.',
      { value: 'ORIGIN', words: ['live', 'emulator'] },
      (text) => text,
    ),
    ...CONFIG_OPTION,
  },
  examples: [
    `priorbook-server backfill ${VENUE} --coin BTC --data data`,
    `priorbook-server backfill ${VENUE} --coin ETH --from 2026-08-01 --to 2026-08-02T12:00:00Z`,
  ],
  async run(context) {
    const { args, options, io } = context
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
  mkdirSync(data.path, { recursive: true })
  const store = openStore(data)
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.once('SIGTERM', onSignal)
  process.once('SIGINT', onSignal)
  const progress = showProgress(io, upstream.quota.windowMs / upstream.quota.limit)
  try {
    return await backfillCatalogue(
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
      stop.signal,
    )
  } finally {
    progress.end()
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
    await store.close()
  }
}

function openStore(data: DataFolder): ReturnType<typeof openEmbeddedStore> {
  try {
    return openEmbeddedStore({ file: data.tape })
  } catch (error) {
    if (!(error instanceof PriorbookError) || error.code !== 'store_locked') throw error
    const hint = 'stop `serve` or whatever else writes there, then start the backfill again'
    throw new PriorbookError('store_locked', `${data.path} has a writer: ${hint}`, { cause: error })
  }
}

// The log is a file beside the data, because the terminal shows the progress.
function createLog(config: Config, data: DataFolder): Logger {
  const dest = join(data.path, 'priorbook.log')
  return pino({ level: config.log.level }, pino.destination({ dest, sync: true }))
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

/** A duration such as `3 h 12 min`. */
function duration(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return 'less than a minute'
  if (minutes < 60) return `${minutes} min`
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

/** A venue that can be backfilled, and how. */
export type BackfillTarget = {
  readonly venue: VenueId
  readonly backfill: CatalogueBackfill<unknown>
}

/** Parses the venue of a backfill. */
export function toTarget(rest: readonly string[]): BackfillTarget {
  const venue = BACKFILL_VENUES.find((one) => one === rest[0])
  const backfill = venue === undefined ? undefined : definitionOf(venue).backfill
  if (venue === undefined || backfill === undefined || rest.length !== 1) {
    const venues = BACKFILL_VENUES.join('|')
    throw new UsageError(`name a venue that can be backfilled: backfill ${venues} --coin BTC`)
  }
  return { venue, backfill }
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

const MILLIS = /^\d{13}$/
const MICROS = /^\d{16}$/

function toTime(option: string, value: string): Micros {
  try {
    if (MILLIS.test(value)) return (Number(value) * 1000) as Micros
    if (MICROS.test(value)) return Number(value) as Micros
    return parseMicros(toInstant(value))
  } catch (cause) {
    if (!(cause instanceof PriorbookError)) throw cause
    const forms = '2026-08-05, 2026-08-05T12:00:00Z, or milliseconds since 1970'
    throw new UsageError(`--${option} ${value} is not a time; write it like ${forms}`, undefined, {
      cause,
    })
  }
}

/** The origin of the data: by default `emulator` for a loopback address, else `live`. */
export function toOrigin(said: string | undefined, rest: string): 'live' | 'emulator' {
  if (said === 'live' || said === 'emulator') return said
  if (said !== undefined) throw new UsageError(`--origin ${said} is neither live nor emulator`)
  const host = URL.canParse(rest) ? new URL(rest).hostname : ''
  return LOOPBACK.has(host) ? 'emulator' : 'live'
}

/** A time to the minute, as printed. */
export function printMinute(time: Micros): string {
  return `${printMicros(time).slice(0, 16)}Z`
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
