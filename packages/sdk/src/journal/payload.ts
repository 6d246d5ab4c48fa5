import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { PriorbookError, type Micros } from '../domain/index.ts'
import type { Columns } from './columns.ts'
import {
  MAX_RECORD_BYTES,
  MAX_SLOT,
  type BlockCodec,
  type BlockHeader,
  type JournalBlock,
  type RecordKind,
} from './record.ts'
import { parseTemplatePayload } from './templates/decode.ts'

// The payload of a block, column by column: recorder, kinds, received times, lengths, bytes joined.

/** Max bytes that a record adds to a payload beside its own: kind 1, received 8, length 4. */
export const RECORD_OVERHEAD_BYTES = 13

/** Max bytes that the recorder id adds to a payload. */
export const PAYLOAD_OVERHEAD_BYTES = 65

const MAX_RAW_BYTES = MAX_RECORD_BYTES + RECORD_OVERHEAD_BYTES + PAYLOAD_OVERHEAD_BYTES

// 0 is a message without a socket, 1 a note, n ≥ 2 a message of socket n − 1.
const NOTE = 1

/** The number that stands for a kind and a socket in the column of kinds. */
export function toKindCode(kind: RecordKind, slot: number): number {
  return kind === 'note' ? NOTE : slot === 0 ? 0 : slot + 1
}

/** The payload of collected records, uncompressed. */
export function toPayload(columns: Columns): Buffer {
  const { recorder, count, used } = columns
  const payload = Buffer.allocUnsafe(PAYLOAD_OVERHEAD_BYTES + count * RECORD_OVERHEAD_BYTES + used)
  payload[0] = recorder.length
  let at = 1 + payload.write(recorder, 1, 'latin1')
  payload.set(columns.kinds.subarray(0, count), at)
  at += count
  let before = columns.received[0] ?? 0
  for (let i = 0; i < count; i++) {
    const received = columns.received[i]!
    at = writeSigned(payload, at, received - before)
    before = received
  }
  for (let i = 0; i < count; i++) at = writeUnsigned(payload, at, columns.lengths[i]!)
  payload.set(columns.bytes.subarray(0, used), at)
  return payload.subarray(0, at + used)
}

/** Compresses a payload to one zstd frame, or leaves it as it is where that is not longer. */
export function compressPayload(
  payload: Buffer,
  level: number,
): { readonly codec: BlockCodec; readonly stored: Buffer } {
  const stored = zstdCompressSync(payload, {
    // Small buffers come from the allocator's warm pages: 128 KiB ones took 206 ms for 113 MB, 1 MiB ones 305.
    chunkSize: Math.min(128 * 1024, payload.length + 512),
    // Without it zstd sets up for any length: 279 µs instead of 21 for one small message.
    pledgedSrcSize: payload.length,
    params: { [constants.ZSTD_c_compressionLevel]: level },
  })
  return stored.length < payload.length
    ? { codec: 'zstd', stored }
    : { codec: 'raw', stored: payload }
}

/**
 * Reads the records of a block with a good checksum, at least those of some numbers; throws `corrupt_journal` if it
 * contradicts its header.
 */
export function parsePayload(
  header: BlockHeader,
  stored: Uint8Array,
  from?: number,
  to?: number,
): JournalBlock {
  if (header.codec === 'templates') return parseTemplatePayload(header, stored, from, to)
  const raw = decompress(header, stored)
  const { count } = header
  const recorderBytes = raw[0] ?? 0
  let at = 1 + recorderBytes
  if (at + count > raw.length) throw contradiction(header)
  const recorder = Buffer.from(raw.buffer, raw.byteOffset + 1, recorderBytes).toString('latin1')
  const kinds: RecordKind[] = []
  const slots: number[] = []
  const received: Micros[] = []
  const bytes: Uint8Array[] = []
  for (let i = 0; i < count; i++) {
    const code = raw[at++]!
    if (code > MAX_SLOT + 1) throw contradiction(header)
    kinds.push(code === NOTE ? 'note' : 'message')
    slots.push(code <= NOTE ? 0 : code - 1)
  }
  let time: number = header.firstReceived
  for (let i = 0; i < count; i++) {
    let byte = raw[at++] ?? fail(header)
    const negative = (byte & 1) === 1
    let magnitude = (byte & 0x7f) >> 1
    for (let scale = 64; byte >= 0x80; scale *= 128) {
      byte = raw[at++] ?? fail(header)
      magnitude += (byte & 0x7f) * scale
    }
    time += negative ? -magnitude - 1 : magnitude
    received.push(time as Micros)
  }
  let lengthAt = at
  // The bytes begin after the lengths: every length ends with its only byte below 0x80.
  for (let i = 0; i < count; i++) {
    while ((raw[at] ?? fail(header)) >= 0x80) at++
    at++
  }
  for (let i = 0; i < count; i++) {
    let length = 0
    let byte = 0x80
    for (let scale = 1; byte >= 0x80; scale *= 128) {
      byte = raw[lengthAt++]!
      length += (byte & 0x7f) * scale
    }
    bytes.push(raw.subarray(at, at + length))
    at += length
  }
  if (at !== raw.length || time !== header.lastReceived) throw contradiction(header)
  const { first, origin } = header
  return { kind: 'block', first, count, origin, recorder, received, kinds, slots, bytes }
}

function decompress(header: BlockHeader, stored: Uint8Array): Uint8Array {
  if (header.rawBytes > MAX_RAW_BYTES) throw contradiction(header)
  // The reader reuses its window, so a payload that is not decompressed is copied out of it.
  if (header.codec === 'raw') return new Uint8Array(stored)
  // One byte more than needed keeps Node from asking for a second chunk: 75 → 44 µs a block.
  // More than the header says is an error, whatever the stored bytes would become.
  const chunkSize = Math.max(64, header.rawBytes + 1)
  const raw = zstdDecompressSync(stored, { chunkSize, maxOutputLength: chunkSize })
  if (raw.length !== header.rawBytes) throw contradiction(header)
  // A plain view: Buffer's own subarray costs several times as much per record.
  return new Uint8Array(raw.buffer, raw.byteOffset, raw.length)
}

// Zigzag, 7 bits a byte, low bits first. The lowest bit is split off before doubling: the
// difference of two times can need 54 bits, one more than a double holds exactly.
function writeSigned(bytes: Uint8Array, at: number, value: number): number {
  const magnitude = value < 0 ? -value - 1 : value
  const low = ((magnitude % 64) << 1) | (value < 0 ? 1 : 0)
  if (magnitude < 64) {
    bytes[at] = low
    return at + 1
  }
  bytes[at] = low | 0x80
  return writeUnsigned(bytes, at + 1, Math.floor(magnitude / 64))
}

function writeUnsigned(bytes: Uint8Array, at: number, value: number): number {
  let rest = value
  while (rest >= 0x80) {
    bytes[at++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  bytes[at] = rest
  return at + 1
}

function contradiction(header: BlockHeader): PriorbookError {
  return new PriorbookError(
    'corrupt_journal',
    `the journal block of record ${header.first} contradicts its header`,
  )
}

function fail(header: BlockHeader): never {
  throw contradiction(header)
}
