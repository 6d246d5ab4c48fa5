import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { RecordKind } from '@priorbook/sdk/journal'
import {
  BLOCK_HEADER_BYTES,
  compressPayload,
  PAYLOAD_OVERHEAD_BYTES,
  RECORD_OVERHEAD_BYTES,
  toKindCode,
  toPayload,
  type BlockHeader,
} from '@priorbook/sdk/journal/format'

/** A finished block: `bytes` has room for its header, which depends on the file that it goes to. */
export type SealedBlock = Omit<BlockHeader, 'crc' | 'storedBytes' | 'segment' | 'origin'> & {
  readonly bytes: Buffer
}

/** Max payload of a block of several records, before compression. */
const BLOCK_BYTES = 1024 * 1024

/** A block without records: everything before it was committed and the file was closed in order. */
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

/** Collects records in memory and closes them into blocks. */
export class BlockBuilder {
  private readonly recorder: string
  private readonly level: number
  private blocks: SealedBlock[] = []
  private blockBytes = 0
  private first: number
  private count = 0
  private used = 0
  private minReceived = 0
  private maxReceived = 0
  // One set of columns for all blocks: nothing is allocated per record.
  private bytes = new Uint8Array(64 * 1024)
  private received = new Float64Array(1024)
  private kinds = new Uint8Array(1024)
  private lengths = new Uint32Array(1024)

  /** The first record gets the number `first`; `level` is zstd's. */
  constructor(recorder: string, level: number, first: number) {
    this.recorder = recorder
    this.level = level
    this.first = first
  }

  /** The number of the next record. */
  get nextNumber(): number {
    return this.first + this.count
  }

  /** Memory held by records and finished blocks. */
  get pendingBytes(): number {
    return this.blockBytes + this.used
  }

  /** Finished blocks in order of their numbers, until they are dropped. */
  get sealed(): readonly SealedBlock[] {
    return this.blocks
  }

  append(time: Micros, kind: RecordKind, record: Uint8Array, slot: number): number {
    if (this.isFullWith(record.length)) this.seal()
    const { count, used } = this
    if (count === this.lengths.length) this.growColumns()
    if (used + record.length > this.bytes.length) {
      const size = Math.max(this.bytes.length * 2, used + record.length)
      this.bytes = grown(this.bytes, new Uint8Array(size))
    }
    this.bytes.set(record, used)
    this.used += record.length
    this.minReceived = count === 0 ? time : Math.min(this.minReceived, time)
    this.maxReceived = count === 0 ? time : Math.max(this.maxReceived, time)
    this.received[count] = time
    this.kinds[count] = toKindCode(kind, slot)
    this.lengths[count] = record.length
    this.count++
    return this.first + count
  }

  /** Closes the records collected so far into a block. */
  seal(): void {
    const { recorder, count, received, kinds, lengths, used } = this
    if (count === 0) return
    const payload = toPayload({
      recorder,
      count,
      received,
      kinds,
      lengths,
      used,
      bytes: this.bytes,
    })
    const { codec, stored } = compressPayload(payload, this.level)
    const block = Buffer.allocUnsafe(BLOCK_HEADER_BYTES + stored.length)
    block.set(stored, BLOCK_HEADER_BYTES)
    this.blocks.push({
      bytes: block,
      first: this.first,
      count,
      rawBytes: payload.length,
      codec,
      firstReceived: toMicros(received[0]!),
      lastReceived: toMicros(received[count - 1]!),
      minReceived: toMicros(this.minReceived),
      maxReceived: toMicros(this.maxReceived),
    })
    this.blockBytes += block.length
    this.first += count
    this.count = 0
    this.used = 0
    // Releases the memory of an unusually large message.
    if (this.bytes.length > 2 * BLOCK_BYTES) this.bytes = new Uint8Array(BLOCK_BYTES)
  }

  /** Forgets the first finished blocks: they are durable. */
  drop(count: number): void {
    for (const block of this.blocks.slice(0, count)) this.blockBytes -= block.bytes.length
    this.blocks = this.blocks.slice(count)
  }

  private isFullWith(length: number): boolean {
    const overhead = PAYLOAD_OVERHEAD_BYTES + (this.count + 1) * RECORD_OVERHEAD_BYTES
    return this.count > 0 && this.used + length + overhead > BLOCK_BYTES
  }

  private growColumns(): void {
    const size = this.count * 2
    this.received = grown(this.received, new Float64Array(size))
    this.kinds = grown(this.kinds, new Uint8Array(size))
    this.lengths = grown(this.lengths, new Uint32Array(size))
  }
}

function grown<T extends Uint8Array | Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from)
  return to
}
