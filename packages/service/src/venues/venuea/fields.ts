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

// Frames of a few hundred markets come 5–8 times a second: each market shares one value. Bounded, so
// that a venue that invents ids cannot fill the memory.
const MAX_INSTRUMENTS = 4096
const instruments = new Map<string, Instrument>()

/** The instrument of a market's book: venue A has one order book per market, that of outcome 0. */
export function bookInstrument(marketId: string): Instrument {
  const known = instruments.get(marketId)
  if (known !== undefined) return known
  const instrument: Instrument = { venue: 'venuea', market: marketId, key: marketId }
  if (instruments.size >= MAX_INSTRUMENTS) instruments.delete(instruments.keys().next().value!)
  instruments.set(marketId, instrument)
  return instrument
}

/** Reads an identifier that the venue writes as a whole number or as text. */
export function readVenueId(value: unknown, name: string): string {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return parseNativeId(String(value))
    throw new PriorbookError('invalid_id', `${name} is ${show(value)}, not an identifier`)
  }
  return readId(value, name)
}

/** Reads an identifier that may be missing. */
export function optionalVenueId(value: unknown, name: string): string | undefined {
  return value === undefined || value === null || value === ''
    ? undefined
    : readVenueId(value, name)
}

/** Reads a time in milliseconds (Binance) or as RFC 3339 text (Predict.fun) that may be missing. */
export function optionalTime(value: unknown, name: string): Micros | undefined {
  if (isNoTime(value) || value === 0) return undefined
  return typeof value === 'string' ? readTime(value, name) : readUnixTime(value, name, 1000)
}

// Longer than any decimal text a venue sends; the decimal readers are slow on megabytes.
const MAX_DECIMAL_CHARS = 64

/** Reads decimal text of any precision (volume, liquidity, a reference price) that may be missing. */
export function optionalDecimal(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return canonicalDecimal(shortDecimal(value, name))
}

/** Max decimals of a sample on the tape. */
const SAMPLE_DECIMALS = 8

/** Reads the value of a metric that may be missing: canonical text, exact to 10^−8. */
export function optionalMetric(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return printScaled(parseScaled(shortDecimal(value, name), SAMPLE_DECIMALS), SAMPLE_DECIMALS)
}

/** Reads true or false that may be missing. */
export function optionalFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function shortDecimal(value: unknown, name: string): string {
  const text = decimalText(decimalOf(value, name))
  if (text.length > MAX_DECIMAL_CHARS) {
    throw new PriorbookError('unrepresentable', `${name} has ${text.length} characters`)
  }
  return text
}
