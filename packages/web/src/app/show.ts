import { padDecimal, printDecimal, printPrice, printTicks, toCents } from '../model/decimal.ts'
import { MINUTE, printExact } from '../model/time.ts'
import { remembered } from './remembered.ts'

/** How prices are written: as a probability between 0 and 1, or in cents. */
export const prices = remembered('priorbook.prices', ['probability', 'cents'])

/** The clock by which times are written. */
export const zone = remembered('priorbook.zone', ['utc', 'local'])

/** A price in the visitor's unit, with every digit: `0.485` or `48.5¢`; `–` where there is none. */
export function showPrice(value: Parameters<typeof printPrice>[0]): string {
  if (prices.value === 'probability') return printPrice(value)
  const text = printDecimal(value)
  return text === '–' ? text : `${toCents(text)}¢`
}

/** A price of a column, in the visitor's unit but without its sign; `places` are those of a probability. */
export function showTicks(ticks: number, decimals: number, places: number): string {
  const shift = prices.value === 'cents' ? 2 : 0
  return padDecimal(printTicks(ticks, decimals - shift), Math.max(0, places - shift))
}

/** A price of a ladder whose prices have up to `places` decimals, in the visitor's unit but without its sign. */
export function showLevel(price: string, places: number): string {
  return prices.value === 'cents'
    ? padDecimal(toCents(price), Math.max(0, places - 2))
    : padDecimal(price, places)
}

/** A price of an axis, which is round: cents or two decimals, and more where they are closer. */
export function showAxis(value: number, places: number): string {
  return prices.value === 'cents'
    ? (value * 100).toFixed(Math.max(0, places - 2))
    : value.toFixed(places)
}

/** The unit of prices, for legends: of a market, such as `USD per contract`. */
export function priceUnit(unit = 'price'): string {
  return prices.value === 'cents' ? unit.replace(/^\S+/, '¢') : unit
}

/** `2026-08-11 01:15:15.904000` by the visitor's clock. */
export function showExact(time: number): string {
  return printExact(time + offsetOf(time))
}

/** `2026-08-11 01:15:15`. */
export function showSeconds(time: number): string {
  return showExact(time).slice(0, 19)
}

/** `01:15:15.904`. */
export function showClock(time: number): string {
  return showExact(time).slice(11, 23)
}

/** The name of the visitor's clock at a time: `UTC`, `UTC+2` or `UTC−3:30`. */
export function zoneName(time: number): string {
  const minutes = offsetOf(time) / MINUTE
  if (minutes === 0) return 'UTC'
  const size = Math.abs(minutes)
  const rest = size % 60 === 0 ? '' : `:${String(size % 60).padStart(2, '0')}`
  return `UTC${minutes < 0 ? '−' : '+'}${Math.floor(size / 60)}${rest}`
}

/** What the visitor's clock is ahead of UTC, in microseconds. */
export function offsetOf(time: number): number {
  if (zone.value === 'utc') return 0
  return -new Date(time / 1000).getTimezoneOffset() * MINUTE
}
