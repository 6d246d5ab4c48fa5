import { crc32 } from 'node:zlib'
import {
  ORIGINS,
  PriorbookError,
  toMicros,
  type Micros,
  type Origin,
  type VenueId,
} from '../domain/index.ts'

/** `message`: sent by the venue. `note`: JSON text of the recorder (connection opened, import begun). */
export type RecordKind = 'message' | 'note'

/** One raw message exactly as received, with our wall clock, which may step back. */
export type JournalRecord = {
  /** From 1, over the whole journal of one venue in one data folder; never reused. */
  readonly number: number
  readonly received: Micros
  readonly kind: RecordKind
  /** The socket that brought a message, 1 … 253; 0 for an answer, an imported line or a note. */
  readonly slot: number
  readonly bytes: Uint8Array
  readonly origin: Origin
  readonly recorder: string
}

/** Consecutive records `first` … `first + count - 1`; `bytes` are views into one buffer of the block. */
export type JournalBlock = {
  readonly kind: 'block'
  readonly first: number
  readonly count: number
  readonly origin: Origin
  readonly recorder: string
  readonly received: readonly Micros[]
  readonly kinds: readonly RecordKind[]
  readonly slots: readonly number[]
  readonly bytes: readonly Uint8Array[]
}

/**
 * Why a part of a journal cannot be read. `torn_tail` ends the newest file: a write that a crash cut
 * short, or one still under way in another process.
 */
export type DamageReason = 'bad_block' | 'bad_file_header' | 'missing_records' | 'torn_tail'

/** A part of a journal that cannot be read, and the record numbers that it may have held. */
export type JournalDamage = {
  readonly kind: 'damage'
  readonly file: string
  readonly offset: number
  /** Bytes that cannot be read; 0 where a file or a part of it is absent. */
  readonly length: number
  readonly firstMissing: number
  /** Undefined where no later block tells it; `firstMissing - 1` where no record is missing. */
  readonly lastMissing: number | undefined
  readonly reason: DamageReason
}

/** Max socket number: kinds and sockets share one byte. */
export const MAX_SLOT = 253

/** Max bytes per message. */
export const MAX_RECORD_BYTES = 32 * 1024 * 1024

// The byte format of docs/formats/journal.md: file header and block header. Little endian.

/** The versions that this build reads: 1 as messages arrive, 2 of a file that was packed. */
const FORMAT_VERSIONS = [1, 2] as const

/** A version of the format. */
export type FormatVersion = (typeof FORMAT_VERSIONS)[number]

/** Length of the header of a file; its first block follows at once. */
export const FILE_HEADER_BYTES = 128

/** Length of the header of a block; its stored payload follows at once. */
export const BLOCK_HEADER_BYTES = 72

// Like PNG's: the first byte is not text, and a transfer that rewrites line ends breaks it.
const FILE_MAGIC = Buffer.from([0x89, 0x50, 0x42, 0x4a, 0x0d, 0x0a, 0x1a, 0x0a])

/** What a block starts with; 0xf5 occurs in no UTF-8 text, so messages hardly ever look like it. */
export const BLOCK_MAGIC = Buffer.from([0xf5, 0x50, 0x42, 0x4b])

const RECORDER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** What the header of a file says about all its blocks. */
export type FileHeader = {
  readonly version: FormatVersion
  readonly venue: VenueId
  readonly origin: Origin
  readonly recorder: string
  readonly first: number
  /** A random number that every block of the file repeats, so that blocks of other files are rejected. */
  readonly segment: number
}

// In the order of their numbers.
const CODECS = ['raw', 'zstd', 'templates'] as const

/** How the payload of a block is stored: as it is, as one zstd frame, or by templates and columns. */
export type BlockCodec = (typeof CODECS)[number]

/** What the header of a block says; a block with no records is a closing mark. */
export type BlockHeader = {
  readonly segment: number
  readonly count: number
  readonly storedBytes: number
  readonly rawBytes: number
  readonly codec: BlockCodec
  readonly origin: Origin
  readonly first: number
  readonly firstReceived: Micros
  readonly lastReceived: Micros
  readonly minReceived: Micros
  readonly maxReceived: Micros
  /** CRC-32 of everything else in the block. */
  readonly crc: number
}

function isKnownVersion(version: number): version is FormatVersion {
  return FORMAT_VERSIONS.some((one) => one === version)
}

/** Validates a recorder id. */
export function parseRecorder(value: string): string {
  if (!RECORDER.test(value)) {
    throw new PriorbookError(
      'invalid_id',
      `${JSON.stringify(value.slice(0, 80))} is not a recorder id`,
    )
  }
  return value
}

/** The file name of a segment: its first record number in 16 digits. */
export function printSegmentName(first: number): string {
  return `${String(first).padStart(16, '0')}.pbj`
}

/** Seeds block checksums with venue and file name, so a renamed or misplaced file never passes. */
export function toChecksumSeed(venue: string, first: number): number {
  return crc32(`${venue}/${printSegmentName(first)}`)
}

/** The bytes of a file header. */
export function toFileHeader(header: FileHeader): Buffer {
  const bytes = Buffer.alloc(FILE_HEADER_BYTES)
  FILE_MAGIC.copy(bytes)
  bytes.writeUInt16LE(header.version, 8)
  bytes.writeUInt8(ORIGINS.indexOf(header.origin) + 1, 10)
  bytes.writeUInt32LE(header.segment, 12)
  writeUInt64(bytes, header.first, 16)
  bytes.write(header.venue, 24, 24, 'latin1')
  bytes.write(header.recorder, 48, 64, 'latin1')
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 124)), 124)
  return bytes
}

/** Reads the header of the segment with this venue and first number; undefined when it is damaged. */
export function parseFileHeader(
  bytes: Buffer,
  venue: VenueId,
  first: number,
): FileHeader | undefined {
  if (bytes.length < FILE_HEADER_BYTES || !bytes.subarray(0, 8).equals(FILE_MAGIC)) return undefined
  if (crc32(bytes.subarray(0, 124)) !== bytes.readUInt32LE(124)) return undefined
  // Magic, version and checksum keep their places in all versions.
  const version = bytes.readUInt16LE(8)
  if (!isKnownVersion(version)) {
    throw new PriorbookError('unsupported_format', `the journal has format version ${version}`)
  }
  const origin = ORIGINS[bytes.readUInt8(10) - 1]
  const matches = readText(bytes, 24, 24) === venue && readUInt64(bytes, 16) === first
  if (origin === undefined || !matches) return undefined
  return {
    version,
    venue,
    origin,
    recorder: readText(bytes, 48, 64),
    first,
    segment: bytes.readUInt32LE(12),
  }
}

/** Writes the header and both checksums in front of the payload that `block` already holds. */
export function writeBlockHeader(
  block: Buffer,
  header: Omit<BlockHeader, 'crc' | 'storedBytes'>,
  seed: number,
): void {
  BLOCK_MAGIC.copy(block)
  block.writeUInt32LE(header.segment, 4)
  block.writeUInt32LE(header.count, 8)
  block.writeUInt32LE(block.length - BLOCK_HEADER_BYTES, 12)
  block.writeUInt32LE(header.rawBytes, 16)
  block.writeUInt8(CODECS.indexOf(header.codec), 20)
  block.writeUInt8(ORIGINS.indexOf(header.origin) + 1, 21)
  block.writeUInt16LE(0, 22)
  writeUInt64(block, header.first, 24)
  writeUInt64(block, header.firstReceived, 32)
  writeUInt64(block, header.lastReceived, 40)
  writeUInt64(block, header.minReceived, 48)
  writeUInt64(block, header.maxReceived, 56)
  // The header has its own checksum, so that blocks can be counted and skipped without their payload.
  block.writeUInt32LE(crc32(block.subarray(0, 64), seed), 64)
  block.writeUInt32LE(toBlockCrc(block, seed), 68)
}

/** Reads a block header; undefined when its own checksum does not match. */
export function parseBlockHeader(bytes: Buffer, seed: number): BlockHeader | undefined {
  if (bytes.length < BLOCK_HEADER_BYTES || !bytes.subarray(0, 4).equals(BLOCK_MAGIC)) {
    return undefined
  }
  if (crc32(bytes.subarray(0, 64), seed) !== bytes.readUInt32LE(64)) return undefined
  const origin = ORIGINS[bytes.readUInt8(21) - 1]
  const codec = CODECS[bytes.readUInt8(20)]
  if (origin === undefined || codec === undefined) return undefined
  return {
    segment: bytes.readUInt32LE(4),
    count: bytes.readUInt32LE(8),
    storedBytes: bytes.readUInt32LE(12),
    rawBytes: bytes.readUInt32LE(16),
    codec,
    origin,
    first: readUInt64(bytes, 24),
    firstReceived: toMicros(readUInt64(bytes, 32)),
    lastReceived: toMicros(readUInt64(bytes, 40)),
    minReceived: toMicros(readUInt64(bytes, 48)),
    maxReceived: toMicros(readUInt64(bytes, 56)),
    crc: bytes.readUInt32LE(68),
  }
}

/** The checksum of a whole block: of its header up to this checksum, then of its stored payload. */
export function toBlockCrc(block: Buffer, seed: number): number {
  return crc32(block.subarray(BLOCK_HEADER_BYTES), crc32(block.subarray(0, 68), seed))
}

// Numbers and times stay below 2^53: two halves are exact and need no BigInt.
function writeUInt64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value % 2 ** 32, at)
  bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4)
}

function readUInt64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at)
}

function readText(bytes: Buffer, at: number, length: number): string {
  return bytes.toString('latin1', at, at + length).replace(/\0+$/, '')
}

/** Counts and times of one file, from its headers. */
export type SegmentStats = {
  readonly file: string
  readonly bytes: number
  /** The number of its first record, by its name. */
  readonly first: number
  /** Undefined in these fields when the file holds no readable block. */
  readonly last: number | undefined
  readonly origin: Origin | undefined
  readonly firstReceived: Micros | undefined
  readonly lastReceived: Micros | undefined
  /** Our clock may step back, so the first and last times need not be the smallest and largest. */
  readonly minReceived: Micros | undefined
  readonly maxReceived: Micros | undefined
  readonly blocks: number
  readonly records: number
  readonly rawBytes: number
  /** Bytes that are not a block; payloads are not read. */
  readonly badBytes: number
}
