import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../tape/index.ts'
import { encodeThrift, writeDeltas, writeHybrid } from './parquet-format.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function written(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter()
  write(out)
  return hex(out.copy())
}

describe('the encodings of Parquet', () => {
  it('write structs of the compact protocol field by field', () => {
    // Field 1: i32 −1; field 3: true; field 4: "ab"; field 6: a list of two i64; then the end.
    const struct = { 1: -1, 2: undefined, 3: true, 4: 'ab', 6: [1n, 300n] }
    expect(hex(encodeThrift(struct))).toBe('15012118026162292602d80400')
    expect(hex(encodeThrift({ 2: { 1: false }, 3: [] }))).toBe('2c1200190000')
  })

  it('write runs of equal values and groups of eight', () => {
    // The example of the format's documentation: 0 to 7 with three bits.
    expect(written((out) => writeHybrid(out, [0, 1, 2, 3, 4, 5, 6, 7], 3))).toBe('0388c6fa')
    expect(written((out) => writeHybrid(out, new Uint8Array(100).fill(1), 1))).toBe('c80101')
    expect(written((out) => writeHybrid(out, [], 1))).toBe('')
  })

  it('write differences, packed by the largest of each miniblock', () => {
    // The examples of the format's documentation: 1 to 5, and 7, 5, 3, 1, 2, 3, 4, 5.
    const first = written((out) => writeDeltas(out, BigInt64Array.of(1n, 2n, 3n, 4n, 5n)))
    expect(first).toBe('80010405020200000000')
    const second = written((out) =>
      writeDeltas(out, BigInt64Array.of(7n, 5n, 3n, 1n, 2n, 3n, 4n, 5n)),
    )
    expect(second).toBe('800104080e0302000000c03f000000000000')
    expect(written((out) => writeDeltas(out, new BigInt64Array(0)))).toBe('8001040000')
  })
})
