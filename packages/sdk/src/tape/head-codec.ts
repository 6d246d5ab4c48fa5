import { PriorbookError } from '../domain/index.ts'
import { ByteReader, ByteWriter, unzigzag, zigzag } from './bytes.ts'
import { columnOf, corrupt, type Chunk, type ChunkHeader } from './chunk.ts'
import { ABSENT, type HeadColumns } from './columns.ts'
import {
  BitReader,
  BitWriter,
  DIRECT,
  EXTRA_BITS,
  MAX_TOKEN,
  TOKEN_BASE,
  tokenOf,
} from './hybrid.ts'
import type { TapePlatform } from './platform.ts'

/**
 * The head columns of every chunk. They use three properties of real feeds: rows often share the source
 * microsecond of the previous row, are received at the same time and have the next venue number, which
 * one token encodes; latency changes slowly, so a received time is stored as a change of latency; and
 * journal positions advance with the rows or with the venue's numbers.
 *
 * Hot path: every page, download and replay decodes these columns, so long loops are intended here.
 */
export const HEAD_COLUMNS = {
  frame: 0,
  time: 1,
  sourceBits: 2,
  received: 3,
  receivedBits: 4,
  seq: 5,
  seqBits: 6,
  journal: 7,
  journalBits: 8,
} as const

/** The number of head columns; the columns of a kind come after them. */
export const HEAD_COLUMN_COUNT = 9

/** The parts of a chunk header that follow from the heads. */
export type HeadFacts = Pick<
  ChunkHeader,
  | 'firstReceived'
  | 'lastReceived'
  | 'firstSource'
  | 'lastSource'
  | 'firstJournal'
  | 'lastJournal'
  | 'count'
>

/** Which of the slower columns to decode. */
export type HeadSelection = { readonly numbers: boolean }

const MISSING_SOURCE = 1
const MISSING_SEQ = 2
const ZIGZAG_SOURCE = 1
const ZIGZAG_SEQ = 2
const JOURNAL_FOLLOWS_SEQ = 4
const ALL_MODES = ZIGZAG_SOURCE | ZIGZAG_SEQ | JOURNAL_FOLLOWS_SEQ

// Bits and value of a source step, by the symbol of the time column: 0, or 1 + the token of the step.
const SYMBOL_BITS = new Uint8Array(256)
SYMBOL_BITS.set(EXTRA_BITS.subarray(0, 255), 1)
const SYMBOL_BASE = new Float64Array(256)
SYMBOL_BASE.set(TOKEN_BASE.subarray(0, 255), 1)
// Tokens and symbols up to this one have at most 24 extra bits, which fit into one read.
const NARROW = EXTRA_BITS.lastIndexOf(24, MAX_TOKEN)
const TOKEN_WORD = Int32Array.from(TOKEN_BASE, (base, token) => (token <= NARROW ? base : 0))
// 1 for every byte but 0.
const IS_SET = new Uint8Array(256).fill(1, 1)

// Reused between calls, so that a chunk does not create seven buffers of garbage.
const scratch = {
  received: new ByteWriter(2048),
  seq: new ByteWriter(2048),
  journal: new ByteWriter(2048),
  sourceBits: new BitWriter(),
  receivedBits: new BitWriter(),
  seqBits: new BitWriter(),
  journalBits: new BitWriter(),
}

/**
 * Encodes rows [from, to) and returns their part of the chunk header. The columns are views of buffers
 * that the next call overwrites.
 */
export function encodeHeads(
  rows: HeadColumns,
  from: number,
  to: number,
): { facts: HeadFacts; columns: Uint8Array[] } {
  const facts = factsOf(rows, from, to)
  const receivedUnit = unitOf(rows.received, from, to)
  const sourceUnit = unitOf(rows.source, from, to)
  const firstSeq = firstPresent(rows.venueSeq, from, to)
  const modes = modesOf(rows, from, to)

  const time = new Uint8Array(to - from)
  const { received, seq, journal, sourceBits, receivedBits, seqBits, journalBits } = scratch
  for (const writer of Object.values(scratch)) writer.clear()
  const hasSource = facts.firstSource !== ABSENT
  let carrySource = facts.firstSource
  let carrySeq = firstSeq - 1
  let carryReceived = facts.firstReceived
  let carryJournal = facts.firstJournal - 1
  let latency = latencyOf(carryReceived, hasSource ? carrySource : 0, receivedUnit)
  for (let row = from; row < to; row++) {
    const now = rows.received[row]!
    let sourceStep = 0
    if (rows.source[row]! !== ABSENT) {
      sourceStep = (rows.source[row]! - carrySource) / sourceUnit
      carrySource = rows.source[row]!
    }
    let seqStep = 0
    let seqMoved = 0
    if (rows.venueSeq[row]! !== ABSENT) {
      seqMoved = rows.venueSeq[row]! - carrySeq
      seqStep = (modes & ZIGZAG_SEQ) === 0 ? seqMoved - 1 : zigzag(seqMoved - 1)
      carrySeq = rows.venueSeq[row]!
    }
    let receivedStep = 0
    if (now !== carryReceived) {
      if (now < carryReceived) throw backwards(now, carryReceived)
      const fresh = latencyOf(now, hasSource ? carrySource : 0, receivedUnit)
      receivedStep = 1 + zigzag(fresh - latency)
      latency = fresh
      carryReceived = now
    }
    if (sourceStep === 0 && receivedStep === 0 && seqStep === 0) {
      time[row - from] = 0
    } else {
      const step = (modes & ZIGZAG_SOURCE) === 0 ? sourceStep : zigzag(sourceStep)
      const token = tokenOf(step)
      time[row - from] = token + 1
      sourceBits.write(step - TOKEN_BASE[token]!, EXTRA_BITS[token]!)
      put(received, receivedBits, receivedStep)
      put(seq, seqBits, seqStep)
    }
    const expected = (modes & JOURNAL_FOLLOWS_SEQ) === 0 ? 1 : seqMoved
    put(journal, journalBits, zigzag(rows.journal[row]! - carryJournal - expected))
    carryJournal = rows.journal[row]!
  }

  const frame = new ByteWriter(64)
  frame.varint(modes)
  frame.varint(receivedUnit)
  frame.varint(sourceUnit)
  frame.varint(firstSeq + 1)
  writeRuns(frame, to - from, (row) => metaOf(rows, from + row))
  writeRuns(frame, to - from, (row) => rows.channel[from + row]! + 1)
  return {
    facts,
    columns: [
      frame.copy(),
      time,
      sourceBits.finish(),
      received.view(),
      receivedBits.finish(),
      isZero(seq.view()) ? new Uint8Array(0) : seq.view(),
      seqBits.finish(),
      isZero(journal.view()) ? new Uint8Array(0) : journal.view(),
      journalBits.finish(),
    ],
  }
}

/**
 * Decodes heads; use one instance per thread, because it reuses its scratch space. Whether a row changes a
 * time or a number is hard to predict, and a mispredicted branch costs more than all other work on the
 * row. Each column therefore has a loop without branches, in which 0 is a step like any other and damage
 * is only noted, and a simple loop for the few chunks with signed steps or steps above 24 bits.
 */
export class HeadDecoder {
  private readonly bits = new BitReader()
  private tokens = new Uint8Array(2049)
  private rows = new Float64Array(0)
  // Per row: bit 0 no source time, bit 1 no venue number. Only filled where the run list is not empty.
  private absent = new Uint8Array(2048)

  /** Fills received, source, flags and channel of `into`; venue numbers and journal positions on request. */
  decode(chunk: Chunk, platform: TapePlatform, into: HeadColumns, selection: HeadSelection): void {
    const { header } = chunk
    const count = header.count
    const time = columnOf(chunk, HEAD_COLUMNS.time, platform)
    if (time.length !== count) throw corrupt('its rows and its time column differ in number')
    into.count = 0
    into.reserveRows(count)
    const frame = new ByteReader(columnOf(chunk, HEAD_COLUMNS.frame, platform))
    const modes = frame.varint()
    const receivedUnit = frame.varint()
    const sourceUnit = frame.varint()
    const firstSeq = frame.varint() - 1
    if (receivedUnit === 0 || sourceUnit === 0) throw corrupt('a time unit is zero')
    if (modes > ALL_MODES) throw corrupt('its modes are not known')
    const missing = this.readMeta(frame, into, count)
    readRuns(frame, count, (start, end, value) => into.channel.fill(value - 1, start, end))
    frame.finish()

    this.readSources(chunk, platform, into, time, (modes & ZIGZAG_SOURCE) !== 0, sourceUnit)
    this.readReceived(chunk, platform, into, time, receivedUnit)
    if (selection.numbers) {
      this.readNumbers(chunk, platform, into, time, modes, firstSeq, (missing & MISSING_SEQ) !== 0)
      this.readJournal(chunk, platform, into, modes, firstSeq)
    }
    if (missing !== 0) this.blank(into, count, selection)
    into.count = count
    checkFacts(factsOf(into, 0, count), header, selection)
    if (selection.numbers && firstPresent(into.venueSeq, 0, count) !== firstSeq) {
      throw corrupt('its first number is wrong')
    }
  }

  private readMeta(frame: ByteReader, into: HeadColumns, count: number): number {
    if (this.absent.length < count) this.absent = new Uint8Array(count)
    let missing = 0
    readRuns(frame, count, (start, end, value) => {
      into.flags.fill(value & 0xffff, start, end)
      const bits = Math.floor(value / 0x10000)
      if (bits > (MISSING_SOURCE | MISSING_SEQ)) throw corrupt('its absences are not known')
      this.absent.fill(bits, start, end)
      missing |= bits
    })
    return missing
  }

  private readSources(
    chunk: Chunk,
    platform: TapePlatform,
    into: HeadColumns,
    time: Uint8Array,
    signed: boolean,
    unit: number,
  ): void {
    const { firstSource } = chunk.header
    const { bits } = this
    bits.reset(columnOf(chunk, HEAD_COLUMNS.sourceBits, platform))
    const { view, wrap } = bits
    const { source } = into
    const first = firstSource === ABSENT ? 0 : firstSource
    let origin = first
    let place = 0
    let over = signed ? -1 : 0
    for (let row = 0; row < time.length; row++) {
      const symbol = time[row]!
      const extra = SYMBOL_BITS[symbol]!
      const word = view.getUint32((place >> 3) & wrap, true)
      origin += (SYMBOL_BASE[symbol]! + ((word >>> (place & 7)) & ((1 << extra) - 1))) * unit
      place += extra
      over |= NARROW - symbol
      source[row] = origin
    }
    let sound = origin <= Number.MAX_SAFE_INTEGER
    bits.position = place
    if (over < 0) {
      // Signed steps, or steps of more than 24 bits.
      sound = true
      origin = first
      bits.position = 0
      for (let row = 0; row < time.length; row++) {
        const step = time[row] === 0 ? 0 : numberOf(time[row]! - 1, bits)
        origin += (signed ? unzigzag(step) : step) * unit
        if (!(origin >= 0 && origin <= Number.MAX_SAFE_INTEGER)) sound = false
        source[row] = origin
      }
    }
    bits.finish()
    if (!sound) throw corrupt('a time is out of range or runs back')
  }

  private readReceived(
    chunk: Chunk,
    platform: TapePlatform,
    into: HeadColumns,
    time: Uint8Array,
    unit: number,
  ): void {
    const { firstReceived, firstSource } = chunk.header
    const steps = columnOf(chunk, HEAD_COLUMNS.received, platform)
    const tokens = this.padded(steps, time.length)
    const { bits } = this
    bits.reset(columnOf(chunk, HEAD_COLUMNS.receivedBits, platform))
    const { view, wrap } = bits
    const { received, source } = into
    const first = latencyOf(firstReceived, firstSource === ABSENT ? 0 : firstSource, unit)
    let latency = first
    let now = firstReceived
    let at = 0
    let place = 0
    let over = 0
    let sound = true
    for (let row = 0; row < time.length; row++) {
      const spoken = IS_SET[time[row]!]!
      const token = tokens[at]! & -spoken
      at += spoken
      over |= NARROW - token
      const extra = EXTRA_BITS[token]!
      const word = view.getUint32((place >> 3) & wrap, true)
      const step = TOKEN_WORD[token]! - 1 + ((word >>> (place & 7)) & ((1 << extra) - 1))
      place += extra
      const moves = IS_SET[token]!
      latency += ((step >>> 1) ^ -(step & 1)) & -moves
      const moved = ((Math.floor(source[row]! / unit) + latency) * unit - now) * moves
      if (!(moved >= moves)) sound = false
      now += moved
      received[row] = now
    }
    if (at !== steps.length) throw corrupt('its received column is too long or too short')
    bits.position = place
    if (over < 0) {
      sound = true
      latency = first
      now = firstReceived
      at = 0
      bits.position = 0
      for (let row = 0; row < time.length; row++) {
        const token = time[row] === 0 ? 0 : tokens[at++]!
        if (token !== 0) {
          latency += unzigzag(numberOf(token, bits) - 1)
          const before = now
          now = (Math.floor(source[row]! / unit) + latency) * unit
          if (!(now > before)) sound = false
        }
        received[row] = now
      }
    }
    bits.finish()
    if (!sound) throw corrupt('a time is out of range or runs back')
  }

  private readNumbers(
    chunk: Chunk,
    platform: TapePlatform,
    into: HeadColumns,
    time: Uint8Array,
    modes: number,
    firstSeq: number,
    someMissing: boolean,
  ): void {
    const seqs = columnOf(chunk, HEAD_COLUMNS.seq, platform)
    const tokens = this.padded(seqs, time.length)
    const { bits, absent } = this
    bits.reset(columnOf(chunk, HEAD_COLUMNS.seqBits, platform))
    const { view, wrap } = bits
    const { venueSeq } = into
    const signed = (modes & ZIGZAG_SEQ) !== 0
    let seq = firstSeq - 1
    let at = 0
    let place = 0
    let over = signed || someMissing ? -1 : 0
    for (let row = 0; row < time.length; row++) {
      const spoken = IS_SET[time[row]!]!
      const token = tokens[at]! & -spoken
      at += spoken
      over |= NARROW - token
      const extra = EXTRA_BITS[token]!
      const word = view.getUint32((place >> 3) & wrap, true)
      seq += TOKEN_WORD[token]! + ((word >>> (place & 7)) & ((1 << extra) - 1)) + 1
      place += extra
      venueSeq[row] = seq
    }
    if (seqs.length > 0 && at !== seqs.length) {
      throw corrupt('its number column is too long or too short')
    }
    let sound = seq <= Number.MAX_SAFE_INTEGER
    bits.position = place
    if (over < 0) {
      sound = true
      seq = firstSeq - 1
      at = 0
      bits.position = 0
      for (let row = 0; row < time.length; row++) {
        const step = time[row] === 0 ? 0 : numberOf(tokens[at++]!, bits)
        if ((absent[row]! & MISSING_SEQ) === 0) {
          seq += (signed ? unzigzag(step) : step) + 1
          if (!(seq >= 0 && seq <= Number.MAX_SAFE_INTEGER)) sound = false
        }
        venueSeq[row] = seq
      }
    }
    bits.finish()
    if (!sound) throw corrupt('a number is out of range')
  }

  // Runs after the venue's numbers, while rows without one still repeat the last one.
  private readJournal(
    chunk: Chunk,
    platform: TapePlatform,
    into: HeadColumns,
    modes: number,
    firstSeq: number,
  ): void {
    const { count, firstJournal } = chunk.header
    const stored = columnOf(chunk, HEAD_COLUMNS.journal, platform)
    if (stored.length !== 0 && stored.length !== count) {
      throw corrupt('its rows and its journal column differ in number')
    }
    const tokens = this.padded(stored, count)
    const { bits } = this
    bits.reset(columnOf(chunk, HEAD_COLUMNS.journalBits, platform))
    const { journal } = into
    const follows = (modes & JOURNAL_FOLLOWS_SEQ) !== 0
    const signed = follows && (modes & ZIGZAG_SEQ) !== 0
    const counter = follows ? into.venueSeq : this.rowNumbers(count)
    let drift = follows ? firstJournal - firstSeq : firstJournal
    let sound = true
    let row = 0
    while (row < count) {
      // In most chunks journal positions are consecutive, with few steps.
      if (tokens[row] !== 0) drift += unzigzag(numberOf(tokens[row]!, bits))
      // Signed steps may go back, so each row is checked.
      const most = signed ? row + 1 : count
      let end = row + 1
      while (end < most && tokens[end] === 0) end++
      addAll(journal, counter, drift, row, end)
      if (!(journal[row]! >= 0 && journal[end - 1]! <= Number.MAX_SAFE_INTEGER)) sound = false
      row = end
    }
    bits.finish()
    if (!sound) throw corrupt('a number is out of range')
  }

  private rowNumbers(count: number): Float64Array {
    if (this.rows.length < count) this.rows = Float64Array.from({ length: count }, (_, row) => row)
    return this.rows
  }

  // A column has at most one token per row; a zero behind it lets loops read one more.
  private padded(tokens: Uint8Array, count: number): Uint8Array {
    if (tokens.length > count) throw corrupt('it has more steps than rows')
    if (this.tokens.length <= count) this.tokens = new Uint8Array(count + 1)
    this.tokens.set(tokens)
    this.tokens.fill(0, tokens.length, count + 1)
    return this.tokens
  }

  private blank(into: HeadColumns, count: number, selection: HeadSelection): void {
    for (let row = 0; row < count; row++) {
      const bits = this.absent[row]!
      if ((bits & MISSING_SOURCE) !== 0) into.source[row] = ABSENT
      if ((bits & MISSING_SEQ) !== 0 && selection.numbers) into.venueSeq[row] = ABSENT
    }
  }
}

function factsOf(rows: HeadColumns, from: number, to: number): HeadFacts {
  let lastSource = ABSENT
  for (let row = to - 1; row >= from && lastSource === ABSENT; row--) lastSource = rows.source[row]!
  return {
    count: to - from,
    firstReceived: rows.received[from]!,
    lastReceived: rows.received[to - 1]!,
    firstSource: firstPresent(rows.source, from, to),
    lastSource,
    firstJournal: rows.journal[from]!,
    lastJournal: rows.journal[to - 1]!,
  }
}

function checkFacts(facts: HeadFacts, header: ChunkHeader, selection: HeadSelection): void {
  const sound =
    facts.firstReceived === header.firstReceived &&
    facts.lastReceived === header.lastReceived &&
    facts.firstSource === header.firstSource &&
    facts.lastSource === header.lastSource &&
    (!selection.numbers ||
      (facts.firstJournal === header.firstJournal && facts.lastJournal === header.lastJournal))
  if (!sound) throw corrupt('its header does not tell its rows')
}

// In an unordered feed some steps go back; then all steps are signed. Journal positions advance either
// with the rows (an excerpt of one market) or with the venue's numbers (a whole subscription).
function modesOf(rows: HeadColumns, from: number, to: number): number {
  let modes = 0
  let source = ABSENT
  let seq = ABSENT
  let byRow = 0
  let bySeq = 0
  for (let row = from; row < to; row++) {
    const nowSource = rows.source[row]!
    if (nowSource !== ABSENT) {
      if (source !== ABSENT && nowSource < source) modes |= ZIGZAG_SOURCE
      source = nowSource
    }
    const nowSeq = rows.venueSeq[row]!
    const moved = nowSeq === ABSENT || seq === ABSENT ? 1 : nowSeq - seq
    if (moved < 1) modes |= ZIGZAG_SEQ
    if (nowSeq !== ABSENT) seq = nowSeq
    if (row === from) continue
    const step = rows.journal[row]! - rows.journal[row - 1]!
    if (step !== 1) byRow++
    if (step !== moved) bySeq++
  }
  return bySeq < byRow ? modes | JOURNAL_FOLLOWS_SEQ : modes
}

function metaOf(rows: HeadColumns, row: number): number {
  const missing =
    (rows.source[row] === ABSENT ? MISSING_SOURCE : 0) |
    (rows.venueSeq[row] === ABSENT ? MISSING_SEQ : 0)
  return missing * 0x10000 + rows.flags[row]!
}

function latencyOf(received: number, source: number, unit: number): number {
  return Math.floor(received / unit) - Math.floor(source / unit)
}

function unitOf(column: Float64Array, from: number, to: number): number {
  for (let row = from; row < to; row++) {
    const value = column[row]!
    // Avoids `%`: a remainder of doubles costs 20 ns.
    if (value !== ABSENT && Math.floor(value / 1000) * 1000 !== value) return 1
  }
  return 1000
}

function firstPresent(column: Float64Array, from: number, to: number): number {
  for (let row = from; row < to; row++) if (column[row] !== ABSENT) return column[row]!
  return ABSENT
}

function put(tokens: ByteWriter, bits: BitWriter, value: number): void {
  const token = tokenOf(value)
  tokens.byte(token)
  const extra = EXTRA_BITS[token]!
  if (extra !== 0) bits.write(value - TOKEN_BASE[token]!, extra)
}

function numberOf(token: number, bits: BitReader): number {
  return token < DIRECT ? token : TOKEN_BASE[token]! + bits.read(EXTRA_BITS[token]!)
}

function addAll(
  into: Float64Array,
  column: Float64Array,
  more: number,
  from: number,
  to: number,
): void {
  for (let row = from; row < to; row++) into[row] = column[row]! + more
}

function backwards(now: number, before: number): PriorbookError {
  return new PriorbookError('invalid_time', `the received time goes back from ${before} to ${now}`)
}

function isZero(bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (bytes[index] !== 0) return false
  return true
}

function writeRuns(out: ByteWriter, count: number, valueOf: (row: number) => number): void {
  let row = 0
  while (row < count) {
    const value = valueOf(row)
    let end = row + 1
    while (end < count && valueOf(end) === value) end++
    out.varint(end - row)
    out.varint(value)
    row = end
  }
}

function readRuns(
  reader: ByteReader,
  count: number,
  take: (start: number, end: number, value: number) => void,
): void {
  let row = 0
  while (row < count) {
    const length = reader.varint()
    const value = reader.varint()
    if (length === 0 || length > count - row) throw corrupt('a run is longer than its rows')
    take(row, row + length, value)
    row += length
  }
}
