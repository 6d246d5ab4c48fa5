import { isVenueId, ORIGINS, PriorbookError, type Origin, type VenueId } from '../domain/index.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import { ABSENT } from './columns.ts'
import type { TapePlatform } from './platform.ts'

/** The chunk format version that is written; see docs/formats/tape.md. */
export const CHUNK_VERSION = 1

/** The kinds of rows; the index is the byte on disk. */
export const CHUNK_KINDS = ['book', 'trade', 'sample'] as const

/** The most decimals of a price in a chunk; each chunk has the coarsest ticks that its prices allow. */
export const MAX_PRICE_DECIMALS = 6

/** The kind of a chunk's rows. */
export type ChunkKind = (typeof CHUNK_KINDS)[number]

/** The header of a chunk, with which it can be read and verified without its database. */
export type ChunkHeader = {
  readonly kind: ChunkKind
  readonly venue: VenueId
  readonly market: string
  readonly key: string
  /** The metric of a sample chunk, else empty. */
  readonly metric: string
  readonly origin: Origin
  readonly recorder: string
  readonly normalizer: number
  /** The number of the first row (for books: its sequence), from 1. */
  readonly first: number
  readonly count: number
  /** Level changes of all rows before this chunk and within it: counts over a range are a subtraction. */
  readonly changesBefore: number
  readonly changes: number
  readonly priceDecimals: number
  readonly sizeDecimals: number
  readonly firstReceived: number
  readonly lastReceived: number
  /** `ABSENT` where no row has a source time. */
  readonly firstSource: number
  readonly lastSource: number
  readonly firstJournal: number
  readonly lastJournal: number
  /** SHA-256 of the instrument's previous chunk, zeros for the first. */
  readonly previousHash: Uint8Array
}

/** A chunk with a verified checksum; its columns are still compressed. */
export type Chunk = {
  readonly header: ChunkHeader
  readonly headerBytes: Uint8Array
  readonly sections: readonly Section[]
  /** Of a chunk in a pack: bytes that differ where its rows do; sections then unpack when they are read. */
  readonly identity?: Uint8Array
}

/** One column of a chunk as it is stored. */
export type Section = {
  readonly rawLength: number
  readonly stored: Uint8Array
  readonly packed: boolean
}

/** An encoded chunk and the hash that the next one chains to. */
export type EncodedChunk = { readonly bytes: Uint8Array; readonly hash: Uint8Array }

// Decompression costs 10 µs per column, so very short columns stay raw.
const WORTH_PACKING = 32
const MAGIC = 0x31544250 // "PBT1", little-endian
// Bounds of what a reader allocates, far above what a store writes (1,024 rows).
const MAX_ROWS = 1 << 20
const MAX_RAW = 1 << 28
const MAX_COLUMNS = 64
// Max ratio of zstd: 4 bytes give 128 KiB. A small blob cannot decompress to gigabytes.
const MAX_RATIO = 1 << 15

// Reused between calls, so that a chunk of few rows does not create many times its bytes of garbage.
const scratch = { head: new ByteWriter(256), out: new ByteWriter(16_384) }

/** Packs a header and its columns into one blob with a checksum; columns that zstd cannot shrink stay raw. */
export function encodeChunk(
  header: ChunkHeader,
  columns: readonly Uint8Array[],
  platform: TapePlatform,
): EncodedChunk {
  if (header.count > MAX_ROWS || columns.reduce((sum, { length }) => sum + length, 0) > MAX_RAW) {
    throw new PriorbookError('unrepresentable', `${header.count} rows are too many for one chunk`)
  }
  const { head } = scratch
  head.clear()
  writeHeader(head, header)
  const bytes = assembleChunk(head.view(), columns, platform)
  return { bytes, hash: hashOf(head.view(), columns, platform) }
}

/** The blob of a chunk whose header and columns are known as bytes. */
export function assembleChunk(
  head: Uint8Array,
  columns: readonly Uint8Array[],
  platform: TapePlatform,
): Uint8Array {
  const { out } = scratch
  out.clear()
  out.uint32(MAGIC)
  out.byte(CHUNK_VERSION)
  out.varint(head.length)
  out.raw(head)
  out.varint(columns.length)
  for (const column of columns) {
    const packed = column.length > WORTH_PACKING ? platform.compress(column) : column
    const smaller = packed.length + WORTH_PACKING <= column.length
    out.varint(column.length)
    out.varint(smaller ? packed.length : 0)
    out.raw(smaller ? packed : column)
  }
  out.uint32(platform.crc32(out.view()))
  return out.copy()
}

/** Verifies a blob's checksum and reads its header; throws `corrupt_chunk`. */
export function openChunk(bytes: Uint8Array, platform: TapePlatform): Chunk {
  const end = bytes.length - 4
  const reader = new ByteReader(bytes, 0, Math.max(end, 0))
  if (end < 8 || reader.uint32() !== MAGIC) throw corrupt('it does not start with PBT1')
  const check = new ByteReader(bytes, end).uint32()
  if (platform.crc32(bytes.subarray(0, end)) !== check) throw corrupt('its checksum does not hold')
  const version = reader.byte()
  if (version !== CHUNK_VERSION) {
    throw new PriorbookError('unsupported_format', `chunk format ${version} is not known`)
  }
  const headerBytes = reader.raw(reader.varint())
  const header = parseHeader(headerBytes)
  const sections: Section[] = []
  const count = reader.varint()
  if (count > MAX_COLUMNS) throw corrupt('it has too many columns')
  let bytesInAll = 0
  for (let index = 0; index < count; index++) {
    const rawLength = reader.varint()
    const packedLength = reader.varint()
    checkLengths(rawLength, packedLength)
    bytesInAll += rawLength
    if (bytesInAll > MAX_RAW) throw corrupt('its columns are too long')
    const packed = packedLength > 0
    sections.push({ rawLength, packed, stored: reader.raw(packed ? packedLength : rawLength) })
  }
  reader.finish()
  return { header, headerBytes, sections }
}

/** Throws where the two lengths of a column contradict each other. A packed length of 0 means that it is not compressed. */
export function checkLengths(rawLength: number, packedLength: number): void {
  const packed = packedLength > 0
  if (rawLength > (packed ? Math.min(MAX_RAW, packedLength * MAX_RATIO) : MAX_RAW)) {
    throw corrupt('a column is too long')
  }
  if (packed && packedLength >= rawLength) throw corrupt('a column was packed for nothing')
}

/** Throws for a chunk of another kind, or with the wrong number of columns. */
export function expectKind(chunk: Chunk, kind: ChunkKind, columns: number): void {
  if (chunk.header.kind !== kind) throw corrupt(`it holds ${chunk.header.kind} rows, not ${kind}s`)
  if (chunk.sections.length !== columns) {
    throw corrupt(`it has ${chunk.sections.length} columns, not ${columns}`)
  }
}

/** The bytes of one column; a column beyond the last is empty. */
export function columnOf(chunk: Chunk, index: number, platform: TapePlatform): Uint8Array {
  const section = chunk.sections[index]
  if (section === undefined || section.rawLength === 0) return EMPTY
  if (!section.packed) return section.stored
  try {
    return platform.decompress(section.stored, section.rawLength)
  } catch (cause) {
    throw corrupt('a column does not decompress', cause)
  }
}

/** The SHA-256 of a chunk's uncompressed content, which the next chunk of the stream contains. */
export function chunkHash(chunk: Chunk, platform: TapePlatform): Uint8Array {
  const columns = chunk.sections.map((_, index) => columnOf(chunk, index, platform))
  return hashOf(chunk.headerBytes, columns, platform)
}

/** The `previousHash` of a stream's first chunk. */
export const NO_HASH: Uint8Array = new Uint8Array(32)

/** The error for a damaged chunk. */
export function corrupt(detail: string, cause?: unknown): PriorbookError {
  return new PriorbookError('corrupt_chunk', `damaged chunk: ${detail}`, { cause })
}

const EMPTY = new Uint8Array(0)

function hashOf(
  head: Uint8Array,
  columns: readonly Uint8Array[],
  platform: TapePlatform,
): Uint8Array {
  const lengths = new ByteWriter(64)
  lengths.byte(CHUNK_VERSION)
  lengths.varint(head.length)
  for (const column of columns) lengths.varint(column.length)
  return platform.sha256([lengths.view(), head, ...columns])
}

function writeHeader(out: ByteWriter, header: ChunkHeader): void {
  out.byte(CHUNK_KINDS.indexOf(header.kind))
  out.byte(ORIGINS.indexOf(header.origin))
  // Where a market has one instrument, both have the same name, which is written once.
  const market = header.market === header.key ? '' : header.market
  for (const text of [header.venue, market, header.key, header.metric, header.recorder]) {
    out.text(text)
  }
  for (const value of [
    header.normalizer,
    header.first,
    header.count,
    header.changesBefore,
    header.changes,
    header.priceDecimals,
    header.sizeDecimals,
    header.firstReceived,
    header.lastReceived - header.firstReceived,
    header.firstSource + 1,
    header.lastSource + 1,
    header.firstJournal,
  ]) {
    out.varint(value)
  }
  out.signed(header.lastJournal - header.firstJournal)
  out.raw(header.previousHash)
}

/** Reads the bytes of a header; throws `corrupt_chunk`. */
export function parseHeader(bytes: Uint8Array): ChunkHeader {
  const reader = new ByteReader(bytes)
  const kind = CHUNK_KINDS[reader.byte()]
  const origin = ORIGINS[reader.byte()]
  const venue = reader.text()
  if (kind === undefined || origin === undefined || !isVenueId(venue)) {
    throw corrupt('its kind, origin or venue is not known')
  }
  const shortMarket = reader.text()
  const key = reader.text()
  const market = shortMarket === '' ? key : shortMarket
  const metric = reader.text()
  const recorder = reader.text()
  const normalizer = reader.varint()
  const first = reader.varint()
  const count = reader.varint()
  const changesBefore = reader.varint()
  const changes = reader.varint()
  const priceDecimals = reader.varint()
  const sizeDecimals = reader.varint()
  const firstReceived = reader.varint()
  const lastReceived = firstReceived + reader.varint()
  const firstSource = reader.varint() - 1
  const lastSource = reader.varint() - 1
  const firstJournal = reader.varint()
  const lastJournal = firstJournal + reader.signed()
  const previousHash = reader.raw(32)
  reader.finish()
  const sound =
    first > 0 &&
    count > 0 &&
    count <= MAX_ROWS &&
    priceDecimals <= MAX_PRICE_DECIMALS &&
    sizeDecimals <= 15 &&
    lastJournal >= 0 &&
    (firstSource === ABSENT) === (lastSource === ABSENT) &&
    [first + count, changesBefore + changes, lastReceived, lastJournal].every(Number.isSafeInteger)
  if (!sound) throw corrupt('its header is out of range')
  return {
    kind,
    origin,
    venue,
    market,
    key,
    metric,
    recorder,
    normalizer,
    first,
    count,
    changesBefore,
    changes,
    priceDecimals,
    sizeDecimals,
    firstReceived,
    lastReceived,
    firstSource,
    lastSource,
    firstJournal,
    lastJournal,
    previousHash,
  }
}
