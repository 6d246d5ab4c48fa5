import {
  canonicalDecimal,
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
import { decimalOf, isNoTime, readArray, readId, readTime, show, wrong } from '../capture/fields.ts'

/** Readers of fields whose form is venue C's own; the general ones are in `../capture/fields.ts`. */

const { priceDecimals, sizeDecimals } = VENUES.venuec

// A busy round names the same two tokens over and over: each is checked once and shares one value.
// Bounded, because a venue that invents tokens must not fill the memory.
const INSTRUMENTS_KEPT = 8192
const instruments = new Map<string, Instrument>()

/** The instrument of an outcome token: `market` is the condition id, `asset` the token id. */
export function readInstrument(market: unknown, asset: unknown): Instrument {
  const known = typeof asset === 'string' ? instruments.get(asset) : undefined
  if (known !== undefined && known.market === market) return known
  const instrument: Instrument = {
    venue: 'venuec',
    market: readId(market, 'market'),
    key: readId(asset, 'asset_id'),
  }
  if (instruments.size >= INSTRUMENTS_KEPT) instruments.clear()
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

/** Reads the venue's clock, milliseconds as text (`"1778480069765"`); absent where it says nothing. */
export function readMillis(value: unknown, name: string): Micros | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const millis =
    typeof value === 'string' && MILLIS.test(value)
      ? Number(value)
      : typeof value === 'number' && Number.isInteger(value)
        ? value
        : NaN
  // Thirteen digits of milliseconds end in 2286 and Micros in 2255.
  if (!(millis >= 0 && millis * 1000 <= Number.MAX_SAFE_INTEGER)) {
    throw new PriorbookError('invalid_time', `${name} is ${show(value)}, not milliseconds as text`)
  }
  return (millis * 1000) as Micros
}

/**
 * Reads a time of the catalogue: RFC 3339, `2026-07-24 00:00:16+00` (an offset without minutes), or
 * nothing. A time that Micros cannot hold, such as the year 0001 or 9999, is absent; native keeps it.
 */
export function readInstant(value: unknown, name: string): Micros | undefined {
  if (isNoTime(value)) return undefined
  if (typeof value !== 'string') return readTime(value, name)
  const year = /^\d{4}-/.test(value) ? Number(value.slice(0, 4)) : NaN
  if (year < 1970 || year > 2254) return undefined
  return readTime(/[+-]\d\d$/.test(value.slice(10)) ? `${value}:00` : value, name)
}

// Longer than any list seen (two labels or two token ids), far below what would hurt.
const LIST_CHARS = 65_536

/** Reads a list that the venue writes as JSON inside a string (`"[\"Up\", \"Down\"]"`) or as a list. */
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

/** Reads a yes-or-no word that may be missing. */
export function readFlag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw wrong(name, value, 'true or false')
  return value
}

/** Reads an identifier that may be missing. */
export function optionalId(value: unknown, name: string): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : readId(value, name)
}

const DECIMAL_CHARS = 64

/**
 * Reads an amount such as a volume as canonical decimal text. A JSON number that prints with an
 * exponent is absent: it is the noise of somebody's floating point sum, and native keeps it.
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
