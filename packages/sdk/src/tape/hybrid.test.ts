import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from '../domain/index.ts'
import { BitReader, BitWriter, EXTRA_BITS, MAX_TOKEN, TOKEN_BASE, tokenOf } from './hybrid.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const MAX = Number.MAX_SAFE_INTEGER

describe('a hybrid number', () => {
  it.each([
    [0, 0, 0],
    [15, 15, 0],
    [16, 16, 3],
    [23, 16, 3],
    [24, 17, 3],
    [32, 18, 4],
    [2 ** 32 - 1, 71, 30],
    [2 ** 32, 72, 31],
    [2 ** 52, 112, 51],
    [MAX, 113, 51],
  ])('%i has the token %i and %i more bits', (value, token, bits) => {
    expect([tokenOf(value), EXTRA_BITS[tokenOf(value)]]).toStrictEqual([token, bits])
  })

  it('lies within the range of its token, at every magnitude', () => {
    const aNumber = fc
      .tuple(fc.integer({ min: 0, max: 53 }), fc.maxSafeNat())
      .map(([bits, value]) => value % 2 ** bits)
    fc.assert(
      fc.property(aNumber, (value) => {
        const token = tokenOf(value)
        const rest = value - TOKEN_BASE[token]!
        expect(rest).toBeGreaterThanOrEqual(0)
        expect(rest).toBeLessThan(2 ** EXTRA_BITS[token]!)
      }),
      { numRuns: runsOf(5000), seed: 1 },
    )
  })

  it('has exactly one token: ranges cover 0 to 2^53 − 1 without overlap', () => {
    let next = 0
    for (let token = 0; token <= MAX_TOKEN; token++) {
      expect(TOKEN_BASE[token]).toBe(next)
      expect(tokenOf(next)).toBe(token)
      next += 2 ** EXTRA_BITS[token]!
      expect(tokenOf(next - 1)).toBe(token)
    }
    expect([MAX_TOKEN, next]).toStrictEqual([113, 2 ** 53])
  })

  it('has no token above 2^53 − 1', () => {
    for (const value of [2 ** 53, 2 ** 54, Infinity, NaN]) {
      expect(codeOf(() => tokenOf(value))).toBe('unrepresentable')
    }
    expect([...TOKEN_BASE.subarray(MAX_TOKEN + 1)].every(Number.isNaN)).toBe(true)
  })
})

describe('a bit stream', () => {
  it('round-trips numbers of any width at any position', () => {
    const aField = fc
      .tuple(fc.integer({ min: 1, max: 53 }), fc.maxSafeNat())
      .map(([bits, value]) => ({ bits, value: value % 2 ** bits }))
    const writer = new BitWriter()
    const reader = new BitReader()
    fc.assert(
      fc.property(fc.array(aField, { maxLength: 50 }), (fields) => {
        writer.clear()
        for (const { value, bits } of fields) writer.write(value, bits)
        const bytes = writer.finish().slice()
        const total = fields.reduce((sum, { bits }) => sum + bits, 0)
        expect(bytes.length).toBe(Math.ceil(total / 8))
        expect(bitsOf(bytes).slice(0, total)).toBe(fields.map(toBits).join(''))
        expect(Number(`0b0${reverse(bitsOf(bytes).slice(total))}`)).toBe(0)
        reader.reset(bytes)
        expect(fields.map(({ bits }) => reader.read(bits))).toStrictEqual(
          fields.map(({ value }) => value),
        )
        reader.finish()
      }),
      { numRuns: runsOf(400), seed: 2 },
    )
  })

  it('writes nothing for nothing', () => {
    const writer = new BitWriter()
    writer.write(0, 0)
    expect(writer.finish().length).toBe(0)
    const reader = new BitReader()
    reader.reset(new Uint8Array(0))
    reader.finish()
  })

  it('throws where it was read beyond its end or not up to it', () => {
    const reader = new BitReader()
    reader.reset(Uint8Array.of(255, 255))
    expect(reader.read(16)).toBe(65_535)
    reader.finish()
    expect(reader.read(1)).toBe(0)
    expect(codeOf(() => reader.finish())).toBe('corrupt_chunk')
    reader.reset(Uint8Array.of(255, 255))
    reader.read(8)
    expect(codeOf(() => reader.finish())).toBe('corrupt_chunk')
  })

  it('does not see the bits of the column read before', () => {
    const reader = new BitReader()
    reader.reset(new Uint8Array(64).fill(255))
    reader.reset(Uint8Array.of(1))
    expect(reader.read(40)).toBe(1)
  })
})

/** Low bits first, as they lie in the stream. */
function toBits({ value, bits }: { value: number; bits: number }): string {
  return reverse(value.toString(2).padStart(bits, '0'))
}

function bitsOf(bytes: Uint8Array): string {
  return [...bytes].map((value) => toBits({ value, bits: 8 })).join('')
}

function reverse(text: string): string {
  return Array.from(text).reverse().join('')
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
