import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino, type Logger } from 'pino'
import { printMicros, PriorbookError, VENUES, type Micros } from '@priorbook/sdk/domain'
import { loadConfig, type Config } from '../config/index.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { createProgressBar } from '../lib/progress-bar.ts'
import { backfillCatalogue, type BackfillReport } from '../derive/backfill.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { BackfillProgress } from '../venues/capture/past-rounds.ts'
import { BACKFILL_VENUES, definitionOf } from '../venues/registry.ts'
import {
  printMinute,
  toCoin,
  toOrigin,
  toRange,
  toTarget,
  type BackfillTarget,
} from './backfill-arguments.ts'
import { count, parseArguments, print, type Command } from './command.ts'

const CONFIG_FILE = 'priorbook.json'
const LINE_MS = 60_000

const [VENUE = ''] = BACKFILL_VENUES
const COINS = BACKFILL_VENUES.flatMap((venue) => definitionOf(venue).backfill!.assets)

/** `priorbook-server backfill VENUE --coin BTC` */
export const backfillCommand: Command = {
  name: 'backfill',
  usage: `backfill ${VENUE} --coin ${COINS.join('|')} [--from TIME] [--to TIME] [--origin live|emulator] [--config FILE] [--data DIR]`,
  about:
    'Fills in catalogue, resolution, volume and liquidity of past 5- and 15-minute rounds, from now back to the capture floor of the coin; started again, it goes on where it stopped.',
  examples: [
    `priorbook-server backfill ${VENUE} --coin BTC --data data`,
    `priorbook-server backfill ${VENUE} --coin ETH --from 2026-08-01 --to 2026-08-02T12:00:00Z`,
  ],
  async run(args) {
    const { texts, json, rest, data } = parseArguments(args, {
      texts: ['coin', 'from', 'to', 'origin', 'config'],
    })
    const target = toTarget(rest)
    const asset = toCoin(target, texts.get('coin'))
    const range = toRange(target, asset, texts.get('from'), texts.get('to'), Date.now() * 1000)
    const file = texts.get('config') ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined)
    const config = loadConfig({ env: process.env, ...(file === undefined ? {} : { file }) })
    const { restBase } = target.backfill.toUpstream(config[target.venue])
    const origin = toOrigin(texts.get('origin'), restBase)
    const isDataGiven = args.some((arg) => arg === '--data' || arg.startsWith('--data='))
    const folder = isDataGiven ? data : toDataFolder(dataOf(config, origin))
    const report = await backfill(config, folder, { ...target, asset, origin, ...range })
    const { start, end } = range
    print(json, { coin: asset, from: printMicros(start), to: printMicros(end), ...report }, [
      `${count(report.complete)} of ${count(report.expected)} rounds of ${asset} from ${printMinute(start)} to ${printMinute(end)} are complete, after ${count(report.calls)} calls`,
      ...linesOf(report),
    ])
    return report.missing > 0 || report.quarantined > 0 || report.isStopped ? 1 : 0
  },
}

type Job = BackfillTarget & {
  readonly asset: string
  readonly origin: 'live' | 'emulator'
  readonly start: Micros
  readonly end: Micros
}

async function backfill(config: Config, data: DataFolder, job: Job): Promise<BackfillReport> {
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
  const progress = showProgress(upstream.quota.windowMs / upstream.quota.limit)
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

// Emulated data never shares a folder with real data.
function dataOf({ data }: Config, origin: 'live' | 'emulator'): string {
  return origin === 'emulator' && data === 'data' ? 'data/emulator' : data
}

// The log is a file beside the data, because the terminal shows the progress.
function createLog(config: Config, data: DataFolder): Logger {
  const dest = join(data.path, 'priorbook.log')
  return pino({ level: config.log.level }, pino.destination({ dest, sync: true }))
}

/** A progress bar on a terminal; elsewhere one line per minute. */
function showProgress(paceMs: number): {
  update(progress: BackfillProgress): void
  end(): void
} {
  const bar = createProgressBar('backfill')
  const started = performance.now()
  let first: BackfillProgress | undefined
  let printed = started
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
      if (process.stderr.isTTY || now - printed < LINE_MS) return
      printed = now
      console.error(`backfill: ${words}`)
    },
    end: () => bar.end(),
  }
}

function linesOf(report: BackfillReport): string[] {
  const { unresolved, missing, quarantined, isStopped } = report
  const lines: string[] = []
  if (unresolved > 0) lines.push(`${count(unresolved)} have no result yet; another run asks again`)
  if (missing > 0) lines.push(`${count(missing)} were not to be had of the venue`)
  if (quarantined > 0) lines.push(`${count(quarantined)} parts of answers could not be read`)
  if (isStopped) lines.push('stopped; run it again to go on')
  return lines
}

/** A duration such as `3 h 12 min`. */
function duration(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return 'less than a minute'
  if (minutes < 60) return `${minutes} min`
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`
}
