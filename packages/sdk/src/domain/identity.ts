import { PriorbookError, showValue } from './errors.ts'
import { isVenueId, type VenueId } from './venues/index.ts'

/**
 * One recorded ladder stream: of A a market id, of B a market ticker, of C an outcome token.
 * `key` is the venue's own identifier and `market` the market it belongs to.
 */
export type Instrument = {
  readonly venue: VenueId
  readonly market: string
  readonly key: string
}

/** The identity of one row: the same on REST, stream, replay, export, and after a rebuild. */
export type RowId = {
  readonly venue: VenueId
  readonly key: string
  readonly sequence: number
}

// Tickers contain dots and dashes, and old ones a slash (GTEMP-24-1.02/23).
const NATIVE_ID = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/

/** Parses a venue's identifier (market id, ticker, token, condition id), or throws. */
export function parseNativeId(value: unknown): string {
  if (typeof value !== 'string' || !NATIVE_ID.test(value)) {
    throw new PriorbookError('invalid_id', `${showValue(value)} is not a venue identifier`)
  }
  return value
}

/** The name of an instrument across venues, `venue:key`. */
export function instrumentName(instrument: { venue: VenueId; key: string }): string {
  return `${instrument.venue}:${instrument.key}`
}

/** Prints a row id as `venue:instrument:sequence`. */
export function printRowId(id: RowId): string {
  return `${id.venue}:${id.key}:${id.sequence}`
}

/** Parses a row id printed by `printRowId`. */
export function parseRowId(text: string): RowId {
  const [venue, key, digits, ...rest] = text.split(':')
  const sequence = /^[1-9]\d{0,15}$/.test(digits ?? '') ? Number(digits) : NaN
  if (!isVenueId(venue) || rest.length > 0 || !Number.isSafeInteger(sequence)) {
    throw new PriorbookError('invalid_id', `${text.slice(0, 80)} is not a row id`)
  }
  return { venue, key: parseNativeId(key), sequence }
}

/** Where data comes from. Emulated data never shares a folder with live data. The order is part of the formats. */
export const ORIGINS = ['live', 'emulator', 'import'] as const

/** The origin of a journal segment or chunk. */
export type Origin = (typeof ORIGINS)[number]
