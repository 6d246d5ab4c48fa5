import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from '../domain/index.ts'
import { ByteReader, ByteWriter, unzigzag, zigzag } from './bytes.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const MAX = Number.MAX_SAFE_INTEGER
const aNumber = fc.oneof(fc.maxSafeNat(), fc.nat(300), aboutPowersOfTwo())

describe('a varint', () => {
  it.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2 ** 31, '8080808008'],
    [2 ** 32 - 1, 'ffffffff0f'],
    [MAX, 'ffffffffffffff0f'],
  ])('writes %i as %s', (value, hex) => {
    expect(hexOf((out) => out.varint(value))).toBe(hex)
  })

  it('round-trips over the whole range', () => {
    fc.assert(
      fc.property(fc.array(aNumber), (values) => {
        const out = new ByteWriter(1)
        for (const value of values) out.varint(value)
        const reader = new ByteReader(out.copy())
        expect(values.map(() => reader.varint())).toStrictEqual(values)
        reader.finish()
      }),
      { numRuns: runsOf(400), seed: 1 },
    )
  })

  it.each([-1, NaN, Infinity, 2 ** 53])('refuses to write %d', (value) => {
    expect(codeOf(() => new ByteWriter().varint(value))).toBe('unrepresentable')
  })

  it.each(['', '80', 'ffffff', 'ffffffffffffff10', 'ffffffffffffff7f', 'ffffffffffffffff01'])(
    'refuses to read %j',
    (hex) => {
      expect(codeOf(() => readerOf(hex).varint())).toBe('corrupt_chunk')
    },
  )
})

describe('a signed number', () => {
  it.each([
    [0, '00'],
    [63, '3f'],
    [-63, '7f'],
    [64, '8001'],
    [-64, 'c001'],
    [-1, '41'],
    [MAX, 'bfffffffffffff1f'],
    [-MAX, 'ffffffffffffff1f'],
  ])('writes %i as %s', (value, hex) => {
    expect(hexOf((out) => out.signed(value))).toBe(hex)
    expect(readerOf(hex).signed()).toBe(value)
  })

  it('round-trips over the whole range', () => {
    const aSigned = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -200, max: 200 }))
    fc.assert(
      fc.property(fc.array(aSigned), (values) => {
        const out = new ByteWriter(1)
        for (const value of values) out.signed(value)
        const reader = new ByteReader(out.copy())
        expect(values.map(() => reader.signed() + 0)).toStrictEqual(
          values.map((value) => value + 0),
        )
        reader.finish()
      }),
      { numRuns: runsOf(400), seed: 2 },
    )
  })

  it('rejects numbers above 53 bits', () => {
    for (const value of [2 ** 53, -(2 ** 53), NaN, Infinity]) {
      expect(codeOf(() => new ByteWriter().signed(value))).toBe('unrepresentable')
    }
    expect(codeOf(() => readerOf('bfffffffffffff20').signed())).toBe('corrupt_chunk')
    expect(codeOf(() => readerOf('80').signed())).toBe('corrupt_chunk')
  })
})

describe('texts, words and raw bytes', () => {
  it('round-trip for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(2 ** 32 - 1), (text, word) => {
        const out = new ByteWriter(1)
        out.text(text)
        out.uint32(word)
        out.raw(Uint8Array.of(1, 2))
        out.byte(255)
        const reader = new ByteReader(out.view())
        expect(reader.text()).toBe(text)
        expect(reader.uint32()).toBe(word)
        expect([...reader.raw(2), reader.byte()]).toStrictEqual([1, 2, 255])
        reader.finish()
      }),
      { numRuns: runsOf(200), seed: 3 },
    )
  })

  it.each([0, 1, 127, 128, 16_383, 16_384])('are UTF-8 at a length of %i characters', (length) => {
    for (const end of ['', 'é', '\u{1f4d6}']) {
      const text = 'a'.repeat(length) + end
      const out = new ByteWriter(1)
      out.text(text)
      const { length: bytes } = Buffer.from(text)
      expect(Buffer.from(out.view().subarray(out.length - bytes)).toString()).toBe(text)
      const reader = new ByteReader(out.view())
      expect(reader.text()).toBe(text)
      reader.finish()
    }
  })

  it('keep a byte order mark', () => {
    const out = new ByteWriter()
    out.text('\u{feff}KX')
    expect(new ByteReader(out.copy()).text()).toBe('\u{feff}KX')
  })

  it('are little-endian', () => {
    expect(hexOf((out) => out.uint32(0x31544250))).toBe('50425431')
  })

  it.each<[string, string, (reader: ByteReader) => unknown]>([
    ['a byte', '', (reader) => reader.byte()],
    ['a word', '010203', (reader) => reader.uint32()],
    ['raw bytes', '01', (reader) => reader.raw(2)],
    ['an absurd number of them', '01', (reader) => reader.raw(MAX)],
    ['a text', '0361', (reader) => reader.text()],
    ['a text that is not UTF-8', '02c328', (reader) => reader.text()],
    ['leftovers', '01', (reader) => reader.finish()],
  ])('throw for a missing %s', (_name, hex, read) => {
    expect(codeOf(() => read(readerOf(hex)))).toBe('corrupt_chunk')
  })

  it('keep their memory when cleared', () => {
    const out = new ByteWriter(4)
    out.raw(new Uint8Array(100))
    out.clear()
    out.byte(7)
    expect([...out.view()]).toStrictEqual([7])
    expect(out.bytes.length).toBe(100)
  })
})

describe('zigzag', () => {
  it('moves the sign into the lowest bit', () => {
    expect([0, -1, 1, -2, 2].map(zigzag)).toStrictEqual([0, 1, 2, 3, 4])
  })

  it('is reversible for every magnitude below 2^52', () => {
    const half = fc.integer({ min: -(2 ** 52) + 1, max: 2 ** 52 - 1 })
    fc.assert(
      fc.property(fc.oneof(half, fc.integer()), (value) => {
        expect(unzigzag(zigzag(value)) + 0).toBe(value + 0)
      }),
      { numRuns: runsOf(3000), seed: 4 },
    )
    for (const edge of [2 ** 30, 2 ** 31, 2 ** 32, 2 ** 52 - 1]) {
      for (const value of [edge - 1, edge, 1 - edge, -edge]) {
        expect(unzigzag(zigzag(value))).toBe(value)
      }
    }
  })
})

function aboutPowersOfTwo(): fc.Arbitrary<number> {
  return fc
    .tuple(fc.integer({ min: 0, max: 53 }), fc.integer({ min: -2, max: 2 }))
    .map(([power, step]) => Math.min(Math.max(2 ** power + step, 0), MAX))
}

function hexOf(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter()
  write(out)
  return Buffer.from(out.view()).toString('hex')
}

function readerOf(hex: string): ByteReader {
  return new ByteReader(Buffer.from(hex, 'hex'))
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
