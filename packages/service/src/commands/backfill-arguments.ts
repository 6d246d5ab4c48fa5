import { toInstant, UsageError } from '@priorbook/sdk/command-line'
import {
  parseMicros,
  printMicros,
  PriorbookError,
  VENUES,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { CatalogueBackfill } from '../venues/capture/definition.ts'
import { BACKFILL_VENUES, definitionOf } from '../venues/registry.ts'

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
