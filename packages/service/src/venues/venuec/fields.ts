import {
  canonicalDecimal,
  COIN_NAMES,
  decimalText,
  parsePrice,
  parseSize,
  PriorbookError,
  VENUES,
  type Instrument,
  type Micros,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { decimalOf, isNoTime, readArray, readId, readTime, show, wrong } from '../capture/fields.ts'

/** Readers of fields whose form is specific to venue C; `../capture/fields.ts` has the general ones. */

const { priceDecimals, sizeDecimals } = VENUES.venuec

// A busy round names the same two tokens in every message, so each is checked once and shares one value, by which
// the store finds its stream. All open markets of the venue fit.
const MAX_INSTRUMENTS = 65_536
const instruments = new BoundedMap<string, Instrument>(MAX_INSTRUMENTS)

/** The instrument of an outcome token: `market` is the condition id, `asset` the token id. */
export function readInstrument(market: unknown, asset: unknown): Instrument {
  const known = typeof asset === 'string' ? instruments.get(asset) : undefined
  if (known !== undefined && known.market === market) return known
  const instrument: Instrument = {
    venue: 'venuec',
    market: readId(market, 'market'),
    key: readId(asset, 'asset_id'),
  }
  instruments.set(instrument.key, instrument)
  return instrument
}

/** Reads a price of a share (`"0.5"`, `".48"`) as ticks. */
export function readPrice(value: unknown, name: string): PriceTicks {
  return parsePrice(decimalOf(value, name), priceDecimals)
}

/** Reads a number of shares that is not negative. */
export function readShares(value: unknown, name: string): SizeUnits {
  const size = parseSize(decimalOf(value, name), sizeDecimals)
  if (size < 0) throw wrong(name, value, 'a size from 0 on')
  return size
}

const MILLIS = /^\d{1,13}$/

/** Reads a time in milliseconds as text (`"1778480069765"`); undefined where it is absent. */
export function readMillis(value: unknown, name: string): Micros | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const millis =
    typeof value === 'string' && MILLIS.test(value)
      ? Number(value)
      : typeof value === 'number' && Number.isInteger(value)
        ? value
        : NaN
  // Thirteen digits of milliseconds reach the year 2286, Micros only 2255.
  if (!(millis >= 0 && millis * 1000 <= Number.MAX_SAFE_INTEGER)) {
    throw new PriorbookError('invalid_time', `${name} is ${show(value)}, not milliseconds as text`)
  }
  return (millis * 1000) as Micros
}

/**
 * Reads a time of the catalogue: RFC 3339, or `2026-07-24 00:00:16+00` (an offset without minutes).
 * Undefined where it is absent or beyond Micros, such as the years 0001 and 9999; `native` keeps it.
 */
export function readInstant(value: unknown, name: string): Micros | undefined {
  if (isNoTime(value)) return undefined
  if (typeof value !== 'string') return readTime(value, name)
  const year = /^\d{4}-/.test(value) ? Number(value.slice(0, 4)) : NaN
  if (year < 1970 || year > 2254) return undefined
  return readTime(/[+-]\d\d$/.test(value.slice(10)) ? `${value}:00` : value, name)
}

/** Max characters of a list, much longer than any seen (two labels or two token ids). */
const LIST_CHARS = 65_536

/** Reads a list, which the venue also writes as JSON inside a string (`"[\"Up\", \"Down\"]"`). */
export function readList(value: unknown, name: string): readonly unknown[] | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') return readArray(value, name)
  if (value.length > LIST_CHARS) {
    throw new PriorbookError('invalid_message', `${name} has ${value.length} characters`)
  }
  let list: unknown
  try {
    list = JSON.parse(value)
  } catch (cause) {
    throw new PriorbookError('invalid_message', `${name} is ${show(value)}, not a JSON list`, {
      cause,
    })
  }
  return list === null ? undefined : readArray(list, name)
}

/** Reads a boolean that may be absent. */
export function readFlag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw wrong(name, value, 'true or false')
  return value
}

/** Reads an identifier that may be absent. */
export function optionalId(value: unknown, name: string): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : readId(value, name)
}

const DECIMAL_CHARS = 64

/**
 * Reads an amount such as a volume as canonical decimal text. Undefined for a JSON number that prints
 * with an exponent: it is the noise of a floating-point sum, and `native` keeps it.
 */
export function readAmount(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const text = decimalText(decimalOf(value, name))
  if (typeof value === 'number' && text.includes('e')) return undefined
  if (text.length > DECIMAL_CHARS) {
    throw new PriorbookError('unrepresentable', `${name} has ${text.length} characters`)
  }
  return canonicalDecimal(text)
}

/** A round of a crypto up-or-down series, as its slug names it. */
export type Round = {
  /** In capitals, as the market record keeps it: `BTC`. */
  readonly asset: string
  /** As the slug writes it: `5m`. */
  readonly window: string
  /** Unix seconds of the start, where the slug holds them. */
  readonly startSeconds?: number
}

// Slugs of all assets have the same form: `btc-updown-5m-1773307200`.
const ROUND = /^([a-z0-9]{2,12})-updown-(\d{1,3}[mhd])-(\d{9,10})$/
// The hourly and daily series have older names: `bitcoin-up-or-down-june-7-8pm-et` (also with a
// year) and `bitcoin-up-or-down-on-june-7`.
const HOURLY = /^([a-z]{3,12})-up-or-down-[a-z]+-\d{1,2}(?:-\d{4})?-\d{1,2}[ap]m-et$/
const DAILY = /^([a-z]{3,12})-up-or-down-on-[a-z]+-\d{1,2}(?:-\d{4})?$/

/** Reads the slug of a crypto up-or-down round; undefined for every other market. */
export function parseRoundSlug(slug: string): Round | undefined {
  const [, asset, window, start] = ROUND.exec(slug) ?? []
  if (asset !== undefined && window !== undefined) {
    return { asset: asset.toUpperCase(), window, startSeconds: Number(start) }
  }
  for (const [pattern, length] of [
    [HOURLY, '1h'],
    [DAILY, '1d'],
  ] as const) {
    const ticker = COIN_NAMES.get(pattern.exec(slug)?.[1] ?? '')
    if (ticker !== undefined) return { asset: ticker, window: length }
  }
  return undefined
}

/** When a round starts; undefined where the slug does not contain it or it is beyond Micros. */
export function roundStart({ startSeconds = NaN }: Round): Micros | undefined {
  const micros = startSeconds * 1_000_000
  return Number.isSafeInteger(micros) ? (micros as Micros) : undefined
}

/** The slug of a round that starts at these unix seconds. */
export function printRoundSlug(asset: string, window: string, startSeconds: number): string {
  return `${asset.toLowerCase()}-updown-${window}-${startSeconds}`
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }

/** The length of a window such as `5m` in seconds; undefined for anything else. */
export function windowSeconds(window: string): number | undefined {
  const [, count, unit] = /^(\d{1,3})([mhd])$/.exec(window) ?? []
  return count === undefined ? undefined : Number(count) * UNIT_SECONDS[unit!]!
}
