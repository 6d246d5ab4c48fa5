import { parseMicros, printMicros, type Micros } from '@priorbook/sdk/domain'
import type { TimeJson } from '@priorbook/sdk/wire'
import { toRange, type Range } from './range.ts'

/** One second in microseconds, the unit of every time in the explorer. */
export const SECOND = 1_000_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** A time of the API in microseconds, from either of its formats. */
export function microsOf(time: TimeJson): number {
  return typeof time === 'number' ? time : parseMicros(time)
}

/** The same where the time may be absent. */
export function microsOrAbsent(time: TimeJson | null | undefined): number | undefined {
  return time === null || time === undefined ? undefined : microsOf(time)
}

/** `2026-08-11 01:15:15.904000`: date and time in microseconds. */
export function printExact(time: number): string {
  return printMicros(Math.round(time) as Micros)
    .replace('T', ' ')
    .replace('Z', '')
}

/** `2026-08-11 01:15:15`. */
export function printSeconds(time: number): string {
  return printExact(time).slice(0, 19)
}

/** `2026-08-11`. */
export function printDate(time: number): string {
  return printExact(time).slice(0, 10)
}

/** A time for addresses, which the API also accepts: `2026-08-11T01:15:15.904000Z`. */
export function printLinkTime(time: number): string {
  return printMicros(Math.round(time) as Micros)
}

/** Parses the time of a link; undefined where it is not valid. */
export function parseLinkTime(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  if (/^\d{16}$/.test(text)) return Number(text)
  if (/^\d{13}$/.test(text)) return Number(text) * 1000
  try {
    return parseMicros(text)
  } catch {
    return undefined
  }
}

/**
 * The instant of a time by a clock that `offsetOf` says to be ahead of UTC at an instant. A time that the clock shows
 * twice is the later one.
 */
export function instantOf(clock: number, offsetOf: (time: number) => number): number {
  // The first guess may lie on the other side of a change to or from summer time.
  return clock - offsetOf(clock - offsetOf(clock))
}

/** The span of an address, `from=…&to=…`; empty for everything. */
export function printLinkRange(range: Range | undefined): string {
  return range === undefined
    ? ''
    : `from=${printLinkTime(range.from)}&to=${printLinkTime(range.to)}`
}

/** Reads the span of an address; undefined unless both ends are there and in order. */
export function parseLinkRange(query: URLSearchParams): Range | undefined {
  return toRange(parseLinkTime(query.get('from')), parseLinkTime(query.get('to')))
}

/** A short duration: `446 µs`, `950 ms`, `12.4 s`, `3 min 20 s`, `5 h 3 min`, `2 d 4 h`. */
export function printSpan(micros: number): string {
  const span = Math.max(0, micros)
  if (span > 0 && span < 1000) return `${Math.ceil(span)} µs`
  if (span < SECOND) return `${Math.floor(span / 1000)} ms`
  if (span < MINUTE) return `${(Math.floor(span / 100_000) / 10).toFixed(1)} s`
  if (span < HOUR) return pair(span, MINUTE, 'min', SECOND, 's')
  if (span < DAY) return pair(span, HOUR, 'h', MINUTE, 'min')
  return pair(span, DAY, 'd', HOUR, 'h')
}

function pair(span: number, large: number, name: string, small: number, rest: string): string {
  const whole = Math.floor(span / large)
  const left = Math.floor((span % large) / small)
  return left === 0 ? `${whole} ${name}` : `${whole} ${name} ${left} ${rest}`
}
