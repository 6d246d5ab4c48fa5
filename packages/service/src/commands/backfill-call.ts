import { join } from 'node:path'
import { parsedOption, toInstant, UsageError } from '@priorbook/sdk/command-line'
import {
  parseMicros,
  printMicros,
  PriorbookError,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import { pino, type Logger } from 'pino'
import type { Config } from '../config/index.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import { isLoopback } from '../lib/loopback.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { refuseMixed } from './upstream-addresses.ts'

/** How often a backfill prints a line where there is no terminal. */
export const LINE_MS = 60_000

/** The option that says where the data come from. */
export const ORIGIN_OPTION = {
  origin: parsedOption(
    'The origin of the data; emulator for a loopback address, else live.',
    { value: 'ORIGIN', words: ['live', 'emulator'] },
    (text) => text,
  ),
}

/** Opens the tape of a data folder for a backfill. */
export function openStore(data: DataFolder): ReturnType<typeof openEmbeddedStore> {
  try {
    return openEmbeddedStore({ file: data.tape })
  } catch (error) {
    if (!(error instanceof PriorbookError) || error.code !== 'store_locked') throw error
    const hint = 'stop `serve` or whatever else writes there, then start the backfill again'
    throw new PriorbookError('store_locked', `${data.path} has a writer: ${hint}`, { cause: error })
  }
}

/** Creates the log of a backfill: a file beside the data, because the terminal shows the progress. */
export function createLog(config: Config, data: DataFolder): Logger {
  const dest = join(data.path, 'priorbook.log')
  return pino({ level: config.log.level }, pino.destination({ dest, sync: true }))
}

/** Runs work that SIGTERM and SIGINT stop in order. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.once('SIGTERM', onSignal)
  process.once('SIGINT', onSignal)
  try {
    return await work(stop.signal)
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

const MILLIS = /^\d{13}$/
const MICROS = /^\d{16}$/

/** Parses a time of an option. */
export function toTime(option: string, value: string): Micros {
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
  return isLoopback(rest) ? 'emulator' : 'live'
}

/** The origin of data from several addresses of a venue; throws `invalid_config` for a mixture of upstreams. */
export function toOriginOfAll(
  said: string | undefined,
  venue: VenueId,
  bases: Readonly<Record<string, string>>,
): 'live' | 'emulator' {
  const named = Object.entries(bases).map(([name, base]) => [`${venue}.${name}`, base] as const)
  refuseMixed(Object.fromEntries(named))
  return toOrigin(said, named[0]![1])
}

/** A time to the minute, as printed. */
export function printMinute(time: Micros): string {
  return `${printMicros(time).slice(0, 16)}Z`
}
