import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createZstdDecoder, createZstdEncoder } from './zstd-node.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const decode = createZstdDecoder()

describe('the kept zstd context', () => {
  it('decompresses frame after frame and keeps earlier results valid', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 20 }), (parts) => {
        const raw = parts.map((part) => decode(zstdCompressSync(part), part.length))
        for (const [index, part] of parts.entries()) {
          expect(Buffer.compare(raw[index]!, part)).toBe(0)
        }
      }),
      { seed: 1, numRuns: 100 },
    )
  })

  it('compresses to the same bytes as the public function, frame after frame', () => {
    const encode = createZstdEncoder(6)
    const options = { params: { [constants.ZSTD_c_compressionLevel]: 6 } }
    const large = Uint8Array.from({ length: 300_000 }, (_, index) => (index * index) % 251)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), fc.nat(large.length), (part, length) => {
        for (const raw of [part, large.subarray(0, length), part]) {
          expect(Buffer.compare(encode(raw), zstdCompressSync(raw, options))).toBe(0)
        }
      }),
      { seed: 3, numRuns: 100 },
    )
  })

  it('decompresses more than its buffer holds', () => {
    const large = Uint8Array.from({ length: 400_000 }, (_, index) => (index * 31) % 251)
    expect(Buffer.compare(decode(zstdCompressSync(large), large.length), large)).toBe(0)
  })

  it('rejects what the public function rejects, and then continues', () => {
    const part = Uint8Array.from({ length: 2000 }, (_, index) => (index * index) % 13)
    const frame = zstdCompressSync(part)
    fc.assert(
      fc.property(fc.nat(frame.length * 8 - 1), fc.nat(frame.length - 1), (bit, cut) => {
        const flipped = Uint8Array.from(frame)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        expect(outcome(() => decode(flipped, part.length))).toBe(
          outcome(() => exactly(zstdDecompressSync(flipped), part.length)),
        )
        expect(() => decode(frame.subarray(0, cut), part.length)).toThrow(RangeError)
        expect(() => decode(frame, part.length - 1)).toThrow(RangeError)
        expect(() => decode(frame, part.length + 1)).toThrow(RangeError)
        expect(Buffer.compare(decode(frame, part.length), part)).toBe(0)
      }),
      { seed: 2, numRuns: runsOf(300) },
    )
  })
})

function outcome(work: () => Uint8Array): string {
  try {
    return Buffer.from(work()).toString('hex')
  } catch {
    return 'refused'
  }
}

function exactly(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw new RangeError('another length')
  return bytes
}
