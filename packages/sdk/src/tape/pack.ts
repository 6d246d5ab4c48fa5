import { PriorbookError } from '../domain/index.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import {
  assembleChunk,
  checkLengths,
  chunkHash,
  columnOf,
  corrupt,
  parseHeader,
  type Chunk,
  type ChunkHeader,
  type Section,
} from './chunk.ts'
import type { TapePlatform } from './platform.ts'

/**
 * A pack: consecutive sealed chunks of one stream in the space of fewer. Each chunk of 1,024 rows pays for its header
 * and for the Huffman tables of its columns; in a pack chunks share them. Headers and columns stay byte for byte what
 * they were before compression, and with them the hashes of the chunks. See docs/formats/tape.md.
 */
const MAGIC = 0x31504250 // "PBP1", little-endian
const VERSION = 1

/** The most chunks of a pack. */
export const PACK_CHUNKS = 16

/**
 * Chunks whose columns are compressed together: what is unpacked to read one row. On recorded books 4 save 0.28 bytes
 * of a row, 16 save 0.35 and cost four times the unpacking.
 */
const STRETCH_CHUNKS = 4

// About how many bytes the objects take that describe one chunk.
const CHUNK_OBJECTS = 2048

const MAX_CHUNKS = 256
const MAX_COLUMNS = 64
// Shorter bytes stay raw; see `chunk.ts`.
const WORTH_PACKING = 32

/**
 * Encodes chunks of one stream, oldest first, all with the same number of columns. `reading` unpacks them, `tight`
 * compresses: a pack is written once and read for years.
 */
export function encodePack(
  chunks: readonly Chunk[],
  reading: TapePlatform,
  tight: TapePlatform,
): Uint8Array {
  const columnCount = chunks[0]?.sections.length ?? 0
  const isUsable =
    chunks.length > 0 &&
    chunks.length <= MAX_CHUNKS &&
    columnCount <= MAX_COLUMNS &&
    chunks.every(({ sections }) => sections.length === columnCount)
  if (!isUsable) throw new PriorbookError('unrepresentable', 'these chunks do not fit one pack')
  const stretches: StoredColumn[][] = []
  for (let at = 0; at < chunks.length; at += STRETCH_CHUNKS) {
    const together = chunks.slice(at, at + STRETCH_CHUNKS)
    stretches.push(
      Array.from({ length: columnCount }, (_, column) => {
        const parts = together.map((chunk) => columnOf(chunk, column, reading))
        return compressed(concat(parts), tight)
      }),
    )
  }
  const index = compressed(writeIndex(chunks, columnCount, stretches), tight)
  const out = new ByteWriter(65_536)
  out.uint32(MAGIC)
  out.byte(VERSION)
  out.varint(index.rawLength)
  out.varint(index.isPacked ? index.bytes.length : 0)
  out.raw(index.bytes)
  out.uint32(reading.crc32(out.view()))
  for (const columns of stretches) {
    const start = out.length
    for (const { bytes } of columns) out.raw(bytes)
    out.uint32(reading.crc32(out.view().subarray(start)))
  }
  return out.copy()
}

/** True for the bytes of a pack. */
export function isPack(bytes: Uint8Array): boolean {
  return bytes.length > 4 && new ByteReader(bytes).uint32() === MAGIC
}

/** An opened pack. A stretch is verified and unpacked when a chunk of it is first read, and then kept. */
export class Pack {
  /** How many chunks it has. */
  readonly count: number
  /** How much memory it takes once all its columns are unpacked. */
  readonly byteLength: number
  private readonly platform: TapePlatform
  private readonly bytes: Uint8Array
  private readonly index: Index
  private readonly stretches: (Stretch | undefined)[] = []
  private readonly headers: (ChunkHeader | undefined)[] = []

  /** Verifies the index; throws `corrupt_chunk`. */
  constructor(bytes: Uint8Array, platform: TapePlatform) {
    this.bytes = bytes
    this.platform = platform
    this.index = readIndex(bytes, platform)
    this.count = this.index.headers.length
    this.byteLength = bytes.length + this.index.rawLength + this.count * CHUNK_OBJECTS
  }

  /** The chunk that begins with a row; undefined where none does. */
  chunk(first: number): Chunk | undefined {
    const at = this.find(first)
    return at === undefined ? undefined : this.chunkAt(at)
  }

  /** A chunk by its place in the pack. */
  chunkAt(at: number): Chunk {
    const header = this.headerAt(at)
    const headerBytes = this.index.headers[at]!
    const stretch = this.stretchOf(at)
    const place = at % this.index.stretchChunks
    const sections = this.index.lengths[at]!.map((rawLength, column): Section => ({
      rawLength,
      packed: false,
      get stored() {
        return stretch.column(column, place)
      },
    }))
    // The hash that the next header repeats; of the last chunk all stored bytes that it is in.
    const isLast = at + 1 === this.count
    const identity = isLast ? stretch.bytes : this.headerAt(at + 1).previousHash
    return { header, headerBytes, sections, identity }
  }

  /** The hash of a chunk, from the header of the next one where the pack has it. */
  hashOf(first: number): Uint8Array | undefined {
    const at = this.find(first)
    if (at === undefined) return undefined
    if (at + 1 < this.count) return this.headerAt(at + 1).previousHash
    return chunkHash(this.chunkAt(at), this.platform)
  }

  // Rows count upwards. Headers are read one by one, because reading all takes longer than a column.
  private find(first: number): number | undefined {
    let low = 0
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.headerAt(middle).first <= first) low = middle
      else high = middle - 1
    }
    return this.headerAt(low).first === first ? low : undefined
  }

  private headerAt(at: number): ChunkHeader {
    return (this.headers[at] ??= parseHeader(this.index.headers[at]!))
  }

  /** How many bytes each column takes in all stretches. */
  columnBytes(): number[] {
    const { stored, lengths, stretchChunks } = this.index
    return lengths[0]!.map((_, column) =>
      stored.reduce((sum, columns, number) => {
        const own = lengths.slice(number * stretchChunks, (number + 1) * stretchChunks)
        const raw = own.reduce((all, one) => all + one[column]!, 0)
        return sum + (columns[column]! || raw)
      }, 0),
    )
  }

  private stretchOf(at: number): Stretch {
    const { stretchChunks, starts, stored, lengths } = this.index
    const number = Math.floor(at / stretchChunks)
    const known = this.stretches[number]
    if (known !== undefined) return known
    const own = lengths.slice(number * stretchChunks, (number + 1) * stretchChunks)
    const bytes = this.bytes.subarray(starts[number], starts[number + 1]! - 4)
    const sum = new ByteReader(this.bytes, starts[number + 1]! - 4).uint32()
    if (this.platform.crc32(bytes) !== sum) throw corrupt('its checksum does not hold')
    return (this.stretches[number] = new Stretch(bytes, stored[number]!, own, this.platform))
  }
}

/** The bytes of a chunk as it was before it was packed. */
export function unpackChunk(chunk: Chunk, platform: TapePlatform): Uint8Array {
  const columns = chunk.sections.map((_, column) => columnOf(chunk, column, platform))
  return assembleChunk(chunk.headerBytes, columns, platform)
}

type StoredColumn = {
  readonly rawLength: number
  readonly bytes: Uint8Array
  readonly isPacked: boolean
}

function compressed(raw: Uint8Array, platform: TapePlatform): StoredColumn {
  const packed = raw.length > WORTH_PACKING ? platform.compress(raw) : raw
  const isPacked = packed.length < raw.length
  return { rawLength: raw.length, bytes: isPacked ? packed : raw, isPacked }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts
  if (parts.length === 1) return only!
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

function writeIndex(
  chunks: readonly Chunk[],
  columnCount: number,
  stretches: readonly (readonly StoredColumn[])[],
): Uint8Array {
  const out = new ByteWriter(4096)
  out.varint(chunks.length)
  out.varint(STRETCH_CHUNKS)
  out.varint(columnCount)
  for (const { headerBytes } of chunks) out.varint(headerBytes.length)
  for (const { headerBytes } of chunks) out.raw(headerBytes)
  for (let column = 0; column < columnCount; column++) {
    for (const { sections } of chunks) out.varint(sections[column]!.rawLength)
    for (const columns of stretches) {
      const { bytes, isPacked } = columns[column]!
      out.varint(isPacked ? bytes.length : 0)
    }
  }
  return out.copy()
}

type Index = {
  readonly stretchChunks: number
  readonly headers: readonly Uint8Array[]
  /** The length of every column, by chunk. */
  readonly lengths: readonly (readonly number[])[]
  /** The stored length of every column, by stretch; 0 where it is not compressed. */
  readonly stored: readonly (readonly number[])[]
  /** Where each stretch begins, and where the last one ends. */
  readonly starts: readonly number[]
  /** The length of the index and of all columns, unpacked. */
  readonly rawLength: number
}

function readIndex(bytes: Uint8Array, platform: TapePlatform): Index {
  const outer = new ByteReader(bytes)
  if (!isPack(bytes)) throw corrupt('it does not start with PBP1')
  outer.uint32()
  const version = outer.byte()
  if (version !== VERSION) {
    throw new PriorbookError('unsupported_format', `pack format ${version} is not known`)
  }
  const rawLength = outer.varint()
  const packedLength = outer.varint()
  checkLengths(rawLength, packedLength)
  const stored = outer.raw(packedLength === 0 ? rawLength : packedLength)
  const end = outer.position
  if (platform.crc32(bytes.subarray(0, end)) !== outer.uint32()) {
    throw corrupt('its checksum does not hold')
  }
  const raw = packedLength === 0 ? stored : unpacked(stored, rawLength, platform)
  const { stretchChunks, ...index } = parseIndex(new ByteReader(raw))
  const starts = [outer.position]
  let total = rawLength
  for (const [number, columns] of index.stored.entries()) {
    const own = index.lengths.slice(number * stretchChunks, (number + 1) * stretchChunks)
    let length = 4
    for (const [column, packed] of columns.entries()) {
      const sum = own.reduce((all, lengths) => all + lengths[column]!, 0)
      checkLengths(sum, packed)
      total += sum
      length += packed === 0 ? sum : packed
    }
    starts.push(starts.at(-1)! + length)
  }
  if (starts.at(-1) !== bytes.length) throw corrupt('its length is not that of its columns')
  return { ...index, stretchChunks, starts, rawLength: total }
}

function parseIndex(reader: ByteReader): Omit<Index, 'starts' | 'rawLength'> {
  const count = reader.varint()
  const stretchChunks = reader.varint()
  const columnCount = reader.varint()
  const isSound =
    count > 0 && count <= MAX_CHUNKS && stretchChunks > 0 && columnCount <= MAX_COLUMNS
  if (!isSound) throw corrupt('its index is out of range')
  const sizes = Array.from({ length: count }, () => reader.varint())
  const headers = sizes.map((size) => reader.raw(size))
  const lengths: number[][] = headers.map(() => [])
  const stored: number[][] = Array.from({ length: Math.ceil(count / stretchChunks) }, () => [])
  for (let column = 0; column < columnCount; column++) {
    for (const own of lengths) own.push(reader.varint())
    for (const own of stored) own.push(reader.varint())
  }
  reader.finish()
  return { stretchChunks, headers, lengths, stored }
}

/** The columns of some chunks that were compressed together. */
class Stretch {
  readonly bytes: Uint8Array
  private readonly stored: readonly number[]
  private readonly lengths: readonly (readonly number[])[]
  private readonly platform: TapePlatform
  private readonly unpacked: (Uint8Array | undefined)[] = []

  constructor(
    bytes: Uint8Array,
    stored: readonly number[],
    lengths: readonly (readonly number[])[],
    platform: TapePlatform,
  ) {
    this.bytes = bytes
    this.stored = stored
    this.lengths = lengths
    this.platform = platform
  }

  /** A column of the chunk at a place. */
  column(column: number, place: number): Uint8Array {
    const whole = (this.unpacked[column] ??= this.unpack(column))
    let start = 0
    for (let before = 0; before < place; before++) start += this.lengths[before]![column]!
    return whole.subarray(start, start + this.lengths[place]![column]!)
  }

  private unpack(column: number): Uint8Array {
    let start = 0
    for (let before = 0; before < column; before++) start += this.lengthOf(before)
    const bytes = this.bytes.subarray(start, start + this.lengthOf(column))
    return this.stored[column] === 0
      ? bytes
      : unpacked(bytes, this.rawLengthOf(column), this.platform)
  }

  private lengthOf(column: number): number {
    const stored = this.stored[column]!
    return stored === 0 ? this.rawLengthOf(column) : stored
  }

  private rawLengthOf(column: number): number {
    return this.lengths.reduce((sum, own) => sum + own[column]!, 0)
  }
}

function unpacked(stored: Uint8Array, rawLength: number, platform: TapePlatform): Uint8Array {
  try {
    return platform.decompress(stored, rawLength)
  } catch (cause) {
    throw corrupt('a column does not decompress', cause)
  }
}
