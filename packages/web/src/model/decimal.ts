import { printScaled } from '@priorbook/sdk/domain'
import type { DecimalJson, RawJson } from '@priorbook/sdk/wire'

/** The digits of a decimal; `–` where there is none. */
export function printDecimal(value: DecimalJson | RawJson | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'object' ? value.rawJSON : String(value)
}

/** Pads a decimal with zeros, so that a column lines up; no digit is changed. */
export function padDecimal(text: string, places: number): string {
  const point = text.indexOf('.')
  if (places === 0) return text
  if (point === -1) return `${text}.${'0'.repeat(places)}`
  return text.padEnd(point + 1 + places, '0')
}

/** A price with at least its cents: `0.5` is `0.50`, `0.485` stays. */
export function printPrice(value: DecimalJson | null | undefined): string {
  const text = printDecimal(value)
  return text === '–' ? text : padDecimal(text, 2)
}

/** A price in cents, by its digits: `0.485` is `48.5`, `0.5` is `50`. */
export function toCents(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d*)\.?(\d*)$/.exec(text) ?? []
  const digits = fraction.padEnd(2, '0')
  const cents = `${whole}${digits.slice(0, 2)}`.replace(/^0+(?=\d)/, '')
  const rest = digits.slice(2).replace(/0+$/, '')
  return `${sign}${cents}${rest === '' ? '' : `.${rest}`}`
}

/** The number of decimals without trailing zeros. */
export function placesIn(units: number, decimals: number): number {
  let places = decimals
  for (let rest = units; places > 0 && rest % 10 === 0; rest /= 10) places--
  return places
}

/** `1,234,567.25`: whole digits in groups of three. */
export function groupDigits(text: string): string {
  const [whole = '', fraction] = text.split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** A count with thousands separators. */
export function printCount(count: number): string {
  return groupDigits(String(count))
}

/** A large amount for a narrow column: `12.4k`, `3.1M`; below ten thousand unchanged. */
export function printShort(text: string): string {
  const value = Number(text)
  const size = Math.abs(value)
  if (!Number.isFinite(value) || size < 10_000) return groupDigits(text)
  // Bounds are of the rounded number: 999,950 is 1.0M, not 1000.0k.
  const [unit, name] =
    size < 999_950
      ? ([1e3, 'k'] as const)
      : size < 999_950_000
        ? ([1e6, 'M'] as const)
        : ([1e9, 'B'] as const)
  return `${(value / unit).toFixed(1)}${name}`
}

/** Bytes in a fitting unit. */
export function printBytes(bytes: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let index = 0
  // What one decimal would print as 1000.0 belongs to the next unit.
  while (value >= (index === 0 ? 1000 : 999.95) && index < names.length - 1) {
    value /= 1000
    index++
  }
  return `${index === 0 ? value : value.toFixed(1)} ${names[index]}`
}

/** Ticks as a decimal. */
export function printTicks(ticks: number, decimals: number): string {
  return printScaled(ticks, decimals)
}

/** The decimals that the labels of an axis need, so that none is rounded: 3 for steps of 0.025, at least 2. */
export function stepPlaces(step: number): number {
  let places = 2
  while (places < 6 && Math.abs(step * 10 ** places - Math.round(step * 10 ** places)) > 1e-6)
    places++
  return places
}

/** Decimals with as many places as the longest, so that their points are below each other. */
export function alignDecimals(texts: readonly string[]): readonly string[] {
  const places = mostPlaces(texts)
  return texts.map((text) => padDecimal(text, places))
}

/** The most decimal places of some decimals. */
export function mostPlaces(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => (text.split('.')[1] ?? '').length))
}
