import { POW10 } from '../domain/index.ts'

const ZERO = 48
const POINT = 46

// '00' to '99' as bytes: two digits per look-up.
const PAIRS = Uint8Array.from({ length: 200 }, (_, index) => {
  const pair = index >> 1
  return ZERO + ((index & 1) === 0 ? Math.floor(pair / 10) : pair % 10)
})

/** The number of digits of a whole number from 0 to 2^53 − 1. */
export function digitCount(value: number): number {
  let count = 1
  while (count < 16 && value >= POW10[count]!) count++
  return count
}

/** Writes a whole number from 0 to 2^53 − 1 and returns where its text ends. */
export function writeInteger(bytes: Uint8Array, at: number, value: number): number {
  if (value < 10) {
    bytes[at] = ZERO + value
    return at + 1
  }
  const end = at + digitCount(value)
  writeDigits(bytes, at, end, value)
  return end
}

/** Writes a whole number into [at, end), filled with zeros from the left. */
export function writeDigits(bytes: Uint8Array, at: number, end: number, value: number): void {
  let place = end
  let rest = value
  // Beyond 31 bits a division is one of doubles: split once, then count in integers.
  if (rest > 0x7fffffff) {
    const high = Math.floor(rest / 1e8)
    let low = (rest - high * 1e8) | 0
    for (const stop = Math.max(at, end - 8); place > stop;) {
      const next = (low / 10) | 0
      bytes[--place] = ZERO + low - next * 10
      low = next
    }
    rest = high
  }
  let left = rest | 0
  while (place > at) {
    const next = (left / 10) | 0
    bytes[--place] = ZERO + left - next * 10
    left = next
  }
}

/**
 * Writes units of 10^-decimals (at most 9) as a canonical decimal: no trailing zeros, a digit before
 * the point. Returns where the text ends.
 */
export function writeScaled(
  bytes: Uint8Array,
  at: number,
  units: number,
  decimals: number,
): number {
  const one = POW10[decimals]!
  const whole = Math.floor(units / one)
  let rest = (units - whole * one) | 0
  let end = writeInteger(bytes, at, whole)
  if (rest === 0) return end
  let places = decimals
  for (let next = (rest / 10) | 0; rest === next * 10; next = (rest / 10) | 0) {
    rest = next
    places--
  }
  bytes[end++] = POINT
  writeDigits(bytes, end, end + places, rest)
  return end + places
}

/** Writes six digits, the microseconds of a second. */
export function writeSix(bytes: Uint8Array, at: number, value: number): void {
  const high = (value / 10000) | 0
  const rest = value - high * 10000
  const middle = (rest / 100) | 0
  writePair(bytes, at, high)
  writePair(bytes, at + 2, middle)
  writePair(bytes, at + 4, rest - middle * 100)
}

/** Writes two digits. */
export function writePair(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = PAIRS[value * 2]!
  bytes[at + 1] = PAIRS[value * 2 + 1]!
}
