import { writeInteger, writePair, writeSix, digitCount } from './digits.ts'

const QUOTE = 34
const DASH = 45
const COLON = 58
const POINT = 46
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
