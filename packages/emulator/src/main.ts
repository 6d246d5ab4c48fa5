import { setFlagsFromString } from 'node:v8'
import {
  amountOption,
  flagOption,
  optionLines,
  packageVersion,
  parseAmount,
  parsedOption,
  parseOptions,
  textOption,
  textsOption,
  UsageError,
  type OptionValues,
} from '@priorbook/sdk/command-line'
import { isVenueId, PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { startEmulator, type Emulator, type EmulatorOptions } from './emulator.ts'
import { randomSchedule } from './faults/schedule.ts'
import { playRecording } from './playback/play.ts'
import { EMULATED_VENUES } from './venues/registry.ts'

const OPTIONS = {
  seed: textOption('TEXT', 'The same seed gives the same markets and orders; 1 by default.'),
  speed: amountOption(
    'Windows N times shorter, everything N times as often, 1 to 300; 1 by default.',
  ),
  venues: parsedOption('Such as venueb,venuec; all by default.', { value: 'LIST' }, parseVenues),
  markets: amountOption('Open markets of venue B at a time; 12 by default.'),
  history: amountOption(
    'Rounds of every family that were resolved before the start; 0 by default.',
  ),
  breadth: parsedOption(
    'Open markets of many kinds beside the rounds, such as venueb:20000,venuec:10000.',
    { value: 'VENUE:N,…' },
    parseBreadth,
  ),
  'breadth-rate': amountOption(
    'Orders and trades of all of these markets per second at speed 1; 500 by default.',
  ),
  turnover: amountOption(
    'Questions listed per minute and venue at speed 1, each to close minutes later; 6 by default.',
  ),
  'archive-after': amountOption(
    'The age in seconds at which markets and trades of venue B go to its archive; 90 days by default.',
  ),
  'subscription-markets': amountOption('Max markets per subscription of venue B; 2000 by default.'),
  changes: amountOption('Order changes per market and second at speed 1; 5 by default.'),
  trades: amountOption('Trades per market and second at speed 1; 0.3 by default.'),
  'fine-ticks': flagOption('Venue A has prices of six decimals from the middle of every round on.'),
  flood: parsedOption(
    'N changes per second on one venue, instead of its order flow.',
    { value: 'VENUE:N' },
    parseFlood,
  ),
  'port-base': amountOption(
    'The venues from N on in the order of their ids, then control; free ports by default.',
  ),
  log: textOption('FILE', 'Log of the truth: what was sent and what was withheld.'),
  'log-without-books': flagOption('Leave the books out of the log, for benchmarks.'),
  faults: parsedOption(
    'none (default), or random:SEED for a day of faults.',
    { value: 'SCHEDULE' },
    parseFaults,
  ),
  json: flagOption('Print one line of JSON with addresses and keys.'),
  'until-stdin-ends': flagOption('End when the parent process does.'),
  play: textsOption('FILE', 'Play a venue B recording (.ndjson or .ndjson.gz); may be repeated.'),
  'play-journal': textOption(
    'DIR',
    'Play the journal of a data folder, of the venue named by --venues.',
  ),
  help: flagOption('Show this.', 'h'),
  version: flagOption('Show the version.'),
}

/** What `--help` prints; the README names every flag of it. */
export const HELP = `priorbook-emulator: the upstream venues on loopback, in their own wire formats

Usage: priorbook-emulator [OPTIONS]
       priorbook-emulator --play FILE… | --play-journal DIR --venues venueb   play a recording

Options:
${optionLines(OPTIONS)}

Examples:
  priorbook-emulator --speed 30
  priorbook-emulator --seed 7 --venues venueb --markets 100 --faults random:7 --log truth.ndjson
`

const DAY_MS = 86_400_000

/** Runs `priorbook-emulator` until it is stopped; exit code 0, or 2 for invalid arguments. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const { values: flags, positionals } = parseOptions(OPTIONS, args)
    if (positionals.length > 0) throw new UsageError(`unexpected argument: ${positionals[0]}`)
    if (flags.help) {
      process.stdout.write(HELP)
      return 0
    }
    if (flags.version) {
      const version = packageVersion(import.meta.url)
      process.stdout.write(`priorbook-emulator ${version} (Node ${process.versions.node})\n`)
      return 0
    }
    const isPlay = flags.play.length > 0 || flags['play-journal'] !== undefined
    const running = isPlay ? await play(flags) : await emulate(flags)
    await untilEnd(flags['until-stdin-ends'])
    await running.close()
    return 0
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    process.stderr.write(`priorbook-emulator: ${error.code}: ${error.message}\n`)
    if (error instanceof UsageError && error.hint !== undefined) {
      process.stderr.write(`${error.hint}\n`)
    }
    return error.code === 'invalid_argument' ? 2 : 1
  }
}

/**
 * How far the heap may grow beyond its live objects before it is collected. By default V8 lets a broad world
 * grow by half as much again: 770 MB instead of 530 with 30,000 markets.
 */
const HEAP_GROWTH_PERCENT = 40

async function emulate(flags: Flags): Promise<{ close(): Promise<void> }> {
  if (flags.breadth !== undefined) {
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`)
  }
  const emulator = await startEmulator(optionsOf(flags))
  show(flags, emulator)
  return emulator
}

function show(flags: Flags, { addresses, control }: Emulator): void {
  if (flags.json) {
    console.log(JSON.stringify({ control, ...addresses }))
    return
  }
  for (const [venue, fields] of Object.entries(addresses)) {
    console.log(venue)
    for (const [name, value] of Object.entries(fields)) {
      console.log(`  ${name.padEnd(10)} ${value.trimEnd().replaceAll('\n', `\n${' '.repeat(13)}`)}`)
    }
  }
  console.log(`control\n  ${'url'.padEnd(10)} ${control}`)
  console.log('\nEnd with Ctrl-C.')
}

async function play(flags: Flags): Promise<{ close(): Promise<void> }> {
  const { speed, ports, logFile, venues } = optionsOf(flags)
  const venue = venues?.length === 1 ? venues[0]! : 'venueb'
  const journal = flags['play-journal']
  const playback = await playRecording({
    venue,
    ...(journal === undefined ? { files: flags.play } : { journal }),
    ...(speed === undefined ? {} : { speed }),
    ...(ports?.[venue] === undefined ? {} : { port: ports[venue] }),
    ...(logFile === undefined ? {} : { logFile }),
  })
  const { ws } = playback
  console.log(flags.json ? JSON.stringify({ [venue]: { ws } }) : `${venue}\n  ws  ${ws}`)
  return playback
}

/** Resolves on SIGTERM, on SIGINT and, with `--until-stdin-ends`, at the end of standard input. */
function untilEnd(untilStdinEnds: boolean): Promise<void> {
  return new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    if (!untilStdinEnds) return
    process.stdin.once('end', resolve)
    process.stdin.once('error', () => resolve())
    process.stdin.resume()
  }).then(() => {
    process.stdin.destroy()
  })
}

type Flags = OptionValues<typeof OPTIONS>

function optionsOf(flags: Flags): EmulatorOptions {
  const { venues = EMULATED_VENUES, markets, 'port-base': base } = flags
  return {
    venues,
    ...optional('seed', flags.seed),
    ...optional('speed', flags.speed),
    ...(markets === undefined ? {} : { markets: { venueb: markets } }),
    ...optional('history', flags.history),
    fineTicks: flags['fine-ticks'],
    ...optional('breadth', flags.breadth),
    rates: {
      ...optional('changes', flags.changes),
      ...optional('trades', flags.trades),
      ...optional('breadth', flags['breadth-rate']),
      ...optional('turnover', flags.turnover),
    },
    limits: {
      ...optional('subscriptionMarkets', flags['subscription-markets']),
      ...(flags['archive-after'] === undefined ? {} : { archiveMs: flags['archive-after'] * 1000 }),
    },
    ...optional('flood', flags.flood),
    ...optional('ports', portsOf(base)),
    ...optional('logFile', flags.log),
    log: { books: !flags['log-without-books'] },
    faults:
      flags.faults === undefined
        ? []
        : randomSchedule(flags.faults, { durationMs: DAY_MS, venues }),
  }
}

function portsOf(base: number | undefined): EmulatorOptions['ports'] {
  if (base === undefined) return undefined
  const ports = EMULATED_VENUES.map((venue, index) => [venue, base + index])
  return Object.fromEntries([...ports, ['control', base + ports.length]])
}

function parseVenues(text: string): readonly VenueId[] {
  return text.split(',').map((name) => {
    if (!isVenueId(name)) throw new UsageError(`unknown venue ${JSON.stringify(name)}`)
    return name
  })
}

function parseBreadth(text: string): NonNullable<EmulatorOptions['breadth']> {
  const counts = text.split(',').map((part) => {
    const [venue, count, ...more] = part.split(':')
    if (!isVenueId(venue) || more.length > 0) {
      throw new UsageError(`--breadth ${text} is not VENUE:N,VENUE:N`)
    }
    return [venue, parseAmount(count ?? '', 'breadth')] as const
  })
  return Object.fromEntries(counts)
}

function parseFlood(text: string): NonNullable<EmulatorOptions['flood']> {
  const [venue, rate, ...more] = text.split(':')
  if (!isVenueId(venue) || more.length > 0) throw new UsageError(`--flood ${text} is not VENUE:N`)
  return { venue, perSecond: parseAmount(rate ?? '', 'flood') }
}

/** Reads the seed of a random schedule; undefined for none. */
function parseFaults(text: string): string | undefined {
  if (text === 'none') return undefined
  const seed = /^random:(.+)$/.exec(text)?.[1]
  if (seed === undefined) throw new UsageError(`--faults ${text} is neither none nor random:SEED`)
  return seed
}

function optional<K extends string, T>(name: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: T })
}
