import {
  canonicalDecimal,
  POW10,
  printMicros,
  PriorbookError,
  printScaled,
  type Micros,
} from '../domain/index.ts'
import { ABSENT } from '../tape/index.ts'
import type { TimeFormat } from './value-text.ts'

/** A number with more digits than a double holds, as `JSON.rawJSON` and `parseExactJson` have it. */
export type RawJson = { readonly rawJSON: string }

/** A decimal on the wire: a number, exact to its last digit, or text with `number_format=string`. */
export type DecimalJson = number | string

/** A time on the wire: ISO 8601 with six decimals and Z, or whole microseconds. */
export type TimeJson = string | number

/** How the values of an answer are written. */
export type ValueStyle = {
  readonly numberFormat?: 'number' | 'string' | undefined
  readonly timeFormat?: TimeFormat | undefined
}

/**
 * A decimal in canonical form; absent is null. Text that is not a plain decimal (a venue's `1e21`)
 * is served as it is, in quotes: nothing is rounded and nothing is lost.
 */
export function decimalJson(text: string | undefined, style: ValueStyle): DecimalJson | null {
  if (text === undefined) return null
  const canonical = canonicalOrAbsent(text)
  if (canonical === undefined) return text
  if (style.numberFormat === 'string') return canonical
  const value = Number(canonical)
  return String(value) === canonical ? value : rawNumber(canonical)
}

// Fifteen digits are exact in a double and are written as they are; below 10^−6 numbers have an exponent.
const MAX_EXACT = 1e15
const MIN_PLAIN = 1e6

/** A decimal of whole units of 10^−decimals: what `decimalJson` gives for its text, mostly without making the text. */
export function scaledJson(units: number, decimals: number, style: ValueStyle): DecimalJson {
  const size = Math.abs(units)
  const one = POW10[decimals]!
  const isPlain = size < MAX_EXACT && (units === 0 || size * MIN_PLAIN >= one)
  if (isPlain && style.numberFormat !== 'string') return units / one
  return decimalJson(printScaled(units, decimals), style)!
}

/** A time; absent is null. */
export function timeJson(time: number | undefined, style: ValueStyle): TimeJson | null {
  if (time === undefined) return null
  return style.timeFormat === 'epoch_us' ? time : printMicros(time as Micros)
}

/** The text of a value in a cell of CSV: null is empty, objects and lists are JSON. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return quoteCell(value)
  return quoteCell(JSON.stringify(value))
}

/** The cell of a column of rows: flags are joined by `|`, as in Arrow and Parquet. */
export function rowCell(name: string, value: unknown): string {
  return cellText(name === 'flags' && Array.isArray(value) ? value.join('|') : value)
}

/** Text as a cell of CSV (RFC 4180): quoted where it needs to be. */
export function quoteCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function canonicalOrAbsent(text: string): string | undefined {
  try {
    return canonicalDecimal(text)
  } catch (error) {
    if (error instanceof PriorbookError) return undefined
    throw error
  }
}

// Numbers that a double cannot hold are written as raw JSON; a runtime without `JSON.rawJSON` (before
// Node 21) gets text instead of a wrong number.
const { rawJSON } = JSON as typeof JSON & { rawJSON?: (text: string) => RawJson }

function rawNumber(canonical: string): DecimalJson {
  // What it stringifies to is a number, so rows may hold it as one.
  return rawJSON === undefined ? canonical : (rawJSON(canonical) as unknown as number)
}

// A channel of the tape is the connection's number (0 for imported rows) × this, plus the venue's own
// number of the subscription on it (0 where the venue has none).
const SUBSCRIPTIONS = 65_536

/** The channel of a connection and a subscription on it. */
export function toChannel(connection: number, subscription: number): number {
  return connection * SUBSCRIPTIONS + subscription
}

/** The venue's own number of the subscription in a channel of the tape; 0 where it has none. */
export function subscriptionOf(channel: number): number {
  return channel === ABSENT ? 0 : channel % SUBSCRIPTIONS
}

/** Our number of the connection in a channel of the tape; 0 where it is not known. */
export function connectionOf(channel: number): number {
  return channel === ABSENT ? 0 : Math.floor(channel / SUBSCRIPTIONS)
}
