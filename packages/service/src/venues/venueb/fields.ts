import {
  parsePrice,
  parseSize,
  POW10,
  PriorbookError,
  VENUES,
  type Instrument,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { decimalOf, readId, show } from '../capture/fields.ts'

/** Readers of fields whose form is venue B's own; the general ones are in `../capture/fields.ts`. */

const { priceDecimals, sizeDecimals } = VENUES.venueb

/** One dollar in ticks: a no price p is the yes price `ONE_DOLLAR` − p. */
export const ONE_DOLLAR = POW10[priceDecimals]!

// A dense feed names the same few tickers over and over: each is checked once and shares one value.
// Bounded, because a venue that invents tickers must not fill the memory.
const INSTRUMENTS_KEPT = 4096
const instruments = new Map<string, Instrument>()

/** The instrument of a market ticker: venue B has one ladder stream per market. */
export function readInstrument(ticker: unknown): Instrument {
  if (typeof ticker === 'string') {
    const known = instruments.get(ticker)
    if (known !== undefined) return known
  }
  const key = readId(ticker, 'market_ticker')
  const instrument: Instrument = { venue: 'venueb', market: key, key }
  if (instruments.size >= INSTRUMENTS_KEPT) instruments.clear()
  instruments.set(key, instrument)
  return instrument
}

/** Reads a price in dollars (`"0.4800"`) as ticks. */
export function readDollars(value: unknown, name: string): PriceTicks {
  return parsePrice(decimalOf(value, name), priceDecimals)
}

/**
 * Reads a price of the old form, whole cents (`48`), as ticks.
 * Only whole JSON numbers: `"0.48"` here would be dollars by mistake, and read as half a cent.
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
