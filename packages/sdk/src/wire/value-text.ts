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
function writeSix(bytes: Uint8Array, at: number, value: number): void {
  const high = (value / 10000) | 0
  const rest = value - high * 10000
  const middle = (rest / 100) | 0
  writePair(bytes, at, high)
  writePair(bytes, at + 2, middle)
  writePair(bytes, at + 4, rest - middle * 100)
}

/** Writes two digits. */
function writePair(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = PAIRS[value * 2]!
  bytes[at + 1] = PAIRS[value * 2 + 1]!
}

const QUOTE = 34

/** The texts of prices of one tick size. */
export interface PriceTokens {
  /** Max bytes of a text. */
  readonly stride: number
  /** The length of each text that was written, by ticks; empty where none is kept. */
  readonly length: Uint8Array
  /** Writes the text of a price and returns where it ends. */
  write(out: Uint8Array, at: number, ticks: number): number
}

/** The text of every price, made on first use. Cents take 600 bytes, 0.0001 ticks 60 KB. */
export class KeptPrices implements PriceTokens {
  readonly decimals: number
  /** Quotes around a price: none, one, or two where a quoted cell doubles them. */
  readonly quotes: number
  /** Bytes by price: the text of `ticks` starts at `ticks * stride`. */
  readonly bytes: Uint8Array
  readonly stride: number
  /** The length of each text, 0 while it is not made. */
  readonly length: Uint8Array

  constructor(decimals: number, quotes: number) {
    this.decimals = decimals
    this.quotes = quotes
    this.stride = decimals + 2 + 2 * quotes
    this.bytes = new Uint8Array(POW10[decimals]! * this.stride)
    this.length = new Uint8Array(POW10[decimals]!)
  }

  /** Copies the text of a price and returns where it ends. */
  write(out: Uint8Array, at: number, ticks: number): number {
    const length = this.length[ticks]! || this.make(ticks)
    const { bytes } = this
    const start = ticks * this.stride
    for (let index = 0; index < length; index++) out[at + index] = bytes[start + index]!
    return at + length
  }

  private make(ticks: number): number {
    const start = ticks * this.stride
    let end = start
    for (let index = 0; index < this.quotes; index++) this.bytes[end++] = QUOTE
    end = writeScaled(this.bytes, end, ticks, this.decimals)
    for (let index = 0; index < this.quotes; index++) this.bytes[end++] = QUOTE
    this.length[ticks] = end - start
    return end - start
  }
}

/** Prices of very fine ticks, of which a table would take megabytes: none is kept. */
export class WrittenPrices implements PriceTokens {
  readonly stride: number
  readonly length: Uint8Array = new Uint8Array(0)
  private readonly decimals: number
  private readonly quotes: number

  constructor(decimals: number, quotes: number) {
    this.decimals = decimals
    this.quotes = quotes
    this.stride = decimals + 2 + 2 * quotes
  }

  write(out: Uint8Array, at: number, ticks: number): number {
    let end = at
    for (let index = 0; index < this.quotes; index++) out[end++] = QUOTE
    end = writeScaled(out, end, ticks, this.decimals)
    for (let index = 0; index < this.quotes; index++) out[end++] = QUOTE
    return end
  }
}

const DASH = 45
const COLON = 58
const LETTER_T = 84
const LETTER_Z = 90

/** The length of `2026-08-05T12:00:00.000038Z`. */
const ISO_LENGTH = 27
/** The offset of the microseconds in it. */
const MICROS_AT = 20

/** How the times of a page are written. */
export type TimeFormat = 'iso' | 'epoch_us'

/** Writes times; the date is computed once per day, not once per row. */
export class TimeText {
  private format: TimeFormat = 'iso'
  private quote = 0
  private day = -1
  private readonly date = new Uint8Array(10)

  /** Sets the format, and whether ISO times are quoted. */
  use(format: TimeFormat, quoted: boolean): void {
    this.format = format
    this.quote = quoted ? 1 : 0
  }

  /** The length of a time's text. */
  lengthOf(micros: number): number {
    return this.format === 'iso' ? ISO_LENGTH + 2 * this.quote : digitCount(micros)
  }

  /** Writes a time and returns where its text ends. */
  write(bytes: Uint8Array, at: number, micros: number): number {
    if (this.format === 'epoch_us') return writeInteger(bytes, at, micros)
    if (this.quote === 0) return this.writeIso(bytes, at, micros)
    bytes[at] = QUOTE
    const end = this.writeIso(bytes, at + 1, micros)
    bytes[end] = QUOTE
    return end + 1
  }

  /** Turns the text of one time into that of another one of the same length. */
  patch(bytes: Uint8Array, at: number, before: number, micros: number): void {
    const second = Math.floor(micros / 1e6)
    if (this.format === 'iso' && second === Math.floor(before / 1e6)) {
      writeSix(bytes, at + this.quote + MICROS_AT, micros - second * 1e6)
    } else this.write(bytes, at, micros)
  }

  private writeIso(bytes: Uint8Array, at: number, micros: number): number {
    const second = Math.floor(micros / 1e6)
    const day = Math.floor(second / 86_400)
    if (day !== this.day) this.turnTo(day)
    const { date } = this
    for (let index = 0; index < 10; index++) bytes[at + index] = date[index]!
    const seconds = second - day * 86_400
    const minutes = (seconds / 60) | 0
    const hours = (minutes / 60) | 0
    bytes[at + 10] = LETTER_T
    writePair(bytes, at + 11, hours)
    bytes[at + 13] = COLON
    writePair(bytes, at + 14, minutes - hours * 60)
    bytes[at + 16] = COLON
    writePair(bytes, at + 17, seconds - minutes * 60)
    bytes[at + 19] = POINT
    writeSix(bytes, at + MICROS_AT, micros - second * 1e6)
    bytes[at + 26] = LETTER_Z
    return at + ISO_LENGTH
  }

  private turnTo(day: number): void {
    const date = new Date(day * 86_400_000)
    const year = date.getUTCFullYear()
    writePair(this.date, 0, (year / 100) | 0)
    writePair(this.date, 2, year % 100)
    this.date[4] = DASH
    writePair(this.date, 5, date.getUTCMonth() + 1)
    this.date[7] = DASH
    writePair(this.date, 8, date.getUTCDate())
    this.day = day
  }
}
