import { PriorbookError } from '../domain/index.ts'
import { ByteReader, ByteWriter, unzigzag, zigzag } from './bytes.ts'
import { columnOf, corrupt, type Chunk, type ChunkHeader } from './chunk.ts'
import { ABSENT, type HeadColumns } from './columns.ts'
import { BitReader, BitWriter, DIRECT, EXTRA_BITS, TOKEN_BASE, tokenOf } from './hybrid.ts'
import type { TapePlatform } from './platform.ts'

/**
 * The head columns of every chunk. Three facts of real feeds are used: rows often share the previous
 * row's source microsecond and are then received at once with the next venue number (one token says
 * all of it); latency moves slowly, so a received time is told by how its latency differs from the
 * last one; and the journal counts along with the rows or with the venue's numbers.
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

/** The parts of a chunk header that the heads decide. */
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

/** Which of the slower columns a reader wants. */
export type HeadWish = { readonly numbers: boolean }

const MISSING_SOURCE = 1
const MISSING_SEQ = 2
const ZIGZAG_SOURCE = 1
const ZIGZAG_SEQ = 2
const JOURNAL_FOLLOWS_SEQ = 4
const ALL_MODES = ZIGZAG_SOURCE | ZIGZAG_SEQ | JOURNAL_FOLLOWS_SEQ

// Kept between calls, so that a chunk does not leave seven buffers to the garbage collector.
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
 * Encodes rows [from, to) and returns what the chunk header must say about them. The columns are views
 * into buffers that the next call writes again: pack them first.
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

/** Decodes heads; one instance a thread keeps its scratch space. */
export class HeadDecoder {
  private readonly bits = new BitReader()
  private readonly moreBits = new BitReader()
  // Per row: bit 0 no source time, bit 1 no venue number. Read only where the run list says so.
  private absent = new Uint8Array(2048)

  /** Fills received, source, flags and channel of `into`; venue numbers and journal places on wish. */
  decode(chunk: Chunk, platform: TapePlatform, into: HeadColumns, wish: HeadWish): void {
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

    this.readTimes(chunk, platform, into, time, modes, receivedUnit, sourceUnit)
    if (wish.numbers) {
      this.readNumbers(chunk, platform, into, time, modes, firstSeq, (missing & MISSING_SEQ) !== 0)
    }
    if (missing !== 0) this.blank(into, count, wish)
    into.count = count
    checkFacts(factsOf(into, 0, count), header, wish)
    if (wish.numbers && firstPresent(into.venueSeq, 0, count) !== firstSeq) {
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

  private readTimes(
    chunk: Chunk,
    platform: TapePlatform,
    into: HeadColumns,
    time: Uint8Array,
    modes: number,
    receivedUnit: number,
    sourceUnit: number,
  ): void {
    const { header } = chunk
    const steps = columnOf(chunk, HEAD_COLUMNS.received, platform)
    const sourceBits = this.bits
    const receivedBits = this.moreBits
    sourceBits.reset(columnOf(chunk, HEAD_COLUMNS.sourceBits, platform))
    receivedBits.reset(columnOf(chunk, HEAD_COLUMNS.receivedBits, platform))
    const { received, source } = into
    const hasSource = header.firstSource !== ABSENT
    const signed = (modes & ZIGZAG_SOURCE) !== 0
    let now = header.firstReceived
    let origin = hasSource ? header.firstSource : 0
    let latency = latencyOf(now, origin, receivedUnit)
    let at = 0
    let sound = true
    // Nearly every row reads source bits: here the reader's place is a local, not a field.
    const bits = sourceBits.bytes
    let place = 0
    for (let row = 0; row < time.length; row++) {
      const symbol = time[row]!
      if (symbol !== 0) {
        if (symbol !== 1) {
          const token = symbol - 1
          const extra = EXTRA_BITS[token]!
          let step = TOKEN_BASE[token]!
          if (extra !== 0 && extra <= 24) {
            const byte = place >> 3
            const word =
              bits[byte]! |
              (bits[byte + 1]! << 8) |
              (bits[byte + 2]! << 16) |
              (bits[byte + 3]! << 24)
            step += (word >>> (place & 7)) & ((1 << extra) - 1)
            place += extra
          } else if (extra !== 0) {
            sourceBits.position = place
            step += sourceBits.read(extra)
            place += extra
          }
          origin += (signed ? unzigzag(step) : step) * sourceUnit
          if (!(origin >= 0 && origin <= Number.MAX_SAFE_INTEGER)) sound = false
        }
        const token = steps[at++]!
        if (token !== 0) {
          const extra = EXTRA_BITS[token]!
          let step = TOKEN_BASE[token]! - 1
          if (extra !== 0) step += receivedBits.read(extra)
          latency += unzigzag(step)
          const before = now
          now = (Math.floor(origin / receivedUnit) + latency) * receivedUnit
          if (!(now > before)) sound = false
        }
      }
      received[row] = now
      source[row] = origin
    }
    if (at !== steps.length) throw corrupt('its received column is too long or too short')
    sourceBits.position = place
    sourceBits.finish()
    receivedBits.finish()
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
    const journals = columnOf(chunk, HEAD_COLUMNS.journal, platform)
    const seqBits = this.bits
    const journalBits = this.moreBits
    seqBits.reset(columnOf(chunk, HEAD_COLUMNS.seqBits, platform))
    journalBits.reset(columnOf(chunk, HEAD_COLUMNS.journalBits, platform))
    if (journals.length !== 0 && journals.length !== time.length) {
      throw corrupt('its rows and its journal column differ in number')
    }
    const { venueSeq, journal } = into
    const signed = (modes & ZIGZAG_SEQ) !== 0
    const follows = (modes & JOURNAL_FOLLOWS_SEQ) !== 0
    let at = 0
    let sound = true
    let seq = firstSeq - 1
    for (let row = 0; row < time.length; row++) {
      let step = 0
      if (time[row] !== 0 && seqs.length > 0) {
        const token = seqs[at++]!
        step = token < DIRECT ? token : TOKEN_BASE[token]! + seqBits.read(EXTRA_BITS[token]!)
      }
      if (!someMissing || (this.absent[row]! & MISSING_SEQ) === 0) {
        seq += (signed ? unzigzag(step) : step) + 1
        if (!(seq >= 0 && seq <= Number.MAX_SAFE_INTEGER)) sound = false
      }
      venueSeq[row] = seq
    }
    // Its own loop: in most chunks the journal just counts along.
    let place = chunk.header.firstJournal - 1
    let before = firstSeq - 1
    for (let row = 0; row < time.length; row++) {
      let drift = 0
      if (journals.length > 0) {
        const token = journals[row]!
        drift = token < DIRECT ? token : TOKEN_BASE[token]! + journalBits.read(EXTRA_BITS[token]!)
      }
      const now = venueSeq[row]!
      place += unzigzag(drift) + (follows ? now - before : 1)
      before = now
      journal[row] = place
      if (!(place >= 0 && place <= Number.MAX_SAFE_INTEGER)) sound = false
    }
    if (at !== seqs.length) throw corrupt('its number column is too long or too short')
    seqBits.finish()
    journalBits.finish()
    if (!sound) throw corrupt('a number is out of range')
  }

  private blank(into: HeadColumns, count: number, wish: HeadWish): void {
    for (let row = 0; row < count; row++) {
      const bits = this.absent[row]!
      if ((bits & MISSING_SOURCE) !== 0) into.source[row] = ABSENT
      if ((bits & MISSING_SEQ) !== 0 && wish.numbers) into.venueSeq[row] = ABSENT
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

function checkFacts(facts: HeadFacts, header: ChunkHeader, wish: HeadWish): void {
  const sound =
    facts.firstReceived === header.firstReceived &&
    facts.lastReceived === header.lastReceived &&
    facts.firstSource === header.firstSource &&
    facts.lastSource === header.lastSource &&
    (!wish.numbers ||
      (facts.firstJournal === header.firstJournal && facts.lastJournal === header.lastJournal))
  if (!sound) throw corrupt('its header does not tell its rows')
}

// Some steps of an unordered feed go back: then all of them carry a sign. The journal either counts
// our rows (an excerpt of one market) or runs along with the venue's numbers (a whole subscription).
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
    // Not `%`: a remainder of doubles costs 20 ns.
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

function backwards(now: number, before: number): PriorbookError {
  return new PriorbookError('invalid_time', `received ${now} comes after ${before}: time runs back`)
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
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
