import { crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'

/** Bytes of a segment: large enough for object storage, small enough to be sent and checked in memory. */
export const SEGMENT_BYTES = 64 * 1024 * 1024

/** One chunk in a segment. */
export type SegmentEntry = {
  readonly start: number
  readonly length: number
  /** CRC-32 of the bytes. */
  readonly crc: number
  readonly venue: string
  readonly market: string
  readonly key: string
  readonly kind: string
  readonly metric: string
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
}

const HEAD = Buffer.from('PBSEGM\0\u0001', 'latin1')
const TAIL = Buffer.from('PBSEGEND', 'latin1')
/** The end of a segment: where the index begins (8 bytes), its length (4), its CRC-32 (4), a mark (8). */
export const TRAILER_BYTES = 24
const INDEX_LIMIT = 256 * 1024 * 1024
// An entry of the index takes about 40 bytes where it is compressed.
const INDEX_ENTRY = 128
const INDEX_ROOM = 4096

/**
 * Writes a segment: a head, the chunks one after another as they were in the database, an index of them
 * (JSON, compressed) and a trailer that says where the index is. `docs/formats/segments.md` has the details.
 */
export class SegmentWriter {
  readonly #buffer: Buffer
  readonly #entries: SegmentEntry[] = []
  #end = HEAD.length

  /** Allocates memory for all chunks at once: their number, and their bytes together. */
  constructor(chunks: number, bytes: number) {
    this.#buffer = Buffer.allocUnsafe(HEAD.length + bytes + chunks * INDEX_ENTRY + INDEX_ROOM)
    HEAD.copy(this.#buffer)
  }

  /** Adds a chunk. */
  add(chunk: Omit<SegmentEntry, 'start' | 'length' | 'crc'>, bytes: Uint8Array): SegmentEntry {
    const entry = { start: this.#end, length: bytes.length, crc: crc32(bytes), ...chunk }
    this.#buffer.set(bytes, this.#end)
    this.#end += bytes.length
    this.#entries.push(entry)
    return entry
  }

  /** The whole segment. */
  finish(): Uint8Array {
    const index = zstdCompressSync(JSON.stringify({ version: 1, chunks: this.#entries }))
    const trailer = Buffer.alloc(TRAILER_BYTES)
    trailer.writeBigUInt64LE(BigInt(this.#end), 0)
    trailer.writeUInt32LE(index.length, 8)
    trailer.writeUInt32LE(crc32(index), 12)
    TAIL.copy(trailer, 16)
    const size = this.#end + index.length + trailer.length
    if (size > this.#buffer.length) {
      return Buffer.concat([this.#buffer.subarray(0, this.#end), index, trailer])
    }
    this.#buffer.set(index, this.#end)
    this.#buffer.set(trailer, this.#end + index.length)
    return this.#buffer.subarray(0, size)
  }
}

/** Where the index of a segment is, from the last bytes of it. */
export function readTrailer(end: Uint8Array): { start: number; length: number; crc: number } {
  const trailer = Buffer.from(end.subarray(-TRAILER_BYTES))
  if (trailer.length < TRAILER_BYTES || !trailer.subarray(16).equals(TAIL)) {
    throw damaged('it does not end as a segment does')
  }
  const start = Number(trailer.readBigUInt64LE(0))
  const length = trailer.readUInt32LE(8)
  if (start < HEAD.length || !Number.isSafeInteger(start)) throw damaged('its index is misplaced')
  return { start, length, crc: trailer.readUInt32LE(12) }
}

/** The chunks that the index of a segment names. */
export function readIndex(index: Uint8Array, crc: number): readonly SegmentEntry[] {
  if (crc32(index) !== crc) throw damaged('its index fails the checksum')
  let value: unknown
  try {
    value = JSON.parse(zstdDecompressSync(index, { maxOutputLength: INDEX_LIMIT }).toString('utf8'))
  } catch (cause) {
    throw damaged('its index cannot be read', cause)
  }
  const { version, chunks } = value as { version?: unknown; chunks?: unknown }
  if (version !== 1 || !Array.isArray(chunks)) {
    throw new PriorbookError('unsupported_format', `a segment of version ${String(version)}`)
  }
  return chunks as SegmentEntry[]
}

function damaged(why: string, cause?: unknown): PriorbookError {
  return new PriorbookError('object_damaged', `a segment is damaged: ${why}`, { cause })
}
