// The parts of a message that vary: numbers, times and texts. Hot: archiving reads every byte of the journal once, so
// parsers return through the variables below instead of objects.

/** A number: `-12.50`, `007`. Its form says how many decimals and leading zeros it is printed with. */
export const NUMBER = 0
/** A time in UTC: `2026-08-11T01:46:31.822877Z`, as microseconds. Its form says how its fraction is printed. */
export const TIME = 1
/** Text up to the next quotation mark. */
export const TEXT = 2
/** Digits that are too many for a number. */
export const DIGITS = 3

/** What the last successful parse found. */
export const parsed = { value: 0, form: 0, end: 0 }

const MAX_DIGITS = 15
const MAX_INT = 0x7fffffff
const ZERO = 48
const NINE = 57
const MINUS = 45
const POINT = 46
const QUOTE = 34
const BACKSLASH = 92

/** A time whose fraction is printed without zeros at its end. */
const TRIMMED = 7
// Later times are not parsed, so that differences of times stay exact.
const MAX_YEAR = 2040

/** Parses a number; false where there is none, or none that its value and form give back. */
export function parseNumber(bytes: Uint8Array, from: number, to: number): boolean {
  let at = from
  const isNegative = bytes[at] === MINUS
  if (isNegative) at++
  const first = at
  let value = 0
  let byte = at < to ? bytes[at]! : 0
  while (byte >= ZERO && byte <= NINE) {
    value = value * 10 + (byte - ZERO)
    at++
    byte = at < to ? bytes[at]! : 0
  }
  const whole = at - first
  if (whole === 0 || whole > MAX_DIGITS) return false
  let decimals = 0
  if (byte === POINT && at + 1 < to) {
    let next = at + 1
    byte = bytes[next]!
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO)
      decimals++
      next++
      byte = next < to ? bytes[next]! : 0
    }
    if (decimals > 0) at = next
  }
  if (whole + decimals > MAX_DIGITS) return false
  if (isNegative && value === 0) return false
  const zeros = whole - (value === 0 ? 1 : Math.max(1, digitsOf(value) - decimals))
  parsed.value = isNegative ? -value : value
  parsed.form = decimals | (zeros << 4)
  parsed.end = at
  return true
}

function digitsOf(value: number): number {
  let digits = 1
  for (let power = 10; value >= power; power *= 10) digits++
  return digits
}

/** Prints a number at a place; returns where it ends. */
export function printNumber(into: Uint8Array, from: number, value: number, form: number): number {
  const decimals = form & 15
  let at = from
  let rest = value
  if (rest < 0) {
    into[at++] = MINUS
    rest = -rest
  }
  const digits = Math.max(digitsOf(rest), decimals + 1) + (form >> 4)
  const end = at + digits + (decimals > 0 ? 1 : 0)
  let place = end - 1
  // Digits from the lowest; a point is left free and printed at the end.
  let printed = 0
  for (; rest > MAX_INT && printed < digits; printed++) {
    if (printed === decimals && decimals > 0) place--
    const next = Math.floor(rest / 10)
    into[place--] = ZERO + (rest - next * 10)
    rest = next
  }
  // Below 32 bits the division is one of integers.
  let small = rest | 0
  for (; printed < digits; printed++) {
    if (printed === decimals && decimals > 0) place--
    const next = (small / 10) | 0
    into[place--] = ZERO + (small - next * 10)
    small = next
  }
  if (decimals > 0) into[end - decimals - 1] = POINT
  return end
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - ZERO
  const ones = bytes[at + 1]! - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

const DASH = 45
const COLON = 58
const T = 84
const Z = 90
const TIME_BYTES = 20
const DAY_MICROS = 86_400_000_000

/** Parses a time in UTC up to its `Z`. */
export function parseTime(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < TIME_BYTES) return false
  if (bytes[from + 4] !== DASH || bytes[from + 7] !== DASH || bytes[from + 10] !== T) return false
  if (bytes[from + 13] !== COLON || bytes[from + 16] !== COLON) return false
  const day = dayOf(bytes, from)
  const hours = twoDigits(bytes, from + 11)
  const minutes = twoDigits(bytes, from + 14)
  const seconds = twoDigits(bytes, from + 17)
  if (day < 0 || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false
  if (seconds < 0 || seconds > 59) return false
  let at = from + 19
  let micros = 0
  let digits = 0
  if (bytes[at] === POINT) {
    at++
    let byte = at < to ? bytes[at]! : 0
    while (byte >= ZERO && byte <= NINE) {
      micros = micros * 10 + (byte - ZERO)
      digits++
      at++
      byte = at < to ? bytes[at]! : 0
    }
    if (digits === 0 || digits > 6) return false
  }
  if (at >= to || bytes[at] !== Z) return false
  const isTrimmed = digits === 0 || bytes[at - 1] !== ZERO
  for (let index = digits; index < 6; index++) micros *= 10
  parsed.value = day * DAY_MICROS + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros
  parsed.form = isTrimmed ? TRIMMED : digits
  parsed.end = at + 1
  return true
}

// The day of the last time: consecutive messages are of the same day.
const lastDay = { year: -1, month: -1, date: -1, day: -1 }

function dayOf(bytes: Uint8Array, from: number): number {
  const century = twoDigits(bytes, from)
  const ofCentury = twoDigits(bytes, from + 2)
  const month = twoDigits(bytes, from + 5)
  const date = twoDigits(bytes, from + 8)
  const year = century * 100 + ofCentury
  if (year === lastDay.year && month === lastDay.month && date === lastDay.date) return lastDay.day
  if (century < 0 || ofCentury < 0 || year < 1970 || year > MAX_YEAR) return -1
  const millis = Date.UTC(year, month - 1, date)
  const found = new Date(millis)
  // A month of 13 or a 30th of February would be another day.
  if (found.getUTCMonth() !== month - 1 || found.getUTCDate() !== date) return -1
  lastDay.year = year
  lastDay.month = month
  lastDay.date = date
  lastDay.day = millis / 86_400_000
  return lastDay.day
}

const printedDay = { day: -1, bytes: new Uint8Array(10) }

/** Prints a time; returns where it ends. */
export function printTime(into: Uint8Array, from: number, value: number, form: number): number {
  const day = Math.floor(value / DAY_MICROS)
  if (day !== printedDay.day) {
    const text = new Date(day * 86_400_000).toISOString()
    for (let index = 0; index < 10; index++) printedDay.bytes[index] = text.charCodeAt(index)
    printedDay.day = day
  }
  for (let index = 0; index < 10; index++) into[from + index] = printedDay.bytes[index]!
  const ofDay = value - day * DAY_MICROS
  const seconds = (ofDay / 1_000_000) | 0
  let micros = (ofDay - seconds * 1_000_000) | 0
  const minutes = (seconds / 60) | 0
  const hours = (minutes / 60) | 0
  into[from + 10] = T
  printTwo(into, from + 11, hours)
  into[from + 13] = COLON
  printTwo(into, from + 14, minutes - hours * 60)
  into[from + 16] = COLON
  printTwo(into, from + 17, seconds - minutes * 60)
  let at = from + 19
  let digits = form
  if (form === TRIMMED) {
    digits = micros === 0 ? 0 : 6
    for (let rest = micros; digits > 0 && rest % 10 === 0; rest /= 10) digits--
  }
  if (digits > 0) {
    into[at++] = POINT
    for (let index = digits; index < 6; index++) micros = (micros / 10) | 0
    for (let place = at + digits - 1; place >= at; place--) {
      const next = (micros / 10) | 0
      into[place] = ZERO + (micros - next * 10)
      micros = next
    }
    at += digits
  }
  into[at] = Z
  return at + 1
}

function printTwo(into: Uint8Array, at: number, value: number): void {
  const tens = (value / 10) | 0
  into[at] = ZERO + tens
  into[at + 1] = ZERO + (value - tens * 10)
}

/** Where a text ends: at the next quotation mark that is not escaped, or at `to` where there is none. */
export function endOfText(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return Math.min(at, to)
}

/** Where digits end. */
export function endOfDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++
  return at
}
