import { ByteWriter } from '../tape/index.ts'

// The parts of Apache Parquet that our files use: https://parquet.apache.org/docs/file-format/

/** Encodings of pages, by their numbers in the format. */
export const ENCODING = { plain: 0, rle: 3, delta: 5, dictionary: 8 } as const

/** The number of an encoding. */
export type EncodingNumber = (typeof ENCODING)[keyof typeof ENCODING]

/** Physical types of columns. */
export const PHYSICAL = { int32: 1, int64: 2, double: 5, byteArray: 6, fixed: 7 } as const

/** How often a column has a value in a row. */
export const REPETITION = { required: 0, optional: 1, repeated: 2 } as const

/** The compression of all pages. */
export const ZSTD_CODEC = 6

/**
 * A value of Thrift's compact protocol: numbers are 32-bit integers, bigints 64-bit ones. The members of
 * a struct are its field numbers; absent fields are left out.
 */
type Thrift = number | bigint | string | boolean | readonly Thrift[] | ThriftStruct

/** A struct by field numbers. */
export type ThriftStruct = { readonly [field: number]: Thrift | undefined }

/** The bytes of a struct. */
export function encodeThrift(struct: ThriftStruct): Uint8Array {
  const out = new ByteWriter()
  writeStruct(out, struct)
  return out.copy()
}

function writeStruct(out: ByteWriter, struct: ThriftStruct): void {
  let last = 0
  // Integer keys of objects are in ascending order.
  for (const [name, value] of Object.entries(struct)) {
    if (value === undefined) continue
    const field = Number(name)
    out.byte(((field - last) << 4) | typeOf(value))
    last = field
    // The type of a boolean field is its value.
    if (typeof value !== 'boolean') writeValue(out, value)
  }
  out.byte(0)
}

function writeValue(out: ByteWriter, value: Exclude<Thrift, boolean>): void {
  if (typeof value === 'number') writeZigzag(out, BigInt(value))
  else if (typeof value === 'bigint') writeZigzag(out, value)
  else if (typeof value === 'string') {
    const bytes = new TextEncoder().encode(value)
    out.varint(bytes.length)
    out.raw(bytes)
  } else if (isList(value)) {
    const type = value.length === 0 ? 0 : typeOf(value[0]!)
    out.byte((Math.min(value.length, 15) << 4) | type)
    if (value.length >= 15) out.varint(value.length)
    for (const item of value) writeValue(out, item as Exclude<Thrift, boolean>)
  } else writeStruct(out, value)
}

function typeOf(value: Thrift): number {
  if (typeof value === 'boolean') return value ? 1 : 2
  if (typeof value === 'number') return 5
  if (typeof value === 'bigint') return 6
  if (typeof value === 'string') return 8
  return isList(value) ? 9 : 12
}

function isList(value: readonly Thrift[] | ThriftStruct): value is readonly Thrift[] {
  return Array.isArray(value)
}

function writeZigzag(out: ByteWriter, value: bigint): void {
  let rest = value < 0n ? -value * 2n - 1n : value * 2n
  while (rest > 127n) {
    out.byte(Number(rest & 127n) | 128)
    rest >>= 7n
  }
  out.byte(Number(rest))
}

// Shorter runs are cheaper in groups of bits.
const GROUP = 8

/** Writes small numbers of `width` bits as runs of equal ones and groups of eight. Returns the length. */
export function writeHybrid(out: ByteWriter, values: ArrayLike<number>, width: number): number {
  const start = out.length
  let groupStart = 0
  let groups = 0
  const flush = (): void => {
    if (groups > 0) writeGroups(out, values, groupStart, groups, width)
    groups = 0
  }
  for (let at = 0; at < values.length;) {
    const value = values[at]!
    let end = at + 1
    while (end < values.length && values[end] === value) end++
    if (end - at >= GROUP) {
      flush()
      out.varint((end - at) * 2)
      for (let shift = 0; shift < width; shift += 8) out.byte((value >> shift) & 0xff)
      at = end
    } else {
      if (groups === 0) groupStart = at
      groups++
      at += GROUP
    }
  }
  flush()
  return out.length - start
}

function writeGroups(
  out: ByteWriter,
  values: ArrayLike<number>,
  start: number,
  groups: number,
  width: number,
): void {
  out.varint(groups * 2 + 1)
  let bits = 0
  let used = 0
  for (let at = start; at < start + groups * GROUP; at++) {
    bits |= (values[at] ?? 0) << used
    used += width
    for (; used >= 8; used -= 8) {
      out.byte(bits & 0xff)
      bits >>>= 8
    }
  }
}

const BLOCK = 128
const MINIBLOCK = 32

/** Writes 64-bit integers as differences, packed by the width of the largest of each 32. */
export function writeDeltas(out: ByteWriter, values: BigInt64Array): void {
  out.varint(BLOCK)
  out.varint(BLOCK / MINIBLOCK)
  out.varint(values.length)
  writeZigzag(out, values[0] ?? 0n)
  const deltas = new BigInt64Array(BLOCK)
  for (let at = 1; at < values.length; at += BLOCK) {
    const count = Math.min(BLOCK, values.length - at)
    let least = values[at]! - values[at - 1]!
    for (let index = 0; index < count; index++) {
      const delta = values[at + index]! - values[at + index - 1]!
      deltas[index] = delta
      if (delta < least) least = delta
    }
    writeZigzag(out, least)
    for (let index = 0; index < BLOCK; index++) {
      deltas[index] = index < count ? deltas[index]! - least : 0n
    }
    const widths: number[] = []
    for (let from = 0; from < BLOCK; from += MINIBLOCK) {
      const width = widthOf(deltas.subarray(from, from + MINIBLOCK))
      widths.push(width)
      out.byte(width)
    }
    for (const [index, width] of widths.entries()) {
      packBits(out, deltas.subarray(index * MINIBLOCK, (index + 1) * MINIBLOCK), width)
    }
  }
}

function widthOf(values: BigInt64Array): number {
  let all = 0n
  for (const value of values) all |= value
  let width = 0
  for (; all > 0n; all >>= 1n) width++
  return width
}

function packBits(out: ByteWriter, values: BigInt64Array, width: number): void {
  if (width === 0) return
  let bits = 0n
  let used = 0
  for (const value of values) {
    bits |= value << BigInt(used)
    used += width
    for (; used >= 8; used -= 8) {
      out.byte(Number(bits & 0xffn))
      bits >>= 8n
    }
  }
}
