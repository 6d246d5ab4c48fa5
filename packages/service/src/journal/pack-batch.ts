import { toMicros } from '@priorbook/sdk/domain'
import type { JournalBlock } from '@priorbook/sdk/journal'
import { BLOCK_HEADER_BYTES, toKindCode, toTemplatePayload } from '@priorbook/sdk/journal/format'
import { BlockBuilder, type SealedBlock } from './block-builder.ts'

/** Records of consecutive blocks of one file, which become blocks of its copy. */
interface RecordBatch {
  /** True where the next block can be added; false where what was added has to be taken first. */
  takes(block: JournalBlock): boolean
  add(block: JournalBlock): void
  /** What was added, as blocks; then the batch is empty. */
  take(): readonly SealedBlock[]
}

// One record is found by reading its whole block: about 5 ms.
const BLOCK_RECORDS = 6000
const BLOCK_BYTES = 4 * 1024 * 1024

/** Blocks of thousands of records, by templates and columns. */
export class PackedBatch implements RecordBatch {
  #blocks: JournalBlock[] = []
  #count = 0
  #used = 0

  takes({ first, count, recorder, origin, bytes }: JournalBlock): boolean {
    const [head] = this.#blocks
    if (head === undefined) return true
    const follows = first === head.first + this.#count
    if (!follows || recorder !== head.recorder || origin !== head.origin) return false
    return this.#count + count <= BLOCK_RECORDS && this.#used + sizeOf(bytes) <= BLOCK_BYTES
  }

  add(block: JournalBlock): void {
    this.#blocks.push(block)
    this.#count += block.count
    this.#used += sizeOf(block.bytes)
  }

  take(): readonly SealedBlock[] {
    const [head] = this.#blocks
    if (head === undefined) return []
    const count = this.#count
    const received = new Float64Array(count)
    const kinds = new Uint8Array(count)
    const lengths = new Uint32Array(count)
    const bytes = new Uint8Array(this.#used)
    let at = 0
    let index = 0
    for (const block of this.#blocks) {
      for (let record = 0; record < block.count; record++) {
        received[index] = block.received[record]!
        kinds[index] = toKindCode(block.kinds[record]!, block.slots[record]!)
        lengths[index] = block.bytes[record]!.length
        bytes.set(block.bytes[record]!, at)
        at += lengths[index++]!
      }
    }
    this.#blocks = []
    this.#count = 0
    this.#used = 0
    const { recorder, first } = head
    const stored = toTemplatePayload({ recorder, count, received, kinds, lengths, used: at, bytes })
    const block = Buffer.allocUnsafe(BLOCK_HEADER_BYTES + stored.length)
    block.set(stored, BLOCK_HEADER_BYTES)
    return [
      {
        bytes: block,
        first,
        count,
        rawBytes: at,
        codec: 'templates',
        firstReceived: toMicros(received[0]!),
        lastReceived: toMicros(received[count - 1]!),
        minReceived: toMicros(received.reduce((a, b) => Math.min(a, b))),
        maxReceived: toMicros(received.reduce((a, b) => Math.max(a, b))),
      },
    ]
  }
}

const LEVEL = 3

/** Blocks as a recorder writes them. */
export class PlainBatch implements RecordBatch {
  #builder: BlockBuilder | undefined
  #recorder = ''

  takes({ first, recorder }: JournalBlock): boolean {
    const builder = this.#builder
    if (builder === undefined) return true
    return (
      builder.nextNumber === first && this.#recorder === recorder && builder.sealed.length === 0
    )
  }

  add({ first, count, recorder, received, kinds, slots, bytes }: JournalBlock): void {
    this.#builder ??= new BlockBuilder(recorder, LEVEL, first)
    this.#recorder = recorder
    for (let index = 0; index < count; index++) {
      this.#builder.append(received[index]!, kinds[index]!, bytes[index]!, slots[index]!)
    }
  }

  take(): readonly SealedBlock[] {
    const builder = this.#builder
    this.#builder = undefined
    builder?.seal()
    return builder?.sealed ?? []
  }
}

function sizeOf(bytes: readonly Uint8Array[]): number {
  return bytes.reduce((sum, one) => sum + one.length, 0)
}
