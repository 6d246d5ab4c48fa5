import { parseMicros } from '../../domain/index.ts'

/** Columns that have the received time where none is named, the first one that is there. */
export const TIME_COLUMNS = [
  'received_time',
  'received_at',
  'received',
  'time',
  'timestamp',
] as const

// Digits of a time since 1970 between 2001 and 2286, and microseconds per unit.
const DIGITS: Readonly<Record<number, (value: bigint) => bigint>> = {
  10: (seconds) => seconds * 1_000_000n,
  13: (millis) => millis * 1000n,
  16: (micros) => micros,
  19: (nanos) => nanos / 1000n,
}

/**
 * Reads a time: ISO 8601 (UTC without a zone), or seconds, milliseconds, microseconds or nanoseconds since
 * 1970, which differ in their digits. Undefined where it is neither.
 */
export function parseDataTime(value: unknown): number | undefined {
  if (value instanceof Date) return value.getTime() * 1000
  const text = String(value)
  const [, whole, fraction] = /^(\d{10,19})(?:\.(\d+))?$/.exec(text) ?? []
  if (whole !== undefined) {
    const micros = DIGITS[whole.length]?.(BigInt(whole))
    if (micros === undefined) return undefined
    if (fraction === undefined) return Number(micros)
    // A fraction has a meaning for seconds and milliseconds alone.
    if (whole.length > 13) return undefined
    const decimals = whole.length === 10 ? 6 : 3
    return Number(micros) + Number(fraction.slice(0, decimals).padEnd(decimals, '0'))
  }
  const iso = text.replace(' ', 'T')
  try {
    return parseMicros(/([Zz]|[+-]\d\d:\d\d)$/.test(iso) ? iso : `${iso}Z`)
  } catch {
    return undefined
  }
}
