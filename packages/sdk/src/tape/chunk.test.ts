import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ORIGINS, PriorbookError, VENUE_IDS } from '../domain/index.ts'
import { BookDecoder, BookEncoder } from './book-codec.ts'
import { ByteWriter } from './bytes.ts'
import {
  assembleChunk,
  CHUNK_KINDS,
  chunkHash,
  columnOf,
  encodeChunk,
  NO_HASH,
  openChunk,
  type ChunkHeader,
} from './chunk.ts'
import { ABSENT, BookColumns } from './columns.ts'
import { createNodePlatform } from './platform-node.ts'
import { withoutCompression } from './platform.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const platform = createNodePlatform(3)
const raw = withoutCompression(platform)
const MAX = Number.MAX_SAFE_INTEGER

describe('a chunk', () => {
  it('round-trips any header and columns', () => {
    const columns = fc.array(fc.oneof(fc.uint8Array(), fc.nat(5000).map(zeros)), { maxLength: 20 })
    fc.assert(
      fc.property(aHeader(), columns, fc.boolean(), (header, parts, packs) => {
        const on = packs ? platform : raw
        const chunk = openChunk(encodeChunk(header, parts, on).bytes, on)
        expect(chunk.header).toStrictEqual(header)
        expect(chunk.sections.map((_, index) => hex(columnOf(chunk, index, on)))).toStrictEqual(
          parts.map(hex),
        )
        expect(columnOf(chunk, parts.length, on).length).toBe(0)
      }),
      { numRuns: runsOf(150), seed: 1 },
    )
  })

  it('starts with PBT1 and its version, and ends with its CRC-32', () => {
    const { bytes } = encodeChunk(aPlainHeader, [Uint8Array.of(1, 2)], raw)
    expect(Buffer.from(bytes.subarray(0, 4)).toString('latin1')).toBe('PBT1')
    expect(bytes[4]).toBe(1)
    const end = bytes.length - 4
    expect(new DataView(bytes.buffer, bytes.byteOffset).getUint32(end, true)).toBe(
      crc32(bytes.subarray(0, end)),
    )
  })

  it('stores a column raw where zstd saves less than 32 bytes', () => {
    const noise = createHash('sha512').update('noise').digest()
    const { bytes } = encodeChunk(aPlainHeader, [zeros(24), zeros(200), noise], platform)
    const { sections } = openChunk(bytes, platform)
    expect(sections.map(({ packed }) => packed)).toStrictEqual([false, true, false])
  })

  it('is refused where its columns are more or longer than any store writes', () => {
    // What each of them takes on disk is little.
    const small = { ...platform, compress: () => new Uint8Array(8192) }
    const long = { length: 200 << 20 } as Uint8Array
    const head = openChunk(encodeChunk(aPlainHeader, [], raw).bytes, raw).headerBytes
    const open = (columns: readonly Uint8Array[]) => () =>
      openChunk(assembleChunk(head, columns, small), platform)
    expect(open([long])).not.toThrow()
    expect(open([long, long])).toThrow('too long')
    expect(open(Array.from({ length: 65 }, () => new Uint8Array(1)))).toThrow('too many')
    expect(() => encodeChunk(aPlainHeader, [long, long], small)).toThrow('too many for one chunk')
  })

  it('can contain the hash of the chunk before', () => {
    const first = encodeChunk(aPlainHeader, [], raw)
    const next = encodeChunk({ ...aPlainHeader, first: 2, previousHash: first.hash }, [], raw)
    expect(hex(openChunk(next.bytes, raw).header.previousHash)).toBe(hex(first.hash))
  })
})

describe('the hash of a chunk', () => {
  it('is the SHA-256 of version, lengths, header and columns', () => {
    const parts = [Uint8Array.of(7, 8), zeros(300)]
    const { bytes, hash } = encodeChunk(aPlainHeader, parts, platform)
    const { headerBytes } = openChunk(bytes, platform)
    const lengths = new ByteWriter()
    lengths.byte(1)
    for (const length of [headerBytes.length, 2, 300]) lengths.varint(length)
    const wanted = createHash('sha256').update(lengths.view()).update(headerBytes)
    expect(hex(hash)).toBe(wanted.update(parts[0]!).update(parts[1]!).digest('hex'))
  })

  it('does not depend on how the columns are compressed', () => {
    const rows = someRows()
    const hashes = [raw, ...[1, 3, 9, 12, 19].map(createNodePlatform)].map((on) => {
      const { bytes, hash } = encodeRows(rows, on)
      // Read by another platform than the one that wrote.
      expect(hex(chunkHash(openChunk(bytes, platform), platform))).toBe(hex(hash))
      return hex(hash)
    })
    expect(new Set(hashes).size).toBe(1)
  })

  it('changes with every field of the header and every byte of a column', () => {
    const parts = [Uint8Array.of(1, 2, 3), new Uint8Array(0), Uint8Array.of(4)]
    const hashOf = (header: ChunkHeader, columns: Uint8Array[]): string =>
      hex(encodeChunk(header, columns, raw).hash)
    const others: Partial<ChunkHeader>[] = [
      { kind: 'trade' },
      { venue: 'venuec' },
      { market: 'M2' },
      { key: 'K2' },
      { metric: 'm' },
      { origin: 'import' },
      { recorder: 'r2' },
      { normalizer: 2 },
      { first: 2 },
      { count: 2 },
      { changesBefore: 1 },
      { changes: 2 },
      { priceDecimals: 3 },
      { sizeDecimals: 3 },
      { firstReceived: 101 },
      { lastReceived: 201 },
      { firstSource: 91 },
      { lastSource: 191 },
      { firstJournal: 6 },
      { lastJournal: 8 },
      { previousHash: new Uint8Array(32).fill(1) },
    ]
    expect(others.length).toBe(Object.keys(aPlainHeader).length)
    const hashes = [
      hashOf(aPlainHeader, parts),
      ...others.map((other) => hashOf({ ...aPlainHeader, ...other }, parts)),
      hashOf(aPlainHeader, [Uint8Array.of(1, 2, 4), new Uint8Array(0), Uint8Array.of(4)]),
      hashOf(aPlainHeader, [Uint8Array.of(1, 2), Uint8Array.of(3), Uint8Array.of(4)]),
      hashOf(aPlainHeader, [new Uint8Array(0), Uint8Array.of(1, 2, 3), Uint8Array.of(4)]),
      hashOf(aPlainHeader, parts.slice(0, 2)),
    ]
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})

describe('damage', () => {
  it.each([
    ['compressed', platform],
    ['not compressed', raw],
  ])('of any single bit of a chunk (%s) is detected', (_name, on) => {
    const { bytes } = encodeRows(someRows(), on)
    expect(codeOf(() => openChunk(bytes, on))).toBe('none')
    const codes = new Set<string>()
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      codes.add(codeOf(() => openChunk(bytes, on)))
      bytes[bit >> 3]! ^= 1 << (bit & 7)
    }
    expect([...codes]).toStrictEqual(['corrupt_chunk'])
  })

  it('by truncation at any byte or added bytes is detected', () => {
    const { bytes } = encodeRows(someRows(), platform)
    const codes = new Set<string>()
    for (let length = 0; length < bytes.length; length++) {
      codes.add(codeOf(() => openChunk(bytes.subarray(0, length), platform)))
      codes.add(codeOf(() => openChunk(bytes.subarray(length + 1), platform)))
    }
    codes.add(codeOf(() => openChunk(Buffer.concat([bytes, zeros(1)]), platform)))
    codes.add(codeOf(() => openChunk(Buffer.concat([bytes, bytes]), platform)))
    expect([...codes]).toStrictEqual(['corrupt_chunk'])
  })

  it('by two swapped bytes or a run of zeros is detected', () => {
    const { bytes } = encodeRows(someRows(), platform)
    const codes = new Set<string>()
    for (let at = 0; at + 8 <= bytes.length; at++) {
      const swapped = bytes.slice()
      ;[swapped[at], swapped[at + 1]] = [swapped[at + 1]!, swapped[at]!]
      if (swapped[at] !== bytes[at]) codes.add(codeOf(() => openChunk(swapped, platform)))
      const zeroed = bytes.slice().fill(0, at, at + 8)
      if (!bytes.subarray(at, at + 8).every((byte) => byte === 0)) {
        codes.add(codeOf(() => openChunk(zeroed, platform)))
      }
    }
    expect([...codes]).toStrictEqual(['corrupt_chunk'])
  })
})

const aPlainHeader: ChunkHeader = {
  kind: 'book',
  venue: 'venueb',
  market: 'M',
  key: 'K',
  metric: '',
  origin: 'live',
  recorder: 'r',
  normalizer: 1,
  first: 1,
  count: 1,
  changesBefore: 0,
  changes: 1,
  priceDecimals: 2,
  sizeDecimals: 2,
  firstReceived: 100,
  lastReceived: 200,
  firstSource: 90,
  lastSource: 190,
  firstJournal: 5,
  lastJournal: 7,
  previousHash: NO_HASH,
}

function aHeader(): fc.Arbitrary<ChunkHeader> {
  const some = (max: number): fc.Arbitrary<number> =>
    fc.nat(100).map((value) => Math.min(value, max))
  const aText = fc.string({ unit: 'binary', maxLength: 40 })
  return fc
    .record({
      kind: fc.constantFrom(...CHUNK_KINDS),
      venue: fc.constantFrom(...VENUE_IDS),
      key: aText.filter((text) => text !== ''),
      other: fc.option(aText.filter((text) => text !== '')),
      metric: aText,
      origin: fc.constantFrom(...ORIGINS),
      recorder: aText,
      normalizer: fc.maxSafeNat(),
      first: fc.integer({ min: 1, max: 2 ** 52 }),
      count: fc.integer({ min: 1, max: 2 ** 20 }),
      changesBefore: fc.nat(2 ** 52),
      changes: fc.nat(2 ** 52 - 1),
      priceDecimals: some(6),
      sizeDecimals: some(15),
      received: fc.tuple(fc.maxSafeNat(), fc.maxSafeNat()),
      source: fc.option(fc.tuple(fc.nat(MAX - 1), fc.nat(MAX - 1))),
      journal: fc.tuple(fc.maxSafeNat(), fc.maxSafeNat()),
      hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    })
    .map(({ other, received, source, journal, hash, ...rest }) => ({
      ...rest,
      market: other ?? rest.key,
      firstReceived: Math.min(...received),
      lastReceived: Math.max(...received),
      firstSource: source?.[0] ?? ABSENT,
      lastSource: source?.[1] ?? ABSENT,
      firstJournal: journal[0],
      lastJournal: journal[1],
      previousHash: hash,
    }))
}

/** A few rows of every kind of column, so that a small chunk has them all. */
function someRows(): BookColumns {
  const rows = new BookColumns(4)
  rows.baseKey = [9600, 10_401]
  rows.baseSize = [100, 2 ** 40]
  let seq = 1000
  for (let row = 0; row < 40; row++) {
    const received = 1_785_931_200_000_000 + row * 1003
    const source = row % 7 === 3 ? ABSENT : received - 2000 - (row % 5) * 117
    seq += row % 6 === 2 ? -3 : 1 + (row % 3)
    const head = {
      received,
      source,
      venueSeq: seq,
      channel: row >> 5,
      journal: seq,
      flags: row & 8,
    }
    const keys = Array.from({ length: row % 3 }, (_, index) => 9001 + row * 2 + index)
    rows.push(
      head,
      keys,
      keys.map((key) => (key % 5) * 1000 + row),
    )
  }
  return rows
}

function encodeRows(rows: BookColumns, on: typeof platform) {
  const base = { key: rows.baseKey, size: rows.baseSize }
  const identity = { ...aPlainHeader, changesBefore: 0 }
  const encoded = new BookEncoder().encode(rows, 0, rows.count, base, identity, on)
  const decoded = new BookColumns()
  new BookDecoder().decode(openChunk(encoded.bytes, on), on, decoded, { numbers: true })
  expect(decoded.count).toBe(rows.count)
  return encoded
}

function zeros(length: number): Uint8Array {
  return new Uint8Array(length)
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
