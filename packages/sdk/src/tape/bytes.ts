import { PriorbookError } from '../domain/index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A growing buffer with the primitives that the tape and the store write. */
export class ByteWriter {
  bytes: Uint8Array
  length = 0

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity)
  }

  /** Makes room for `extra` more bytes. */
  reserve(extra: number): void {
    const needed = this.length + extra
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1)
    this.bytes[this.length++] = value
  }

  /** Writes a whole number from 0 to 2^53 − 1, seven bits per byte, low bits first. */
  varint(value: number): void {
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) throw unrepresentable(value)
    this.reserve(8)
    let rest = value
    // Bit operators truncate above 2^31; `%` and division stay exact.
    while (rest >= 0x80000000) {
      this.bytes[this.length++] = (rest % 0x80) + 0x80
      rest = Math.floor(rest / 0x80)
    }
    let small = rest | 0
    while (small >= 0x80) {
      this.bytes[this.length++] = (small & 0x7f) | 0x80
      small >>>= 7
    }
    this.bytes[this.length++] = small
  }

  /** Writes a signed whole number up to ±(2^53 − 1): the sign is bit 6 of the first byte. */
  signed(value: number): void {
    const magnitude = Math.abs(value)
    if (!(magnitude <= Number.MAX_SAFE_INTEGER)) throw unrepresentable(value)
    // Avoids `%`: a remainder of doubles costs 20 ns.
    const rest = magnitude < 0x80000000 ? magnitude & 0x3f : magnitude % 0x40
    const low = value < 0 ? rest + 0x40 : rest
    if (magnitude < 0x40) this.byte(low)
    else {
      this.byte(low + 0x80)
      this.varint(magnitude < 0x80000000 ? magnitude >>> 6 : Math.floor(magnitude / 0x40))
    }
  }

  uint32(value: number): void {
    this.reserve(4)
    for (let shift = 0; shift < 32; shift += 8) this.bytes[this.length++] = (value >>> shift) & 0xff
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  text(value: string): void {
    // Nearly all texts are ASCII; writing their characters takes a tenth of a TextEncoder call.
    const start = this.length
    this.varint(value.length)
    this.reserve(value.length)
    const { bytes } = this
    let at = this.length
    let codes = 0
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index)
      codes |= code
      bytes[at++] = code
    }
    if (codes < 0x80) {
      this.length = at
      return
    }
    this.length = start
    const encoded = encoder.encode(value)
    this.varint(encoded.length)
    this.raw(encoded)
  }

  /** The bytes written so far; a view, valid until the next write. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }

  /** A copy of the bytes written so far. */
  copy(): Uint8Array {
    return this.bytes.slice(0, this.length)
  }

  clear(): void {
    this.length = 0
  }
}

/** Reads the output of a `ByteWriter`; reading past the end throws `corrupt_chunk`. */
export class ByteReader {
  readonly bytes: Uint8Array
  position: number
  readonly end: number

  constructor(bytes: Uint8Array, position = 0, end: number = bytes.length) {
    this.bytes = bytes
    this.position = position
    this.end = end
  }

  byte(): number {
    if (this.position >= this.end) throw pastEnd()
    return this.bytes[this.position++]!
  }

  varint(): number {
    let value = 0
    let factor = 1
    for (let count = 0; count < 8; count++) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break
        return value
      }
      factor *= 0x80
    }
    throw tooLong()
  }

  signed(): number {
    const first = this.byte()
    const magnitude = (first & 0x3f) + (first < 0x80 ? 0 : this.varint() * 0x40)
    if (magnitude > Number.MAX_SAFE_INTEGER) throw tooLong()
    return (first & 0x40) === 0 ? magnitude : -magnitude
  }

  uint32(): number {
    const low = this.byte() | (this.byte() << 8) | (this.byte() << 16)
    return (low | (this.byte() << 24)) >>> 0
  }

  raw(length: number): Uint8Array {
    if (length > this.end - this.position) throw pastEnd()
    this.position += length
    return this.bytes.subarray(this.position - length, this.position)
  }

  text(): string {
    const length = this.varint()
    if (length === 0) return ''
    try {
      return decoder.decode(this.raw(length))
    } catch (cause) {
      throw new PriorbookError('corrupt_chunk', 'a text is not UTF-8', { cause })
    }
  }

  /** Throws where bytes are left. */
  finish(): void {
    if (this.position !== this.end) {
      throw new PriorbookError('corrupt_chunk', 'unexpected bytes at the end')
    }
  }
}

/** Moves the sign into the lowest bit: 0, −1, 1, −2 … become 0, 1, 2, 3 …; magnitudes below 2^52. */
export function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value
}

/** Undoes `zigzag`. */
export function unzigzag(value: number): number {
  // Nearly all values are small, and a bit operation takes 1 ns where a remainder takes 20.
  if (value < 0x80000000) return (value >>> 1) ^ -(value & 1)
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}

function pastEnd(): PriorbookError {
  return new PriorbookError('corrupt_chunk', 'the bytes end too early')
}

function tooLong(): PriorbookError {
  return new PriorbookError('corrupt_chunk', 'a number is longer than 53 bits')
}

/** The error for a number that the formats cannot represent exactly. */
export function unrepresentable(value: number): PriorbookError {
  return new PriorbookError('unrepresentable', `${value} does not fit into 53 bits`)
}
