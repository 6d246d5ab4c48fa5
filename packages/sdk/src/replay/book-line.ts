import { FLAGS, POW10 } from '../domain/index.ts'
import { ABSENT } from '../tape/index.ts'
import type { BookBuilder, BookHead, SideLevels } from './book-builder.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** How every line of a book begins; the row id follows. */
export const BOOK_START: Uint8Array = encoder.encode('{"type":"book","id":"')
const RECEIVED = encoder.encode(',"received_time":')
const SEQUENCE = encoder.encode(',"sequence":')
const FLAGS_START = encoder.encode('"flags":')
const NATIVE = encoder.encode(',"native":{')
const BIDS = encoder.encode(',"bids":{"price":[')
const SIZES = encoder.encode(',"size":[')
const ASKS = encoder.encode('},"asks":{"price":[')

// At least so many bytes stand between the sequence and the flags.
const BEFORE_FLAGS = 80

const QUOTE = 34
const COMMA = 44
const POINT = 46
const ZERO = 48
const OPEN = 91
const CLOSE = 93
const BRACE = 125
const LETTER_C = 99
const LETTER_N = 110
const LETTER_S = 115
const SUBSCRIPTIONS = 65_536
const PRICE_DECIMALS = 4

/**
 * Reads lines of books as Priorbook writes them, from the bytes: no number passes through a float and
 * no object is made. Whatever does not look exactly like that is left to the caller's JSON parser.
 */
export class BookLineParser {
  private readonly known = new Map<BookBuilder, KnownText>()
  private readonly flags = new Map<string, number>([['', 0]])
  private readonly flagsOf: (names: readonly string[]) => number
  private minute = -1
  private readonly minuteText = knownBytes(new Uint8Array(17))
  private bytes: Uint8Array = new Uint8Array(0)
  private view: DataView = new DataView(new ArrayBuffer(0))
  private at = 0

  constructor(flagsOf: (names: readonly string[]) => number) {
    this.flagsOf = flagsOf
  }

  /** Learns the fixed text of an instrument from one of its lines, which was read in full before. */
  learn(builder: BookBuilder, line: Uint8Array, from: number, to: number): void {
    const text = decoder.decode(line.subarray(from, to))
    const match = /^\{"type":"book","id":"[^"]*?:\d+(",.*?"source_time":)/.exec(text)
    this.known.delete(builder)
    if (match === null) return
    const bytes = encoder.encode(match[1])
    const middle = knownBytes(bytes)
    this.known.set(builder, { middle, bids: createSide(), asks: createSide() })
  }

  /**
   * Reads a line whose row id begins at `at` with the number, into the levels of a builder and a head;
   * false where it is not written as expected.
   */
  read(
    bytes: Uint8Array,
    at: number,
    to: number,
    builder: BookBuilder,
    sizeDecimals: number,
    head: BookHead,
  ): boolean {
    const known = this.known.get(builder)
    if (known === undefined) return false
    if (bytes !== this.bytes) {
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      this.bytes = bytes
    }
    this.at = at
    const sequence = this.whole()
    if (sequence < 0 || !this.skipKnown(known.middle)) return false
    const source = bytes[this.at] === LETTER_N ? this.nothing() : this.time()
    if (source < ABSENT || !this.skip(RECEIVED)) return false
    const received = this.time()
    if (received < 0 || !this.skip(SEQUENCE) || this.whole() !== sequence) return false
    if (!this.readFlags(head, to) || !this.readNative(head, to)) return false
    // A book that starts anew is compared with nothing.
    if ((head.flags & FLAGS.restart) !== 0) {
      known.bids.prices.length = 0
      known.asks.prices.length = 0
    }
    if (!this.skip(BIDS) || !this.readSide(known.bids, builder.bids, -1, sizeDecimals)) return false
    if (!this.skip(ASKS) || !this.readSide(known.asks, builder.asks, 1, sizeDecimals)) return false
    head.received = received
    head.source = source
    head.sequence = sequence
    return this.at < to && bytes[this.at] === BRACE && bytes[to - 1] === BRACE
  }

  private skipKnown(text: KnownBytes): boolean {
    const isThere = this.commonLength(text) === text.length
    this.at += text.length
    return isThere
  }

  private skip(expected: Uint8Array): boolean {
    const { bytes, at } = this
    for (let index = 0; index < expected.length; index++) {
      if (bytes[at + index] !== expected[index]) return false
    }
    this.at = at + expected.length
    return true
  }

  /** A whole number of up to 15 digits, −1 where there is none. */
  private whole(): number {
    const { bytes } = this
    const start = this.at
    let at = start
    let value = 0
    for (; at - start < 16; at++) {
      const digit = bytes[at]! - ZERO
      if (!(digit >= 0 && digit <= 9)) break
      value = value * 10 + digit
    }
    this.at = at
    return at === start || at - start > 16 || value > Number.MAX_SAFE_INTEGER ? -1 : value
  }

  private nothing(): number {
    const { bytes, at } = this
    const isNull = bytes[at + 1] === 117 && bytes[at + 2] === 108 && bytes[at + 3] === 108
    this.at = at + 4
    return isNull ? ABSENT : ABSENT - 1
  }

  /** `"2026-08-11T00:00:00.123456Z"` or whole microseconds. */
  private time(): number {
    const { bytes, at } = this
    if (bytes[at] !== QUOTE) return this.whole()
    // The same minute as before: only its seconds are read.
    this.at = at + 1
    if (this.minute < 0 || this.commonLength(this.minuteText) < 17) {
      this.minuteText.bytes.set(bytes.subarray(at + 1, at + 18))
      const text = decoder.decode(this.minuteText.bytes)
      const millis = /^\d{4}-\d\d-\d\dT\d\d:\d\d:$/.test(text) ? Date.parse(`${text}00Z`) : NaN
      this.minute = Number.isNaN(millis) || !isCalendar(text, millis) ? -1 : millis * 1000
      if (this.minute < 0) return -2
    }
    this.at = at + 18
    const seconds = this.digits(2)
    if (bytes[this.at++] !== POINT) return -2
    const micros = this.digits(6)
    if (bytes[this.at] !== 90 || bytes[this.at + 1] !== QUOTE) return -2
    this.at += 2
    if (!(seconds >= 0 && seconds < 60 && micros >= 0)) return -2
    return this.minute + seconds * 1_000_000 + micros
  }

  private digits(count: number): number {
    let value = 0
    for (let index = 0; index < count; index++) {
      const digit = this.bytes[this.at++]! - ZERO
      if (!(digit >= 0 && digit <= 9)) return -1
      value = value * 10 + digit
    }
    return value
  }

  private readFlags(head: BookHead, to: number): boolean {
    const { bytes } = this
    // Best prices, mid, spread and counts stand before the flags; the ladders say them again.
    let at = this.at + BEFORE_FLAGS
    while (at < to && bytes[at] !== OPEN) at++
    this.at = at - FLAGS_START.length
    if (!this.skip(FLAGS_START)) return false
    const start = ++at
    while (at < to && bytes[at] !== CLOSE) at++
    this.at = at + 1
    if (at === start) {
      head.flags = 0
      return true
    }
    const text = decoder.decode(bytes.subarray(start, at))
    let bits = this.flags.get(text)
    if (bits === undefined) {
      if (!/^"[a-z_]+"(,"[a-z_]+")*$/.test(text)) return false
      bits = this.flagsOf(JSON.parse(`[${text}]`) as string[])
      this.flags.set(text, bits)
    }
    head.flags = bits
    return true
  }

  private readNative(head: BookHead, to: number): boolean {
    if (!this.skip(NATIVE)) return false
    const { bytes } = this
    head.venueSeq = ABSENT
    let sid = 0
    let connection = 0
    let hasChannel = false
    while (bytes[this.at] === QUOTE) {
      const letter = bytes[this.at + 1]
      // `sid` and `seq` begin alike.
      const isSid = letter === LETTER_S && bytes[this.at + 2] === 105
      let at = this.at + 1
      while (at < to && bytes[at] !== QUOTE) at++
      this.at = at + 2
      const value = this.whole()
      if (value < 0) return false
      if (isSid) sid = value
      else if (letter === LETTER_S) head.venueSeq = value
      else if (letter === LETTER_C) connection = value
      else return false
      hasChannel ||= isSid || letter === LETTER_C
      if (bytes[this.at] === COMMA) this.at++
    }
    head.channel = hasChannel ? connection * SUBSCRIPTIONS + sid : ABSENT
    return bytes[this.at++] === BRACE
  }

  /** Reads a side into a builder's levels, unless it is that of the row before. */
  private readSide(
    known: KnownSide,
    side: SideLevels,
    direction: 1 | -1,
    sizeDecimals: number,
  ): boolean {
    const { prices, sizes } = known
    const fromPrice = this.readList(prices, PRICE_DECIMALS)
    if (fromPrice < 0 || !this.skip(SIZES)) return false
    const fromSize = this.readList(sizes, sizeDecimals)
    if (fromSize < 0 || prices.count !== sizes.count) return false
    const { count } = prices
    side.isSame = fromPrice > count && fromSize > count
    if (side.isSame) return true
    // Prices lie strictly between 0 and 1 and lead away from the best one.
    for (let index = fromPrice; index < count; index++) {
      const price = prices.values[index]!
      const last = index === 0 ? (direction === 1 ? 0 : 10_000) : prices.values[index - 1]!
      if (!((price - last) * direction > 0 && price > 0 && price < 10_000)) return false
    }
    for (let index = fromSize; index < count; index++) {
      if (!(sizes.values[index]! > 0)) return false
    }
    while (side.price.length < count) side.grow()
    side.count = count
    const { price, size } = side
    for (let index = 0; index < count; index++) {
      price[index] = prices.values[index]!
      size[index] = sizes.values[index]!
    }
    return true
  }

  /**
   * Reads a list of decimals with its closing bracket. Consecutive rows share nearly all of it: only
   * what comes from the first difference on is read. Gives the first number that was read, more than
   * there are where the list is the same, −1 where it is none.
   */
  private readList(list: ListText, decimals: number): number {
    const { bytes, at: start } = this
    const same = this.commonLength(list)
    if (list.length > 0 && same === list.length) {
      this.at = start + same
      return list.count + 1
    }
    // The number in which they part may have begun before.
    let index = list.numberAt(same)
    const first = index
    this.at = start + (index === 0 ? 0 : list.starts[index]!)
    const keptFrom = this.at
    while (bytes[this.at] !== CLOSE) {
      if (index === list.values.length) list.grow()
      list.starts[index] = this.at - start
      const value = this.decimal(decimals)
      if (value < 0) {
        list.length = 0
        return -1
      }
      list.values[index++] = value
    }
    this.at++
    // A comma before the bracket is no list.
    if (index > 0 && bytes[this.at - 2] === COMMA) {
      list.length = 0
      return -1
    }
    list.count = index
    list.keep(bytes, start, keptFrom, this.at)
    return first
  }

  /** How many bytes here are those of a list. */
  private commonLength({ bytes: before, view, length }: KnownBytes): number {
    const { bytes, at } = this
    let index = 0
    const here = this.view
    const whole = Math.min(length, bytes.length - at) - 4
    // The order of bytes is the processor's own, so that it costs nothing.
    while (index <= whole && here.getInt32(at + index, true) === view.getInt32(index, true)) {
      index += 4
    }
    while (index < length && bytes[at + index] === before[index]) index++
    return index
  }

  /** A decimal in units of 10^−decimals with the comma behind it; −1 where it is none. */
  private decimal(decimals: number): number {
    const { bytes } = this
    let { at } = this
    const quoted = bytes[at] === QUOTE
    if (quoted) at++
    let value = 0
    let digits = 0
    let fraction = 0
    let step = 0
    for (;;) {
      const code = bytes[at]!
      const digit = code - ZERO
      if (digit >= 0 && digit <= 9) {
        value = value * 10 + digit
        fraction += step
        digits++
      } else if (code === POINT && step === 0) step = 1
      else break
      at++
    }
    if (quoted && bytes[at++] !== QUOTE) return -1
    if (digits === 0 || digits > 16 || fraction > decimals) return -1
    if (bytes[at] === COMMA) at++
    else if (bytes[at] !== CLOSE) return -1
    this.at = at
    const units = value * POW10[decimals - fraction]!
    return units <= Number.MAX_SAFE_INTEGER ? units : -1
  }
}

/** What is the same in all rows of an instrument, and in many rows that follow each other. */
type KnownText = {
  /** What stands between the number in the row id and the source time. */
  readonly middle: KnownBytes
  readonly bids: KnownSide
  readonly asks: KnownSide
}

type KnownBytes = {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly length: number
}

function knownBytes(bytes: Uint8Array<ArrayBuffer>): KnownBytes {
  return { bytes, view: new DataView(bytes.buffer), length: bytes.length }
}

type KnownSide = { readonly prices: ListText; readonly sizes: ListText }

/** The text of a list in the row before, and its numbers. */
class ListText {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1024)
  view = new DataView(this.bytes.buffer)
  length = 0
  count = 0
  values = new Float64Array(128)
  /** Where each number begins in the text. */
  starts = new Int32Array(128)

  /** The number that a place of the text belongs to. */
  numberAt(place: number): number {
    if (this.length === 0) return 0
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.starts[middle]! <= place) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }

  /** Keeps the text from `start` on, of which what lies before `from` is here already. */
  keep(bytes: Uint8Array, start: number, from: number, to: number): void {
    const length = to - start
    if (this.bytes.length < length) {
      const grown = new Uint8Array(length * 2)
      grown.set(this.bytes)
      this.bytes = grown
      this.view = new DataView(grown.buffer)
    }
    for (let at = from; at < to; at++) this.bytes[at - start] = bytes[at]!
    this.length = length
  }

  grow(): void {
    const values = new Float64Array(this.values.length * 2)
    values.set(this.values)
    this.values = values
    const starts = new Int32Array(this.starts.length * 2)
    starts.set(this.starts)
    this.starts = starts
  }
}

function createSide(): KnownSide {
  return { prices: new ListText(), sizes: new ListText() }
}

function isCalendar(text: string, millis: number): boolean {
  return new Date(millis).toISOString().startsWith(text)
}
