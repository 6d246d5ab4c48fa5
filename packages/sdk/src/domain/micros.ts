import { PriorbookError, showValue } from './errors.ts'

declare const microsBrand: unique symbol

/** A time in whole microseconds since the UTC epoch; exact in a double until the year 2255. */
export type Micros = number & { readonly [microsBrand]: true }

/** Checks a number of microseconds: throws for fractions and times before 1970 or after 2255. */
export function toMicros(value: number): Micros {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new PriorbookError('invalid_time', `${value} is not a time in whole microseconds`)
  }
  return value as Micros
}

/** Converts whole milliseconds, the resolution of most venue clocks. */
export function fromMillis(value: number): Micros {
  if (!Number.isInteger(value)) {
    throw new PriorbookError('invalid_time', `${value} is not a time in whole milliseconds`)
  }
  return toMicros(value * 1000)
}

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,12}))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Parses an RFC 3339 time; digits below a microsecond are dropped (the journal keeps the text). */
export function parseMicros(text: unknown): Micros {
  const match = typeof text === 'string' ? RFC3339.exec(text) : null
  if (match === null) {
    throw new PriorbookError(
      'invalid_time',
      `${showValue(text)} is not a time like 2026-08-05T12:00:00Z`,
    )
  }
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match
  const seconds = secondsOf(`${year}-${month}-${day}T${hour}:${minute}:${second}`, showValue(text))
  const offset = /^[Zz]$/.test(zone)
    ? 0
    : (zone.startsWith('-') ? -60 : 60) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4)))
  return toMicros((seconds - offset) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0')))
}

/** Prints a time as ISO 8601 with six decimals and Z, the only format that Priorbook serves. */
export function printMicros(time: Micros): string {
  const second = Math.floor(time / 1_000_000)
  if (second !== printedSecond) {
    printedText = printSecond(second)
    printedSecond = second
  }
  return `${printedText}${String(time - second * 1_000_000).padStart(6, '0')}Z`
}

// Consecutive rows share their second and pages their days, so both are cached.
let printedSecond = -1
let printedText = ''
const days = new Map<number, string>()
const MOST_DAYS = 64

// Such as `2026-08-05T12:00:00.`.
function printSecond(second: number): string {
  const day = Math.floor(second / 86_400)
  let date = days.get(day)
  if (date === undefined) {
    date = new Date(day * 86_400_000).toISOString().slice(0, -'00:00:00.000Z'.length)
    if (days.size >= MOST_DAYS) days.clear()
    days.set(day, date)
  }
  const seconds = second - day * 86_400
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  return `${date}${pair(hours)}:${pair(minutes - hours * 60)}:${pair(seconds - minutes * 60)}.`
}

function pair(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

// Consecutive messages share their second, so it is parsed once and cached.
let lastText = ''
let lastSeconds = 0

function secondsOf(text: string, shown: string): number {
  if (text === lastText) return lastSeconds
  const millis = Date.parse(`${text}Z`)
  // Date.parse turns February 30 into March 1, so a time must print as it was parsed.
  if (Number.isNaN(millis) || new Date(millis).toISOString().slice(0, 19) !== text) {
    throw new PriorbookError('invalid_time', `${shown} is not a time of the calendar`)
  }
  lastText = text
  lastSeconds = millis / 1000
  return lastSeconds
}

/** A UTC day in microseconds. */
export const DAY_MICROS = 86_400_000_000

/** The start of the UTC day of a time, in microseconds. */
export function startOfDay(time: number): number {
  return Math.floor(time / DAY_MICROS) * DAY_MICROS
}
