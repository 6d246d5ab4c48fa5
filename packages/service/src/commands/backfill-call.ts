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
import { openEmbeddedStore } from '../store/embedded/open.ts'

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

/**
 * The origin of data from several addresses of a venue. Throws `invalid_config` where some are loopback addresses
 * and others are not: with the addresses of an emulator and one that was left out, a call would reach the real venue.
 */
export function toOriginOfAll(
  said: string | undefined,
  venue: VenueId,
  bases: Readonly<Record<string, string>>,
): 'live' | 'emulator' {
  const names = Object.keys(bases)
  const own = names.find((name) => isLoopback(bases[name]!))
  const other = names.find((name) => !isLoopback(bases[name]!))
  if (own !== undefined && other !== undefined) {
    const detail = `${venue}.${own} is the loopback address ${bases[own]}, but ${venue}.${other} is ${bases[other]}`
    throw new PriorbookError('invalid_config', `${detail}: set both to the same upstream`)
  }
  return toOrigin(said, bases[names[0]!]!)
}

function isLoopback(base: string): boolean {
  return URL.canParse(base) && LOOPBACK.test(new URL(base).hostname)
}

/** A time to the minute, as printed. */
export function printMinute(time: Micros): string {
  return `${printMicros(time).slice(0, 16)}Z`
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
