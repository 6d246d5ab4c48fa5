import { parseArgs } from 'node:util'
import { isVenueId, PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { startEmulator, type Emulator, type EmulatorOptions } from './emulator.ts'
import { randomSchedule } from './faults/schedule.ts'
import { playRecording } from './playback/play.ts'
import { EMULATED_VENUES } from './venues/registry.ts'

/** What `--help` prints; the README names every flag of it. */
export const HELP = `priorbook-emulator: the upstream venues on loopback, in their own wire formats

usage: priorbook-emulator [options]
       priorbook-emulator --play FILE… | --play-journal DIR --venues venueb   play a recording

  --seed TEXT          the same seed gives the same markets and orders (default 1)
  --speed N            windows N times shorter, everything N times as often, 1 to 300 (default 1)
  --venues LIST        such as venueb,venuec (default: all)
  --markets N          open markets of venue B at a time (default 12)
  --history N          rounds of every family that were resolved before the start (default 0)
  --changes N          order changes per market and second at speed 1 (default 5)
  --trades N           trades per market and second at speed 1 (default 0.3)
  --flood VENUE:N      N changes per second on one venue, instead of its order flow
  --port-base N        the venues from N on in the order of their ids, then control (default: free ports)
  --log FILE           log of the truth: what was put on the wire and what was not
  --log-without-books  leave the books out of the log, for benchmarks
  --faults SCHEDULE    none (default), or random:SEED for a day of faults
  --json               one line of JSON with addresses and keys instead of lines for people
  --until-stdin-ends   end when the parent process does
  --play FILE          play a venue B recording (.ndjson or .ndjson.gz); may be repeated
  --play-journal DIR   play the journal of a data folder, of the venue named by --venues
  --help               this text

examples:
  priorbook-emulator --speed 30
  priorbook-emulator --seed 7 --venues venueb --markets 100 --faults random:7 --log truth.ndjson
`

const DAY_MS = 86_400_000

/** Runs `priorbook-emulator` until it is stopped; exit code 0, or 2 for invalid arguments. */
export async function main(args: readonly string[]): Promise<number> {
  let flags: Flags
  try {
    flags = parseFlags(args)
    if (flags.help) {
      process.stdout.write(HELP)
      return 0
    }
    const running = flags.plays ? await play(flags) : await emulate(flags)
    await untilEnd(flags.untilStdinEnds)
    await running.close()
    return 0
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    process.stderr.write(`priorbook-emulator: ${error.code}: ${error.message}\n`)
    return error.code === 'invalid_argument' ? 2 : 1
  }
}

async function emulate(flags: Flags): Promise<{ close(): Promise<void> }> {
  const emulator = await startEmulator(flags.options)
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
  const { speed, ports, logFile } = flags.options
  const venue = flags.options.venues?.length === 1 ? flags.options.venues[0]! : 'venueb'
  const playback = await playRecording({
    venue,
    ...(flags.journal === undefined ? { files: flags.files } : { journal: flags.journal }),
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

type Flags = {
  readonly help: boolean
  readonly json: boolean
  readonly untilStdinEnds: boolean
  readonly options: EmulatorOptions
  readonly files: readonly string[]
  readonly journal: string | undefined
  readonly plays: boolean
}

function parseFlags(args: readonly string[]): Flags {
  let values
  try {
    values = parseArgs({
      args: [...args],
      strict: true,
      options: {
        seed: { type: 'string' },
        speed: { type: 'string' },
        venues: { type: 'string' },
        markets: { type: 'string' },
        history: { type: 'string' },
        changes: { type: 'string' },
        trades: { type: 'string' },
        flood: { type: 'string' },
        'port-base': { type: 'string' },
        log: { type: 'string' },
        'log-without-books': { type: 'boolean', default: false },
        faults: { type: 'string' },
        json: { type: 'boolean', default: false },
        'until-stdin-ends': { type: 'boolean', default: false },
        play: { type: 'string', multiple: true, default: [] },
        'play-journal': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (cause) {
    throw wrong((cause as Error).message, cause)
  }
  const venues = venuesOf(values.venues)
  const changes = numberOf('changes', values.changes)
  const trades = numberOf('trades', values.trades)
  const options: EmulatorOptions = {
    venues,
    ...optional('seed', values.seed),
    ...optional('speed', numberOf('speed', values.speed)),
    ...(values.markets === undefined
      ? {}
      : { markets: { venueb: numberOf('markets', values.markets)! } }),
    ...optional('history', numberOf('history', values.history)),
    rates: { ...optional('changes', changes), ...optional('trades', trades) },
    ...optional('flood', floodOf(values.flood)),
    ...optional('ports', portsOf(values['port-base'])),
    ...optional('logFile', values.log),
    log: { books: !values['log-without-books'] },
    faults: faultsOf(values.faults, venues),
  }
  return {
    help: values.help,
    json: values.json,
    untilStdinEnds: values['until-stdin-ends'],
    options,
    files: values.play,
    journal: values['play-journal'],
    plays: values.play.length > 0 || values['play-journal'] !== undefined,
  }
}

function venuesOf(text: string | undefined): readonly VenueId[] {
  if (text === undefined) return EMULATED_VENUES
  return text.split(',').map((name) => {
    if (!isVenueId(name)) throw wrong(`unknown venue ${JSON.stringify(name)}`)
    return name
  })
}

function floodOf(text: string | undefined): EmulatorOptions['flood'] {
  if (text === undefined) return undefined
  const [venue, rate, ...more] = text.split(':')
  if (!isVenueId(venue) || more.length > 0) throw wrong(`--flood ${text} is not VENUE:N`)
  return { venue, perSecond: numberOf('flood', rate ?? '')! }
}

function portsOf(text: string | undefined): EmulatorOptions['ports'] {
  const base = numberOf('port-base', text)
  if (base === undefined) return undefined
  const ports = EMULATED_VENUES.map((venue, index) => [venue, base + index])
  return Object.fromEntries([...ports, ['control', base + ports.length]])
}

function faultsOf(
  text: string | undefined,
  venues: readonly VenueId[],
): NonNullable<EmulatorOptions['faults']> {
  if (text === undefined || text === 'none') return []
  const seed = /^random:(.+)$/.exec(text)?.[1]
  if (seed === undefined) throw wrong(`--faults ${text} is neither none nor random:SEED`)
  return randomSchedule(seed, { durationMs: DAY_MS, venues })
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0)) throw wrong(`--${name} ${text} is not a number`)
  return value
}

function optional<K extends string, T>(name: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: T })
}

function wrong(detail: string, cause?: unknown): PriorbookError {
  return new PriorbookError('invalid_argument', detail, { cause })
}
