import { toMicros, type Micros } from '@priorbook/sdk/domain'
import { BLOCK_HEADER_BYTES, type BlockHeader } from './format.ts'
import {
  compressPayload,
  PAYLOAD_OVERHEAD_BYTES,
  RECORD_OVERHEAD_BYTES,
  toKindCode,
  toPayload,
} from './payload.ts'
import type { RecordKind } from './record.ts'

/** A finished block: `bytes` has room for its header, which depends on the file that it goes to. */
export type SealedBlock = Omit<BlockHeader, 'crc' | 'storedBytes' | 'segment' | 'origin'> & {
  readonly bytes: Buffer
}

/** Gathers records in memory and closes them into blocks. */
export interface BlockBuilder {
  readonly nextNumber: number
  readonly pendingBytes: number
  /** Finished blocks in order of their numbers, until they are dropped. */
  readonly sealed: readonly SealedBlock[]
  append(received: Micros, kind: RecordKind, bytes: Uint8Array, slot: number): number
  /** Closes the records gathered so far into a block. */
  seal(): void
  /** Forgets the first finished blocks: they are durable. */
  drop(count: number): void
}

/** The most that the payload of a block of several records may have, before compression. */
export const BLOCK_BYTES = 1024 * 1024

/** A block without records: it says that everything before it was committed and the file was closed. */
export function toClosingMark(nextNumber: number): SealedBlock {
  const none = toMicros(0)
  return {
    bytes: Buffer.alloc(BLOCK_HEADER_BYTES),
    first: nextNumber,
    count: 0,
    rawBytes: 0,
    codec: 'raw',
    firstReceived: none,
    lastReceived: none,
    minReceived: none,
    maxReceived: none,
  }
}

/** Creates a builder whose first record gets the number `first`. */
export function createBlockBuilder(options: {
  readonly recorder: string
  readonly level: number
  readonly first: number
}): BlockBuilder {
  const { recorder, level } = options
  let sealed: SealedBlock[] = []
  let sealedBytes = 0
  let first = options.first
  let count = 0
  let used = 0
  let minReceived = 0
  let maxReceived = 0
  // One set of columns for all blocks: nothing is allocated per record.
  let bytes = new Uint8Array(64 * 1024)
  let received = new Float64Array(1024)
  let kinds = new Uint8Array(1024)
  let lengths = new Uint32Array(1024)

  function isFullWith(length: number): boolean {
    const overhead = PAYLOAD_OVERHEAD_BYTES + (count + 1) * RECORD_OVERHEAD_BYTES
    return count > 0 && used + length + overhead > BLOCK_BYTES
  }

  function growColumns(): void {
    received = grown(received, new Float64Array(count * 2))
    kinds = grown(kinds, new Uint8Array(count * 2))
    lengths = grown(lengths, new Uint32Array(count * 2))
  }

  function seal(): void {
    if (count === 0) return
    const payload = toPayload({ recorder, count, received, kinds, lengths, used, bytes })
    const { codec, stored } = compressPayload(payload, level)
    const block = Buffer.allocUnsafe(BLOCK_HEADER_BYTES + stored.length)
    block.set(stored, BLOCK_HEADER_BYTES)
    sealed.push({
      bytes: block,
      first,
      count,
      rawBytes: payload.length,
      codec,
      firstReceived: toMicros(received[0]!),
      lastReceived: toMicros(received[count - 1]!),
      minReceived: toMicros(minReceived),
      maxReceived: toMicros(maxReceived),
    })
    sealedBytes += block.length
    first += count
    count = 0
    used = 0
    // One huge message must not hold its memory for ever.
    if (bytes.length > 2 * BLOCK_BYTES) bytes = new Uint8Array(BLOCK_BYTES)
  }

  return {
    get nextNumber() {
      return first + count
    },
    get pendingBytes() {
      return sealedBytes + used
    },
    get sealed() {
      return sealed
    },
    seal,
    append(time, kind, record, slot) {
      if (isFullWith(record.length)) seal()
      if (count === lengths.length) growColumns()
      if (used + record.length > bytes.length) {
        bytes = grown(bytes, new Uint8Array(Math.max(bytes.length * 2, used + record.length)))
      }
      bytes.set(record, used)
      used += record.length
      minReceived = count === 0 ? time : Math.min(minReceived, time)
      maxReceived = count === 0 ? time : Math.max(maxReceived, time)
      received[count] = time
      kinds[count] = toKindCode(kind, slot)
      lengths[count] = record.length
      count++
      return first + count - 1
    },
    drop(dropped) {
      for (const block of sealed.slice(0, dropped)) sealedBytes -= block.bytes.length
      sealed = sealed.slice(dropped)
    },
  }
}

function grown<T extends Uint8Array | Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from)
  return to
}
