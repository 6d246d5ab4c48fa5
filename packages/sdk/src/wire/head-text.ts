import { ABSENT, type BookColumns, type BucketFacts, type Ladder } from '../tape/index.ts'
import { connectionOf, subscriptionOf } from './json-values.ts'
import { encodeText, PARTIAL, type Dialect } from './dialect.ts'
import {
  digitCount,
  writeDigits,
  writeInteger,
  writeScaled,
  type PriceTokens,
  type TimeText,
} from './value-text.ts'
import type { BookContext, PageBuffer } from './page.ts'

const QUOTE = 34
const MINUS = 45
const NINE = 57

/** More than all values of a head together, bucket and flags included. */
const VALUES_MAX = 1024

const NOTHING = new Uint8Array(0)

type FixedText = {
  readonly dialect: Dialect
  readonly beforeSequence: Uint8Array
  readonly beforeSourceTime: Uint8Array
}

// Cached: otherwise pages of one row spend most of their time encoding this text.
const fixedTexts = new WeakMap<BookContext, FixedText>()

function fixedText(dialect: Dialect, context: BookContext): FixedText {
  const known = fixedTexts.get(context)
  if (known?.dialect === dialect) return known
  const made = {
    dialect,
    beforeSequence: encodeText(dialect.beforeSequence(context)),
    beforeSourceTime: encodeText(dialect.beforeSourceTime(context)),
  }
  fixedTexts.set(context, made)
  return made
}

/**
 * The head of a row: all its text before the ladders. A new row starts as a copy of the one before,
 * and only the digits that differ are overwritten; text whose length changes is rewritten.
 */
export class HeadText {
  /** Bytes of the head, 0 before the first row. */
  length = 0
  private dialect!: Dialect
  private times!: TimeText
  private quotes = 0
  private beforeSequence!: Uint8Array
  private beforeSourceTime!: Uint8Array
  private readonly flagTexts = new Map<number, Uint8Array>()
  private channelText = NOTHING
  private channelOfText = ABSENT

  // The values that the text shows now.
  private sequence = 0
  private source = 0
  private received = 0
  private bits = 0
  private channel = 0
  private venueSeq = 0
  private decimals = 0
  private bestBid = 0
  private bestAsk = 0
  private bidLevels = 0
  private askLevels = 0
  private hasBucket = false

  // Offsets of its values from the start of the row, and their lengths.
  private sequenceDigits = 0
  private sourceAt = 0
  private sourceLength = 0
  private receivedAt = 0
  private receivedLength = 0
  private secondSequenceAt = 0
  private middleAt = 0
  private bidLevelsAt = 0
  private askLevelsAt = 0
  private venueSeqAt = 0
  private venueSeqDigits = 0

  /** Begins a page. */
  start(dialect: Dialect, context: BookContext, times: TimeText, isQuoted: boolean): void {
    if (dialect !== this.dialect) {
      this.flagTexts.clear()
      this.channelText = encodeText(dialect.channel(0, 0))
      this.channelOfText = ABSENT
    }
    this.dialect = dialect
    this.times = times
    this.quotes = isQuoted ? dialect.quotes : 0
    const { beforeSequence, beforeSourceTime } = fixedText(dialect, context)
    this.beforeSequence = beforeSequence
    this.beforeSourceTime = beforeSourceTime
    this.length = 0
  }

  /** The room that `update` needs beyond the row itself. */
  get room(): number {
    return 2 * (this.beforeSequence.length + this.beforeSourceTime.length + VALUES_MAX)
  }

  /**
   * Turns the head of the row at [at, end), a copy of the row before or nothing, into that of an
   * observation, moves what follows if the length changes, and returns the new end.
   */
  update(
    page: PageBuffer,
    at: number,
    end: number,
    columns: BookColumns,
    row: number,
    sequence: number,
    ladder: Ladder,
    tokens: PriceTokens,
    extraBits: number,
    bucket: BucketFacts | undefined,
  ): number {
    const { bytes } = page
    const source = columns.source[row]!
    const received = columns.received[row]!
    const bits = columns.flags[row]! | extraBits | (bucket?.partial === true ? PARTIAL : 0)
    const channel = columns.channel[row]!
    const venueSeq = columns.venueSeq[row]!
    const venueSeqDigits = venueSeq === ABSENT ? 0 : digitCount(venueSeq)

    const isSameTop =
      this.length !== 0 &&
      this.sequenceDigits === digitCount(sequence) &&
      this.sourceLength === this.timeLength(source) &&
      this.receivedLength === this.timeLength(received)
    const isSameMiddle =
      isSameTop &&
      bucket === undefined &&
      !this.hasBucket &&
      this.bestBid === ladder.bestBid &&
      this.bestAsk === ladder.bestAsk &&
      this.decimals === ladder.decimals &&
      this.bits === bits &&
      this.channel === channel &&
      this.venueSeqDigits === venueSeqDigits &&
      hasSameDigits(this.bidLevels, ladder.bidLevels) &&
      hasSameDigits(this.askLevels, ladder.askLevels)

    if (isSameTop) {
      this.patchTop(bytes, at, sequence, source, received)
      if (isSameMiddle) {
        if (this.bidLevels !== ladder.bidLevels) {
          writeInteger(bytes, at + this.bidLevelsAt, ladder.bidLevels)
        }
        if (this.askLevels !== ladder.askLevels) {
          writeInteger(bytes, at + this.askLevelsAt, ladder.askLevels)
        }
        if (this.venueSeq !== venueSeq) {
          const place = at + this.venueSeqAt
          writeDigits(bytes, place, place + venueSeqDigits, venueSeq)
        }
      }
    }
    this.sequence = sequence
    this.source = source
    this.received = received
    this.venueSeq = venueSeq
    this.bidLevels = ladder.bidLevels
    this.askLevels = ladder.askLevels
    if (isSameMiddle) return end

    this.bits = bits
    this.channel = channel
    this.venueSeqDigits = venueSeqDigits
    this.decimals = ladder.decimals
    this.bestBid = ladder.bestBid
    this.bestAsk = ladder.bestAsk
    this.hasBucket = bucket !== undefined
    // The new text is made behind the row, out of reach of what moves, and then put in place.
    const spare = end + this.room / 2
    const kept = isSameTop ? this.middleAt : 0
    const middle = isSameTop ? spare : this.writeTop(bytes, spare)
    const length = this.writeMiddle(bytes, middle, spare - kept, ladder.one, tokens, bucket) - spare
    const delta = kept + length - this.length
    if (delta !== 0) bytes.copyWithin(at + kept + length, at + this.length, end)
    bytes.copyWithin(at + kept, spare, spare + length)
    this.length += delta
    return end + delta
  }

  private timeLength(micros: number): number {
    return micros === ABSENT ? this.dialect.null.length : this.times.lengthOf(micros)
  }

  private patchTop(
    bytes: Uint8Array,
    at: number,
    sequence: number,
    source: number,
    received: number,
  ): void {
    const first = at + this.beforeSequence.length
    const second = at + this.secondSequenceAt
    const digits = this.sequenceDigits
    const last = bytes[second + digits - 1]!
    if (sequence === this.sequence + 1 && last !== NINE) {
      bytes[first + digits - 1] = last + 1
      bytes[second + digits - 1] = last + 1
    } else {
      writeDigits(bytes, first, first + digits, sequence)
      writeDigits(bytes, second, second + digits, sequence)
    }
    if (source !== this.source) {
      // Times of equal length are both absent or both present, but for an epoch of four digits.
      if (source === ABSENT || this.source === ABSENT)
        this.writeTime(bytes, at + this.sourceAt, source)
      else this.times.patch(bytes, at + this.sourceAt, this.source, source)
    }
    if (received !== this.received) {
      this.times.patch(bytes, at + this.receivedAt, this.received, received)
    }
  }

  /** Writes the head up to its sequence and returns the end. */
  private writeTop(bytes: Uint8Array, start: number): number {
    const { dialect } = this
    let at = put(bytes, start, this.beforeSequence)
    at = writeInteger(bytes, at, this.sequence)
    this.sequenceDigits = at - start - this.beforeSequence.length
    at = put(bytes, at, this.beforeSourceTime)
    this.sourceAt = at - start
    at = this.writeTime(bytes, at, this.source)
    this.sourceLength = at - start - this.sourceAt
    at = put(bytes, at, dialect.receivedTime)
    this.receivedAt = at - start
    at = this.writeTime(bytes, at, this.received)
    this.receivedLength = at - start - this.receivedAt
    at = put(bytes, at, dialect.sequence)
    this.secondSequenceAt = at - start
    at = writeInteger(bytes, at, this.sequence)
    this.middleAt = at - start
    return at
  }

  /** Writes the head from its bucket on and returns the end; `start` is where the row would begin. */
  private writeMiddle(
    bytes: Uint8Array,
    from: number,
    start: number,
    one: number,
    tokens: PriceTokens,
    bucket: BucketFacts | undefined,
  ): number {
    const { dialect, bestBid, bestAsk, decimals } = this
    let at = from
    if (bucket === undefined) at = put(bytes, at, dialect.noBucket)
    else {
      at = this.times.write(bytes, put(bytes, at, dialect.bucketStart), bucket.start)
      at = this.times.write(bytes, put(bytes, at, dialect.bucketEnd), bucket.end)
      at = this.writeDecimal(bytes, put(bytes, at, dialect.ageMs), bucket.ageMs * 1000, 3, 0)
      at = writeInteger(bytes, put(bytes, at, dialect.observations), bucket.observations)
      at = writeInteger(bytes, put(bytes, at, dialect.changes), bucket.changes)
    }
    const hasBid = bestBid !== 0
    const hasAsk = bestAsk !== one
    at = put(bytes, at, dialect.bestBid)
    at = hasBid ? tokens.write(bytes, at, bestBid) : put(bytes, at, dialect.null)
    at = put(bytes, at, dialect.bestAsk)
    at = hasAsk ? tokens.write(bytes, at, bestAsk) : put(bytes, at, dialect.null)
    at = put(bytes, at, dialect.mid)
    if (hasBid && hasAsk) {
      at = this.writeDecimal(bytes, at, (bestBid + bestAsk) * 5, decimals + 1, this.quotes)
      at = put(bytes, at, dialect.spread)
      at = this.writeDecimal(bytes, at, bestAsk - bestBid, decimals, this.quotes)
    } else {
      at = put(bytes, at, dialect.null)
      at = put(bytes, at, dialect.spread)
      at = put(bytes, at, dialect.null)
    }
    at = put(bytes, at, dialect.bidLevels)
    this.bidLevelsAt = at - start
    at = writeInteger(bytes, at, this.bidLevels)
    at = put(bytes, at, dialect.askLevels)
    this.askLevelsAt = at - start
    at = writeInteger(bytes, at, this.askLevels)
    at = put(bytes, at, this.flagText())
    if (this.channel !== this.channelOfText) this.showChannel()
    at = put(bytes, at, this.channelText)
    if (this.venueSeq !== ABSENT) {
      at = put(bytes, at, this.channelText.length === 0 ? dialect.seqAlone : dialect.seq)
      this.venueSeqAt = at - start
      at = writeInteger(bytes, at, this.venueSeq)
    } else at = put(bytes, at, dialect.noSeq)
    return put(bytes, at, dialect.nativeEnd)
  }

  private writeTime(bytes: Uint8Array, at: number, micros: number): number {
    return micros === ABSENT
      ? put(bytes, at, this.dialect.null)
      : this.times.write(bytes, at, micros)
  }

  private writeDecimal(
    bytes: Uint8Array,
    from: number,
    units: number,
    decimals: number,
    quotes: number,
  ): number {
    let at = from
    const whole = Math.round(units)
    for (let index = 0; index < quotes; index++) bytes[at++] = QUOTE
    // The spread of a crossed book and the age of a row from the future: not stored, but printable.
    if (whole < 0) bytes[at++] = MINUS
    at = writeScaled(bytes, at, Math.abs(whole), decimals)
    for (let index = 0; index < quotes; index++) bytes[at++] = QUOTE
    return at
  }

  private showChannel(): void {
    const { channel } = this
    const text = this.dialect.channel(subscriptionOf(channel), connectionOf(channel))
    this.channelText = encodeText(text)
    this.channelOfText = this.channel
  }

  private flagText(): Uint8Array {
    let text = this.flagTexts.get(this.bits)
    if (text === undefined) {
      text = encodeText(this.dialect.flags(this.bits))
      this.flagTexts.set(this.bits, text)
    }
    return text
  }
}

function hasSameDigits(left: number, right: number): boolean {
  return left === right || digitCount(left) === digitCount(right)
}

function put(bytes: Uint8Array, at: number, text: Uint8Array): number {
  if (text.length > 16) bytes.set(text, at)
  else for (let index = 0; index < text.length; index++) bytes[at + index] = text[index]!
  return at + text.length
}
