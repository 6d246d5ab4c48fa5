import { PriorbookError, showValue } from './errors.ts'

declare const ticksBrand: unique symbol
declare const unitsBrand: unique symbol

/** A price in ticks of 10^−decimals of its venue or ladder. */
export type PriceTicks = number & { readonly [ticksBrand]: true }

/** A size in units of 10^−decimals of its venue. */
export type SizeUnits = number & { readonly [unitsBrand]: true }

/** Powers of ten that are exact in a double. */
export const POW10: readonly number[] = Array.from({ length: 16 }, (_, index) => 10 ** index)

const ZERO = 48
const POINT = 46
const MINUS = 45

/**
 * Reads decimal text as an exact whole number of 10^-decimals.
 * Accepts what venues send (`0.0100`, `.48`, `-54.00`, `5`, `1e-7`), refuses everything else, and
 * refuses a value that is finer than the scale or beyond 2^53 − 1 instead of rounding it.
 */
export function parseScaled(text: string, decimals: number): number {
  let units = 0
  let digits = 0
  let fraction = -1
  let fits = true
  let index = text.charCodeAt(0) === MINUS ? 1 : 0
  const negative = index === 1
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === POINT && fraction < 0) {
      fraction = 0
      continue
    }
    const digit = code - ZERO
    if (digit < 0 || digit > 9) return parseExponent(text, decimals)
    digits++
    if (fraction >= decimals) {
      if (digit !== 0) fits = false
      continue
    }
    units = units * 10 + digit
    if (fraction >= 0) fraction++
  }
  if (digits === 0 || text.endsWith('.')) throw notDecimal(text)
  if (!fits) throw tooFine(text, decimals)
  const missing = decimals - Math.max(fraction, 0)
  if (missing > 0) units *= POW10[missing]!
  if (units > Number.MAX_SAFE_INTEGER) throw tooLarge(text)
  return negative && units !== 0 ? -units : units
}

/** Parses a price into ticks; the row checks verify its bounds. */
export function parsePrice(value: unknown, decimals: number): PriceTicks {
  return parseScaled(decimalText(value), decimals) as PriceTicks
}

/** Parses a size or a signed size change into units. */
export function parseSize(value: unknown, decimals: number): SizeUnits {
  return parseScaled(decimalText(value), decimals) as SizeUnits
}

/** Prints a scaled whole number in canonical form: no trailing zeros, no sign on zero, a digit before the point. */
export function printScaled(units: number, decimals: number): string {
  if (decimals === 0) return String(units === 0 ? 0 : units)
  const negative = units < 0
  const absolute = negative ? -units : units
  const one = POW10[decimals]!
  const whole = Math.floor(absolute / one)
  let rest = absolute - whole * one
  if (rest === 0) return `${negative ? '-' : ''}${whole}`
  let places = decimals
  while (rest % 10 === 0) {
    rest /= 10
    places--
  }
  return `${negative ? '-' : ''}${whole}.${String(rest).padStart(places, '0')}`
}

/** The canonical form of decimal text of any length (`0.0100` → `0.01`, `.50` → `0.5`, `-0` → `0`). */
export function canonicalDecimal(text: string): string {
  const negative = text.startsWith('-')
  let start = negative ? 1 : 0
  const point = text.indexOf('.', start)
  let end = text.length
  for (let index = start; index < end; index++) {
    const digit = text.charCodeAt(index) - ZERO
    if ((digit < 0 || digit > 9) && index !== point) throw notDecimal(text)
  }
  if (start === end || point === end - 1) throw notDecimal(text)
  const wholeEnd = point < 0 ? end : point
  while (start < wholeEnd - 1 && text.charCodeAt(start) === ZERO) start++
  if (point >= 0) while (end > point + 1 && text.charCodeAt(end - 1) === ZERO) end--
  const whole = text.slice(start, wholeEnd) || '0'
  const body = point < 0 || end === point + 1 ? whole : `${whole}${text.slice(point, end)}`
  return negative && body !== '0' ? `-${body}` : body
}

/** The text of a venue's number, which may be a string or a JSON number. */
export function decimalText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  throw notDecimal(value)
}

// JSON numbers below 1e-6 and from 1e21 on print with an exponent, which is expanded here.
function parseExponent(text: string, decimals: number): number {
  const match = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,3})$/.exec(text)
  if (match === null) throw notDecimal(text)
  const [, sign, whole, fraction = '', power] = match
  const exponent = Number(power)
  if (exponent > 15) throw tooLarge(text)
  if (exponent < -30) throw tooFine(text, decimals)
  const digits = `${whole}${fraction}`
  const point = whole!.length + exponent
  const plain =
    point <= 0
      ? `0.${'0'.repeat(-point)}${digits}`
      : `${digits.slice(0, point).padEnd(point, '0')}.${digits.slice(point)}0`
  return parseScaled(`${sign}${plain}`, decimals)
}

function notDecimal(value: unknown): PriorbookError {
  return new PriorbookError('invalid_decimal', `${showValue(value)} is not a decimal number`)
}

function tooFine(text: string, decimals: number): PriorbookError {
  return new PriorbookError(
    'unrepresentable',
    `${text.slice(0, 60)} has more than ${decimals} decimals`,
  )
}

function tooLarge(text: string): PriorbookError {
  return new PriorbookError('unrepresentable', `${text.slice(0, 60)} is beyond 2^53 − 1 units`)
}
