import {
  canonicalDecimal,
  decimalText,
  parsePrice,
  parseScaled,
  parseSize,
  POW10,
  printScaled,
  PriorbookError,
  VENUES,
  type Instrument,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { decimalOf, readId, show, type NativeObject } from '../capture/fields.ts'

/** Readers of fields whose form is venue B's own; the general ones are in `../capture/fields.ts`. */

const { priceDecimals, sizeDecimals } = VENUES.venueb

/** One dollar in ticks: a no price p is the yes price `ONE_DOLLAR` − p. */
export const ONE_DOLLAR = POW10[priceDecimals]!

// A feed repeats the same tickers: each is parsed once and shares one value, by which the store finds its
// stream. All open markets of the venue fit; a venue that invents tickers cannot fill the memory.
const MAX_INSTRUMENTS = 65_536
const instruments = new BoundedMap<string, Instrument>(MAX_INSTRUMENTS)

/** Returns the instrument of a market ticker: venue B has one order book per market. */
export function readInstrument(ticker: unknown): Instrument {
  if (typeof ticker === 'string') {
    const known = instruments.get(ticker)
    if (known !== undefined) return known
  }
  const key = readId(ticker, 'market_ticker')
  const instrument: Instrument = { venue: 'venueb', market: key, key }
  instruments.set(key, instrument)
  return instrument
}

/** Reads a price in dollars (`"0.4800"`) as ticks. */
export function readDollars(value: unknown, name: string): PriceTicks {
  return parsePrice(decimalOf(value, name), priceDecimals)
}

/**
 * Reads a price of the old form, whole cents (`48`), as ticks. Only whole JSON numbers are accepted:
 * `"0.48"` here would be dollars in the wrong field, and would be read as half a cent.
 */
export function readCents(value: unknown, name: string): PriceTicks {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new PriorbookError('invalid_decimal', `${name} is ${show(value)}, not whole cents`)
  }
  return parsePrice(value, priceDecimals - 2)
}

/** Reads a number of contracts (`"25.00"`, in the old form `25`), signed where it is a change. */
export function readContracts(value: unknown, name: string): SizeUnits {
  return parseSize(decimalOf(value, name), sizeDecimals)
}

/** The outcomes of every market of venue B, which has no outcome tokens. */
export const OUTCOMES = [
  { label: 'Yes', index: 0 },
  { label: 'No', index: 1 },
] as const

/** Returns true for a valid sid or seq. */
export function isCounter(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Returns a list of strings, or undefined for anything else. */
export function textsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const texts = value.filter((one): one is string => typeof one === 'string')
  return texts.length === value.length ? texts : undefined
}

/** Reads a field by its name, or by the underscored name that the demo exchange used in 2024. */
export function field(object: NativeObject, name: string): unknown {
  return object[name] ?? object[`_${name}`]
}

/** Reads an amount as canonical decimal text; undefined where the field is missing or empty. */
export function decimal(object: NativeObject, name: string): string | undefined {
  const value = field(object, name)
  if (value === undefined || value === null || value === '') return undefined
  const text = decimalText(decimalOf(value, name))
  if (text.length > MAX_DECIMAL_CHARS) {
    throw new PriorbookError('unrepresentable', `${name} has ${text.length} characters`)
  }
  return canonicalDecimal(text)
}

/** Payouts of yes and no: a contract pays 1 dollar in total, and yes gets the settlement value. */
export function payouts(value: string): readonly string[] | undefined {
  const one = 10 ** PAYOUT_DECIMALS
  const yes = parseScaled(value, PAYOUT_DECIMALS)
  if (yes < 0 || yes > one) return undefined
  return [printScaled(yes, PAYOUT_DECIMALS), printScaled(one - yes, PAYOUT_DECIMALS)]
}

// Longer than any decimal text a venue sends; canonicalDecimal's patterns are slow on megabytes.
const MAX_DECIMAL_CHARS = 64
const PAYOUT_DECIMALS = 8
