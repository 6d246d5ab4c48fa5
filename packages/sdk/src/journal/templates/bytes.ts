import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { PriorbookError } from '../../domain/index.ts'

/** Bytes that grow while they are written. */
export class ByteWriter {
  #bytes: Uint8Array = new Uint8Array(65_536)
  #at = 0

  byte(value: number): void {
    this.#room(1)
    this.#bytes[this.#at++] = value
  }

  /** A whole number from 0 below 2^53: 7 bits a byte, lowest first. */
  unsigned(value: number): void {
    this.#room(8)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#at++] = rest
  }

  /** A whole number of either sign: its sign first, then its magnitude. */
  signed(value: number): void {
    this.byte(value < 0 ? 1 : 0)
    this.unsigned(Math.abs(value))
  }

  bytes(part: Uint8Array): void {
    this.#room(part.length)
    this.#bytes.set(part, this.#at)
    this.#at += part.length
  }

  /** A section: its length, how long it is stored, and its bytes, compressed where that is shorter. */
  section(part: Uint8Array): void {
    this.unsigned(part.length)
    if (part.length === 0) return
    const stored = compressSection(part)
    this.unsigned(stored.length)
    this.bytes(stored)
  }

  /** What was written; valid until the next write. */
  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#at)
  }

  #room(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + more))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
  }
}

// Below this the frame of zstd costs more than it saves.
const MIN_COMPRESSED = 24
const LEVEL = 3
// Texts that fit no template repeat each other far apart.
const TEXT_BYTES = 65_536
const TEXT_LEVEL = 9

function compressSection(part: Uint8Array): Uint8Array {
  if (part.length < MIN_COMPRESSED) return part
  const stored = zstdCompressSync(part, {
    chunkSize: Math.min(131_072, part.length + 512),
    pledgedSrcSize: part.length,
    params: {
      [constants.ZSTD_c_compressionLevel]: part.length > TEXT_BYTES ? TEXT_LEVEL : LEVEL,
      [constants.ZSTD_c_contentSizeFlag]: 0,
    },
  })
  return stored.length < part.length ? stored : part
}

/** Reads what `ByteWriter` wrote; throws `corrupt_journal` where the bytes end early. */
export class ByteReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  byte(): number {
    const value = this.#bytes[this.#at++]
    if (value === undefined) throw corrupt()
    return value
  }

  unsigned(): number {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      if (scale > 2 ** 49) throw corrupt()
    }
  }

  signed(): number {
    const isNegative = this.byte() === 1
    const magnitude = this.unsigned()
    return isNegative ? -magnitude : magnitude
  }

  bytes(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw corrupt()
    const part = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return part
  }

  /** A section; `max` bounds what a damaged length could make this reader allocate. */
  section(max: number): Uint8Array {
    const length = this.unsigned()
    if (length === 0) return new Uint8Array(0)
    if (length > max) throw corrupt()
    const stored = this.bytes(this.unsigned())
    if (stored.length === length) return stored
    // One byte more than needed keeps Node from asking for a second chunk.
    const raw = zstdDecompressSync(stored, {
      chunkSize: Math.max(64, length + 1),
      maxOutputLength: length + 1,
    })
    if (raw.length !== length) throw corrupt()
    return new Uint8Array(raw.buffer, raw.byteOffset, raw.length)
  }
}

/** What is thrown for a payload that no writer makes. */
export function corrupt(): PriorbookError {
  return new PriorbookError(
    'corrupt_journal',
    'the columns of a journal block contradict each other',
  )
}
