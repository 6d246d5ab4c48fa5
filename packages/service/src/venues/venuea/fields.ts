import {
  canonicalDecimal,
  decimalText,
  parseNativeId,
  parseScaled,
  printScaled,
  PriorbookError,
  type Instrument,
  type Micros,
} from '@priorbook/sdk/domain'
import { decimalOf, isNoTime, readId, readTime, readUnixTime, show } from '../capture/fields.ts'

/** Readers of fields whose form is venue A's own; the general ones are in `../capture/fields.ts`. */

// Frames of a few hundred markets come 5–8 times a second: each market is checked once and shares
// one value. Bounded, because a venue that invents ids must not fill the memory.
const INSTRUMENTS_KEPT = 4096
const instruments = new Map<string, Instrument>()

/** The instrument of a market's book: venue A has one ladder stream per market, that of outcome 0. */
export function bookInstrument(marketId: string): Instrument {
  const known = instruments.get(marketId)
  if (known !== undefined) return known
  const instrument: Instrument = { venue: 'venuea', market: marketId, key: marketId }
  if (instruments.size >= INSTRUMENTS_KEPT) instruments.clear()
  instruments.set(marketId, instrument)
  return instrument
}

/** Takes an identifier that the venue writes as a whole number or as text. */
export function readVenueId(value: unknown, name: string): string {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return parseNativeId(String(value))
    throw new PriorbookError('invalid_id', `${name} is ${show(value)}, not an identifier`)
  }
  return readId(value, name)
}

/** Takes an identifier that may be missing. */
export function optionalVenueId(value: unknown, name: string): string | undefined {
  return value === undefined || value === null || value === ''
    ? undefined
    : readVenueId(value, name)
}

/** Takes a time in milliseconds (Binance) or as RFC 3339 text (Predict.fun) that may be missing. */
export function optionalTime(value: unknown, name: string): Micros | undefined {
  if (isNoTime(value) || value === 0) return undefined
  return typeof value === 'string' ? readTime(value, name) : readUnixTime(value, name, 1000)
}

// Longer decimal text than any venue sends; the decimal readers are not made for megabytes.
const DECIMAL_CHARS = 64

/** Takes decimal text of any precision (volume, liquidity, a reference price) that may be missing. */
export function optionalDecimal(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return canonicalDecimal(shortDecimal(value, name))
}

/** The finest step of a sample that the tape keeps, 10^−8. */
const SAMPLE_DECIMALS = 8

/** Takes the value of a metric that may be missing: canonical text, exact to 10^−8. */
export function optionalMetric(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return printScaled(parseScaled(shortDecimal(value, name), SAMPLE_DECIMALS), SAMPLE_DECIMALS)
}

/** Takes true or false that may be missing. */
export function optionalFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function shortDecimal(value: unknown, name: string): string {
  const text = decimalText(decimalOf(value, name))
  if (text.length > DECIMAL_CHARS) {
    throw new PriorbookError('unrepresentable', `${name} has ${text.length} characters`)
  }
  return text
}
