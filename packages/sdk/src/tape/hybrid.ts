import { PriorbookError } from '../domain/index.ts'
import { ByteWriter, unrepresentable } from './bytes.ts'

/**
 * Hybrid numbers: a value below 16 is its own token. For a larger one the token holds its magnitude and
 * the bit below its leading one; the remaining bits, which hardly compress, go to a separate bit stream.
 * Tokens compress well, because zstd's Huffman stage sees one byte per value.
 */
export const DIRECT = 16
const DIRECT_BITS = 4

/** The largest token; a byte has one more symbol. */
export const MAX_TOKEN = DIRECT + (52 - DIRECT_BITS) * 2 + 1

/** How many extra bits a token carries. */
export const EXTRA_BITS = new Uint8Array(256)
/** The value of a token whose extra bits are all zero; NaN for bytes that are not a token. */
export const TOKEN_BASE = new Float64Array(256).fill(NaN)
for (let token = 0; token <= MAX_TOKEN; token++) {
  if (token < DIRECT) {
    TOKEN_BASE[token] = token
    continue
  }
  const exponent = DIRECT_BITS + ((token - DIRECT) >> 1)
  EXTRA_BITS[token] = exponent - 1
  TOKEN_BASE[token] = 2 ** exponent + ((token - DIRECT) & 1) * 2 ** (exponent - 1)
}

/** The token of a whole number from 0 to 2^53 − 1. */
export function tokenOf(value: number): number {
  if (value < DIRECT) return value
  if (!(value <= Number.MAX_SAFE_INTEGER)) throw unrepresentable(value)
  const exponent =
    value < 0x100000000 ? 31 - Math.clz32(value) : 63 - Math.clz32(Math.floor(value / 0x100000000))
  const token = DIRECT + (exponent - DIRECT_BITS) * 2
  return value >= TOKEN_BASE[token + 1]! ? token + 1 : token
}

/** Writes numbers of any bit width, low bits first. */
export class BitWriter {
  readonly out = new ByteWriter(4096)
  private pending = 0
  private filled = 0

  write(value: number, bits: number): void {
    let rest = value
    let left = bits
    while (left > 16) {
      this.small(rest % 0x10000, 16)
      rest = Math.floor(rest / 0x10000)
      left -= 16
    }
    if (left > 0) this.small(rest, left)
  }

  /** A view of the bytes so far, the last one padded with zeros. */
  finish(): Uint8Array {
    if (this.filled > 0) this.out.byte(this.pending & 0xff)
    this.pending = 0
    this.filled = 0
    return this.out.view()
  }

  clear(): void {
    this.out.clear()
    this.pending = 0
    this.filled = 0
  }

  private small(value: number, bits: number): void {
    this.pending |= value << this.filled
    this.filled += bits
    while (this.filled >= 8) {
      this.out.byte(this.pending & 0xff)
      this.pending >>>= 8
      this.filled -= 8
    }
  }
}

// The minimum capacity, a power of two, and how many bytes beyond its first one a read touches.
const ROOM = 4096
const AHEAD = 8

/** Reads numbers of any bit width, low bits first. */
export class BitReader {
  /** The bits, followed by zeros, for loops that read in place. */
  view = new DataView(new ArrayBuffer(ROOM + AHEAD))
  /** A mask for byte indexes that keeps reads of a damaged column within bounds; `finish` then throws. */
  wrap = ROOM - 1
  /** The position of the next bit. */
  position = 0
  private bytes = new Uint8Array(this.view.buffer)
  private length = 0

  /** Starts over with a copy of new bytes, because a read touches up to four bytes ahead. */
  reset(bytes: Uint8Array): void {
    if (bytes.length > this.wrap) {
      const room = 2 ** Math.ceil(Math.log2(bytes.length + 1))
      this.bytes = new Uint8Array(room + AHEAD)
      this.view = new DataView(this.bytes.buffer)
      this.wrap = room - 1
    }
    this.bytes.set(bytes)
    this.bytes.fill(0, bytes.length, bytes.length + AHEAD)
    this.position = 0
    this.length = bytes.length
  }

  read(bits: number): number {
    if (bits > 24) return this.read(24) + this.read(bits - 24) * 0x1000000
    const word = this.view.getUint32((this.position >> 3) & this.wrap, true)
    const value = (word >>> (this.position & 7)) & ((1 << bits) - 1)
    this.position += bits
    return value
  }

  /** Throws where the column has fewer or more bits than its tokens need. */
  finish(): void {
    if ((this.position + 7) >> 3 !== this.length) {
      throw new PriorbookError('corrupt_chunk', 'a bit column is too long or too short')
    }
  }
}
