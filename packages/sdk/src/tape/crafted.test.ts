import { crc32, zstdCompressSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { POW10, PriorbookError } from '../domain/index.ts'
import { BOOK_COLUMNS, BookDecoder, BookEncoder } from './book-codec.ts'
import { ByteWriter } from './bytes.ts'
import { columnOf, encodeChunk, NO_HASH, openChunk, type ChunkHeader } from './chunk.ts'
import { ABSENT, BookColumns, SampleColumns, TradeColumns, type HeadColumns } from './columns.ts'
import { HEAD_COLUMNS } from './head-codec.ts'
import { createNodePlatform } from './platform-node.ts'
import { withoutCompression } from './platform.ts'
import { decodeSamples, encodeSamples, SAMPLE_COLUMNS } from './sample-codec.ts'
import { decodeTrades, encodeTrades, TRADE_COLUMNS } from './trade-codec.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

/**
 * Chunks whose checksum holds but whose content contradicts itself: written by a wrong or hostile
 * program. Reading them must end in `corrupt_chunk`, without absurd memory, never in wrong rows.
 */

const platform = createNodePlatform(3)
const raw = withoutCompression(platform)
const MAX = Number.MAX_SAFE_INTEGER
const NOON = 1_785_931_200_000_000
const decoder = new BookDecoder()
const ALL = { ...HEAD_COLUMNS, ...BOOK_COLUMNS }
const identity = {
  venue: 'venueb',
  market: 'KX',
  key: 'KX',
  origin: 'live',
  recorder: 'r1',
  normalizer: 1,
  first: 1,
  previousHash: NO_HASH,
} as const

type Parts = { readonly header: ChunkHeader; readonly columns: readonly Uint8Array[] }

const book = partsOf(encodeBook(2))
const fineBook = partsOf(encodeBook(5))
const trades = partsOf(encodeSomeTrades())
const samples = partsOf(encodeSomeSamples())

describe('a header', () => {
  it.each<[name: string, wrong: Partial<ChunkHeader>]>([
    ['no rows', { count: 0 }],
    ['one row too many', { count: book.header.count + 1 }],
    ['one row too few', { count: book.header.count - 1 }],
    ['a million rows', { count: 1 << 20 }],
    ['no change', { changes: 0 }],
    ['one change too many', { changes: book.header.changes + 1 }],
    ['one change too few', { changes: book.header.changes - 1 }],
    ['absurdly many changes', { changes: 2 ** 50 }],
    ['no first sequence', { first: 0 }],
    ['a sequence beyond 2^53 − 1', { first: MAX }],
    ['a count of changes beyond 2^53 − 1', { changesBefore: MAX }],
    ['finer prices than are known', { priceDecimals: 7 }],
    ['finer sizes than are known', { sizeDecimals: 16 }],
    ['coarser prices than it holds', { priceDecimals: 1 }],
    ['finer prices than it holds', { priceDecimals: 3 }],
    ['another first received time', { firstReceived: NOON - 7 }],
    ['another last received time', { lastReceived: book.header.lastReceived + 1 }],
    ['another first source time', { firstSource: book.header.firstSource + 1 }],
    ['another last source time', { lastSource: book.header.lastSource - 1 }],
    ['a last source time without a first', { firstSource: ABSENT }],
    ['no source times', { firstSource: ABSENT, lastSource: ABSENT }],
    ['another first journal place', { firstJournal: book.header.firstJournal + 1 }],
    ['another last journal place', { lastJournal: book.header.lastJournal + 1 }],
    ['another kind of rows', { kind: 'trade' }],
  ])('with %s is rejected', (_name, wrong) => {
    expect(readBook({ ...book, header: { ...book.header, ...wrong } })).toBe('corrupt_chunk')
  })

  it('cannot be written with more rows than a reader accepts', () => {
    const header = { ...book.header, count: (1 << 20) + 1 }
    expect(codeOf(() => encodeChunk(header, book.columns, raw))).toBe('unrepresentable')
  })

  it('does not make a reader allocate before it is verified', () => {
    for (const wrong of [{ count: 1 << 20 }, { changes: 2 ** 28 }, { changes: 2 ** 50 }]) {
      const into = new BookColumns()
      const { bytes } = encodeChunk({ ...book.header, ...wrong }, book.columns, raw)
      const read = (): void => decoder.decode(openChunk(bytes, raw), raw, into, { numbers: true })
      expect(codeOf(read)).toBe('corrupt_chunk')
      expect([into.received.length, into.key.length]).toStrictEqual([64, 64])
    }
  })
})

describe('a container', () => {
  const headerBytes = openChunk(encodeChunk(book.header, [], raw).bytes, raw).headerBytes
  const packed = zstdCompressSync(new Uint8Array(1000))

  it.each<[name: string, write: (out: ByteWriter) => void]>([
    ['an absurd header length', (out) => out.varint(MAX)],
    ['a header that is too short', (out) => writeHeader(out, headerBytes.subarray(0, -1))],
    ['a header that is too long', (out) => writeHeader(out, [...headerBytes, 0])],
    ['an unknown kind', (out) => writeHeader(out, headerBytes.with(0, 3))],
    ['an unknown origin', (out) => writeHeader(out, headerBytes.with(1, 3))],
    ['an unknown venue', (out) => writeHeader(out, headerBytes.with(8, 0x78))],
    ['text that is not UTF-8', (out) => writeHeader(out, headerBytes.with(8, 0xff))],
    ['more columns than it has', (out) => writeSections(out, 3, [[1, 0, [7]]])],
    ['absurdly many columns', (out) => writeSections(out, MAX, [[1, 0, [7]]])],
    ['fewer columns than it has', (out) => writeSections(out, 0, [[1, 0, [7]]])],
    ['an absurd column length', (out) => writeSections(out, 1, [[MAX, 0, [7]]])],
    ['an absurd unpacked length', (out) => writeSections(out, 1, [[2 ** 28 + 1, 9, packed]])],
    [
      'a small column that unpacks to gigabytes',
      (out) => writeSections(out, 1, [[packed.length * 32_768 + 1, packed.length, packed]]),
    ],
    [
      'a column packed for nothing',
      (out) => writeSections(out, 1, [[packed.length, packed.length, packed]]),
    ],
    [
      'bytes behind its columns',
      (out) => {
        writeSections(out, 1, [[1, 0, [7]]])
        out.byte(0)
      },
    ],
  ])('with %s is rejected', (_name, write) => {
    const out = new ByteWriter()
    out.raw(Buffer.from('PBT1\u{1}'))
    write(out)
    expect(codeOf(() => openChunk(seal(out), platform))).toBe('corrupt_chunk')
  })

  it.each<[name: string, rawLength: number, stored: Uint8Array]>([
    ['shorter than it says', 1001, packed],
    ['longer than it says', 999, packed],
    ['much longer than it says', 20, packed],
    ['not zstd', 1000, packed.map((byte) => byte ^ 255)],
    ['cut', 1000, packed.subarray(0, -2)],
  ])('with a column that is %s is rejected', (_name, rawLength, stored) => {
    const out = new ByteWriter()
    out.raw(Buffer.from('PBT1\u{1}'))
    writeSections(out, 1, [[rawLength, stored.length, stored]])
    const chunk = openChunk(seal(out), platform)
    expect(codeOf(() => columnOf(chunk, 0, platform))).toBe('corrupt_chunk')
  })

  it('of another version has another error than a damaged one', () => {
    const bytes = encodeChunk(book.header, book.columns, raw).bytes.slice(0, -4)
    bytes[4] = 2
    const out = new ByteWriter()
    out.raw(bytes)
    expect(codeOf(() => openChunk(seal(out), raw))).toBe('unsupported_format')
  })

  function writeHeader(out: ByteWriter, header: Iterable<number>): void {
    const bytes = Uint8Array.from(header)
    out.varint(bytes.length)
    out.raw(bytes)
    out.varint(0)
  }

  function writeSections(
    out: ByteWriter,
    count: number,
    sections: readonly [rawLength: number, packedLength: number, stored: Iterable<number>][],
  ): void {
    out.varint(headerBytes.length)
    out.raw(headerBytes)
    out.varint(count)
    for (const [rawLength, packedLength, stored] of sections) {
      out.varint(rawLength)
      out.varint(packedLength)
      out.raw(Uint8Array.from(stored))
    }
  }
})

describe('book columns', () => {
  it.each<
    [name: string, column: keyof typeof ALL, change: (bytes: Uint8Array) => Iterable<number>]
  >([
    ['without a frame', 'frame', () => []],
    ['with an unknown mode', 'frame', (bytes) => [8, ...bytes.subarray(1)]],
    ['with a received unit of 0', 'frame', (bytes) => [bytes[0]!, 0, ...bytes.subarray(3)]],
    ['with a frame that goes on', 'frame', (bytes) => [...bytes, 0]],
    ['with a frame that is cut', 'frame', (bytes) => bytes.subarray(0, -1)],
    ['with a time that is not a token', 'time', (bytes) => bytes.with(5, 115)],
    ['with a last time that is not a token', 'time', (bytes) => bytes.with(bytes.length - 1, 255)],
    ['with a time too many', 'time', (bytes) => [...bytes, 0]],
    ['with a received time too few', 'received', (bytes) => bytes.subarray(1)],
    ['with a received time too many', 'received', (bytes) => [...bytes, 0]],
    ['with a received token that is none', 'received', (bytes) => bytes.with(3, 200)],
    ['with received times that run back', 'received', (bytes) => bytes.with(3, 18)],
    ['with source bits too few', 'sourceBits', (bytes) => bytes.subarray(0, -1)],
    ['with source bits too many', 'sourceBits', (bytes) => [...bytes, 0]],
    ['with received bits too many', 'receivedBits', (bytes) => [...bytes, 0]],
    ['with a number too few', 'seq', (bytes) => bytes.subarray(0, -1)],
    ['with a number too many', 'seq', (bytes) => [...bytes, 0]],
    ['with a number that is not a token', 'seq', (bytes) => bytes.with(4, 114)],
    ['without numbers', 'seq', () => []],
    ['with number bits too many', 'seqBits', (bytes) => [...bytes, 0]],
    ['with a journal position too few', 'journal', (bytes) => bytes.subarray(0, -1)],
    ['with a journal position too many', 'journal', (bytes) => [...bytes, 0]],
    ['with a journal position that is not a token', 'journal', (bytes) => bytes.with(4, 255)],
    ['without a keyframe', 'keyframe', () => []],
    ['with a keyframe of absurd length', 'keyframe', (bytes) => [...varint(MAX), ...bytes]],
    ['with a keyframe that goes on', 'keyframe', (bytes) => [...bytes, 0]],
    ['with a price of 0 before', 'keyframe', () => [1, 1, 5]],
    ['with a price of 1 before', 'keyframe', () => [1, ...varint(200), 5]],
    ['with a price of the end of the scale before', 'keyframe', () => [1, ...varint(MAX), 5]],
    ['with a price twice before', 'keyframe', () => [2, 96, 5, 0, 5]],
    ['with a size of 0 before', 'keyframe', () => [1, 96, 0]],
    ['with counts that go on', 'counts', (bytes) => [...bytes, 0]],
    ['with counts that are cut', 'counts', (bytes) => bytes.subarray(0, -1)],
    ['with an absurd count', 'counts', (bytes) => [...varint(2 ** 32), ...bytes.subarray(1)]],
    ['with one change more in a row', 'counts', (bytes) => bytes.with(2, bytes[2]! + 1)],
    ['without counts', 'counts', () => []],
    ['with a price too few', 'keyLow', (bytes) => bytes.subarray(1)],
    ['with a price too many', 'keyLow', (bytes) => [...bytes, 96]],
    ['with a price of 0', 'keyLow', (bytes) => bytes.with(3, 1)],
    ['with a price of 1', 'keyLow', (bytes) => bytes.with(3, 200)],
    ['with a price beyond', 'keyLow', (bytes) => bytes.with(3, 255)],
    ['with a second byte of prices', 'keyMiddle', () => book.columns[BOOK_COLUMNS.keyLow]!],
    ['with a third byte of prices', 'keyHigh', () => [0]],
    ['with a size too few', 'sizeTokens', (bytes) => bytes.subarray(1)],
    ['with a size too many', 'sizeTokens', (bytes) => [...bytes, 0]],
    ['with an amount that is not listed', 'sizeTokens', (bytes) => bytes.with(0, 254)],
    ['with a size below zero', 'sizeTokens', (bytes) => bytes.with(0, 6)],
    ['without sizes in full', 'sizeValues', () => []],
    ['with a list that is too long', 'sizeValues', (bytes) => [127, ...bytes.subarray(1)]],
    ['with sizes in full that go on', 'sizeValues', (bytes) => [...bytes, 0]],
    ['with sizes in full that are cut', 'sizeValues', (bytes) => bytes.subarray(0, -1)],
  ])('%s are rejected', (_name, column, change) => {
    // A chunk with other decimals and amounts goes before, so that its scratch space is there.
    expect(readBook(fineBook)).toBe('none')
    const columns = book.columns.with(
      ALL[column],
      Uint8Array.from(change(book.columns[ALL[column]]!)),
    )
    expect(readBook({ ...book, columns })).toBe('corrupt_chunk')
  })

  it('of an absurd size are rejected', () => {
    const columns = book.columns.with(
      BOOK_COLUMNS.keyframe,
      Uint8Array.from([1, ...varint(book.columns[BOOK_COLUMNS.keyLow]![0]!), ...varint(MAX)]),
    )
    const sizes = Array.from(columns[BOOK_COLUMNS.sizeTokens]!, () => 255)
    const values = [0, ...sizes.flatMap(() => [1])]
    const grown = columns
      .with(BOOK_COLUMNS.sizeTokens, Uint8Array.from(sizes))
      .with(BOOK_COLUMNS.sizeValues, Uint8Array.from(values))
    expect(readBook({ ...book, columns: grown })).toBe('corrupt_chunk')
  })

  it('decode the same whatever was decoded before', () => {
    const tokens = Uint8Array.from(book.columns[BOOK_COLUMNS.sizeTokens]!.with(1, 1))
    const parts = { ...book, columns: book.columns.with(BOOK_COLUMNS.sizeTokens, tokens) }
    const sizesOf = (on: BookDecoder): number[] => {
      const into = new BookColumns()
      on.decode(reopened(parts), raw, into, { numbers: true })
      return [...into.size.subarray(0, into.changeCount)]
    }
    // The second change undoes a change that its level never had, in this chunk.
    const fresh = sizesOf(new BookDecoder())
    const used = new BookDecoder()
    for (const before of [fineBook, book]) {
      used.decode(reopened(before), raw, new BookColumns(), { numbers: true })
    }
    expect(sizesOf(used)).toStrictEqual(fresh)
  })

  it('are rejected where there are too few or too many', () => {
    expect(readBook({ ...book, columns: book.columns.slice(0, -1) })).toBe('corrupt_chunk')
    expect(readBook({ ...book, columns: [...book.columns, new Uint8Array(0)] })).toBe(
      'corrupt_chunk',
    )
  })
})

describe('trade and sample columns', () => {
  const readTrades = (parts: Parts): string =>
    codeOf(() => decodeTrades(reopened(parts), raw, new TradeColumns()))
  const readSamples = (parts: Parts): string =>
    codeOf(() => decodeSamples(reopened(parts), raw, new SampleColumns()))

  it.each<
    [
      name: string,
      column: keyof typeof TRADE_COLUMNS,
      change: (bytes: Uint8Array) => Iterable<number>,
    ]
  >([
    ['with a price too few', 'prices', (bytes) => bytes.subarray(0, -1)],
    ['with a price too many', 'prices', (bytes) => [...bytes, 0]],
    ['with a price beyond 1', 'prices', (bytes) => [...varint(MAX), ...bytes.subarray(2)]],
    ['with a size too few', 'sizes', (bytes) => bytes.subarray(0, -1)],
    ['with a size too many', 'sizes', (bytes) => [...bytes, 0]],
    ['without ids', 'ids', () => []],
    ['with ids of an unknown form', 'ids', (bytes) => bytes.with(0, 2)],
    ['with an id too few', 'ids', (bytes) => bytes.subarray(0, -1)],
    ['with an id too many', 'ids', (bytes) => [...bytes, 0]],
    ['with an id of absurd length', 'ids', () => [0, ...varint(MAX), 65]],
  ])('%s are rejected', (_name, column, change) => {
    expect(readTrades(trades)).toBe('none')
    const at = TRADE_COLUMNS[column]
    const columns = trades.columns.with(at, Uint8Array.from(change(trades.columns[at]!)))
    expect(readTrades({ ...trades, columns })).toBe('corrupt_chunk')
  })

  it('of another kind, number or precision are rejected', () => {
    expect(readTrades(samples)).toBe('corrupt_chunk')
    expect(readSamples(trades)).toBe('corrupt_chunk')
    expect(readTrades({ ...trades, columns: trades.columns.slice(0, -1) })).toBe('corrupt_chunk')
    expect(readSamples({ ...samples, columns: samples.columns.slice(0, -1) })).toBe('corrupt_chunk')
    const finer = { ...trades, header: { ...trades.header, priceDecimals: 5 } }
    expect(readTrades(finer)).toBe('corrupt_chunk')
  })

  it('of samples with missing, extra or too large values are rejected', () => {
    expect(readSamples(samples)).toBe('none')
    const values = samples.columns.at(-1)!
    const most = [0xbf, ...varint(2 ** 47 - 1)]
    for (const bytes of [values.subarray(0, -1), [...values, 0], [...most, ...most, 0]]) {
      const columns = samples.columns.with(SAMPLE_COLUMNS.values, Uint8Array.from(bytes))
      expect(readSamples({ ...samples, columns })).toBe('corrupt_chunk')
    }
  })
})

describe('any mutation of a header or a column', () => {
  it('is rejected or decodes to valid rows that agree with the header', () => {
    const outcomes = new Map<string, number>()
    const runs = runsOf(5000)
    const pick = fc.nat()
    const aMutation = fc.record({ which: pick, at: pick, how: fc.nat(6), value: fc.nat(255) })
    fc.assert(
      fc.property(fc.array(aMutation, { minLength: 1, maxLength: 3 }), pick, (mutations, kind) => {
        const parts = [book, fineBook, trades, samples][kind % 4]!
        const code = readAny(mutate(parts, mutations))
        outcomes.set(code, (outcomes.get(code) ?? 0) + 1)
        expect(['none', 'corrupt_chunk']).toContain(code)
      }),
      { numRuns: runs, seed: 1 },
    )
    // Most contradict something; some are another chunk that could have been written.
    expect(outcomes.get('corrupt_chunk')).toBeGreaterThan(runs / 2)
    expect(outcomes.get('none')).toBeGreaterThan(runs / 83)
  })
})

type Mutation = {
  readonly which: number
  readonly at: number
  readonly how: number
  readonly value: number
}

function mutate(parts: Parts, mutations: readonly Mutation[]): Parts {
  const columns = [...parts.columns]
  let { header } = parts
  for (const { which, at, how, value } of mutations) {
    const index = which % (columns.length + 2)
    if (index >= columns.length) {
      header = { ...header, ...mutateHeader(header, at, value) }
      continue
    }
    const bytes = [...columns[index]!]
    const place = bytes.length === 0 ? 0 : at % bytes.length
    if (how === 0) bytes.splice(place, 1)
    else if (how === 1) bytes.splice(place, 0, value)
    else if (how === 2) bytes.length = place
    else if (how === 3) bytes.push(value)
    else if (bytes.length > 0) bytes[place]! ^= how === 4 ? 1 << (value & 7) : value
    columns[index] = Uint8Array.from(bytes)
  }
  return { header, columns }
}

function mutateHeader(header: ChunkHeader, at: number, value: number): Partial<ChunkHeader> {
  const names = [
    'count',
    'changes',
    'priceDecimals',
    'firstReceived',
    'lastReceived',
    'firstSource',
    'lastSource',
    'firstJournal',
    'lastJournal',
    'changesBefore',
    'first',
    'sizeDecimals',
  ] as const
  const name = names[at % names.length]!
  const far = [
    0,
    1,
    MAX - 1,
    2 ** 32,
    2 ** 31,
    value,
    header[name] + 1,
    Math.max(0, header[name] - 1),
  ]
  const next = { ...header, [name]: far[value % far.length]! }
  // Such headers the writer refuses by itself.
  return next.lastReceived < next.firstReceived || next.count > 2 ** 20 ? {} : next
}

/** Reads parts as their kind; rows that come back are held against all that a reader may rely on. */
function readAny(parts: Parts): string {
  return codeOf(() => {
    const chunk = reopened(parts)
    const { header } = chunk
    if (header.kind === 'book') {
      const into = new BookColumns()
      decoder.decode(chunk, raw, into, { numbers: true })
      assertSound(problemOfHeads(into, header) + problemOfBooks(into, header))
    } else if (header.kind === 'trade') {
      const into = new TradeColumns()
      decodeTrades(chunk, raw, into)
      const sound =
        into.price.every((price) => price >= 0 && price <= 10_000) &&
        into.size.every((size) => Number.isSafeInteger(size) && size >= 0) &&
        into.tradeId.length === header.count
      assertSound(problemOfHeads(into, header) + (sound ? '' : 'a trade'))
    } else {
      const into = new SampleColumns()
      decodeSamples(chunk, raw, into)
      const sound = into.value.every(Number.isSafeInteger)
      assertSound(problemOfHeads(into, header) + (sound ? '' : 'a value'))
    }
  })
}

function assertSound(problem: string): void {
  if (problem !== '') throw new Error(`wrong rows were given: ${problem}`)
}

function problemOfHeads(rows: HeadColumns, header: ChunkHeader): string {
  const count = rows.count
  if (count !== header.count) return 'count'
  for (const name of ['received', 'source', 'venueSeq', 'channel', 'journal'] as const) {
    const least = name === 'received' || name === 'journal' ? 0 : ABSENT
    const column = rows[name].subarray(0, count)
    if (!column.every((value) => Number.isSafeInteger(value) && value >= least)) return name
  }
  for (let row = 1; row < count; row++) {
    if (rows.received[row]! < rows.received[row - 1]!) return 'received runs back'
  }
  const sources = [...rows.source.subarray(0, count)].filter((time) => time !== ABSENT)
  const facts = [
    [rows.received[0], header.firstReceived],
    [rows.received[count - 1], header.lastReceived],
    [sources[0] ?? ABSENT, header.firstSource],
    [sources.at(-1) ?? ABSENT, header.lastSource],
    [rows.journal[0], header.firstJournal],
    [rows.journal[count - 1], header.lastJournal],
  ]
  return facts.every(([got, stated]) => got === stated) ? '' : 'facts'
}

function problemOfBooks(rows: BookColumns, header: ChunkHeader): string {
  const most = 2 * POW10[header.priceDecimals]!
  if (rows.changeCount !== header.changes) return 'changes'
  let end = 0
  for (let row = 0; row < rows.count; row++) {
    if (rows.changeEnd[row]! < end) return 'changes run back'
    end = rows.changeEnd[row]!
  }
  const keys = [...rows.key.subarray(0, end), ...rows.baseKey]
  const sizes = [...rows.size.subarray(0, end), ...rows.baseSize]
  if (!keys.every((key) => key >= 2 && key < most)) return 'prices'
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) return 'sizes'
  if (new Set(rows.baseKey).size !== rows.baseKey.length) return 'a level twice'
  return rows.baseSize.every((size) => size > 0) ? '' : 'an empty level'
}

function readBook(parts: Parts): string {
  return codeOf(() => decoder.decode(reopened(parts), raw, new BookColumns(), { numbers: true }))
}

function reopened({ header, columns }: Parts) {
  return openChunk(encodeChunk(header, columns, raw).bytes, raw)
}

function partsOf(bytes: Uint8Array): Parts {
  const chunk = openChunk(bytes, raw)
  return {
    header: chunk.header,
    columns: chunk.sections.map((_, index) => columnOf(chunk, index, raw)),
  }
}

/** Rows that use every column: signs, absences, several changes, listed and full sizes. */
function encodeBook(decimals: number): Uint8Array {
  const rows = new BookColumns(decimals)
  const tick = POW10[decimals - 2]!
  rows.baseKey = [80 * tick, 121 * tick]
  rows.baseSize = [500, 900]
  let seq = 5000
  let journal = 70
  for (let row = 0; row < 60; row++) {
    const received = NOON + row * 1700
    const source = row % 9 === 4 ? ABSENT : received - 4000 + (row % 7) * 350
    seq += row % 11 === 5 ? -8 : 1 + (row % 4) * 20
    journal += row % 8 === 3 ? 41 : 1
    const numbers = { venueSeq: row % 13 === 6 ? ABSENT : seq, channel: row >> 5, journal }
    const keys = Array.from({ length: row === 7 ? 5 : row % 3 }, (_, at) =>
      decimals === 2 ? 90 + ((row * 3 + at) % 20) : 90_001 + row * 3 + at,
    )
    const sizes = keys.map((_, at) => [700, 1400, 0, 700 + row * 131][(row + at) % 4]!)
    rows.push({ received, source, ...numbers, flags: row % 10 === 0 ? 8 : 0 }, keys, sizes)
  }
  const base = { key: rows.baseKey, size: rows.baseSize }
  return new BookEncoder().encode(rows, 0, rows.count, base, { ...identity, changesBefore: 3 }, raw)
    .bytes
}

function encodeSomeTrades(): Uint8Array {
  const rows = new TradeColumns()
  for (let row = 0; row < 20; row++) {
    const received = NOON + row * 2000
    const numbers = { venueSeq: ABSENT, channel: ABSENT, journal: row * 2, flags: 0 }
    const id = `trade-${row}`
    rows.push({ received, source: received - 3, ...numbers }, id, 4800 + row, row * 100, row % 3)
  }
  return encodeTrades(rows, 0, rows.count, identity, raw).bytes
}

function encodeSomeSamples(): Uint8Array {
  const rows = new SampleColumns()
  for (let row = 0; row < 20; row++) {
    const numbers = { venueSeq: ABSENT, channel: ABSENT, journal: row + 1, flags: 0 }
    rows.push({ received: NOON + row * 60_000_000, source: ABSENT, ...numbers }, 52e6 - row * 7e5)
  }
  return encodeSamples(rows, 0, rows.count, { ...identity, metric: 'chance' }, raw).bytes
}

function seal(out: ByteWriter): Uint8Array {
  out.uint32(crc32(out.view()))
  return out.copy()
}

function varint(value: number): Uint8Array {
  const out = new ByteWriter()
  out.varint(value)
  return out.copy()
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    if (error instanceof PriorbookError) return error.code
    throw error
  }
}
