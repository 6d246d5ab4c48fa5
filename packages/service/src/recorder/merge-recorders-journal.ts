import { PriorbookError, type Origin, type VenueId } from '@priorbook/sdk/domain'
import {
  openJournalWriter,
  readJournal,
  type JournalBlock,
  type JournalWriter,
} from '../journal/index.ts'
import type { Numbers } from './merge-recorders-numbers.ts'
import type { Blind } from './merge-recorders-spans.ts'
import { parseNote } from './note.ts'

/** When one recorder listened to a venue, as its journal tells. */
export type Heard = {
  /** The received time of its first and its newest record; absent where it has no journal. */
  readonly from: number | undefined
  readonly to: number | undefined
  /** Spans between records in which it did not run or could not write. */
  readonly downs: readonly Blind[]
}

// Records held in memory before they are written.
const COMMIT_BYTES = 4 * 1024 * 1024

/**
 * Copies one recorder's journal of a venue behind what is in the merged one, under its new numbers and
 * its own name. Records that are missing there are missing here.
 */
export function copyJournal(options: {
  readonly from: string
  readonly to: string
  readonly venue: VenueId
  readonly numbers: Numbers
  readonly onRecords: (count: number) => void
}): Heard {
  const { venue, numbers } = options
  const copy = new JournalCopy(options.to, venue)
  const downs: Blind[] = []
  let from: number | undefined
  let to: number | undefined
  try {
    for (const block of readJournal({ dir: options.from, venue, to: numbers.bound })) {
      if (block.kind === 'damage') continue
      copy.take(block, numbers.at(block.first))
      for (let index = 0; index < block.count; index++) {
        const received = block.received[index]!
        if (to !== undefined && block.kinds[index] === 'note' && isBack(block.bytes[index]!)) {
          downs.push({ start: to, end: received, afterSequence: 0 })
        }
        from ??= received
        to = Math.max(to ?? 0, received)
      }
      options.onRecords(block.count)
    }
  } finally {
    copy.close()
  }
  return { from, to, downs: downs.filter(({ start, end }) => start < end) }
}

class JournalCopy {
  private readonly dir: string
  private readonly venue: VenueId
  private writer: JournalWriter | undefined
  private maker: { readonly origin: Origin; readonly recorder: string } | undefined

  constructor(dir: string, venue: VenueId) {
    this.dir = dir
    this.venue = venue
  }

  take(block: JournalBlock, first: number): void {
    const writer = this.writerFor(block, first)
    for (let index = 0; index < block.count; index++) {
      const { received, kinds, bytes, slots } = block
      writer.append(received[index]!, kinds[index]!, bytes[index]!, slots[index])
    }
    if (writer.pendingBytes > COMMIT_BYTES) writer.commit()
  }

  close(): void {
    this.writer?.close()
    this.writer = undefined
  }

  // A writer writes in one name and without holes: another name or a missing record needs a new one.
  private writerFor({ origin, recorder }: JournalBlock, first: number): JournalWriter {
    const isSame = this.maker?.origin === origin && this.maker.recorder === recorder
    if (this.writer !== undefined && isSame && this.writer.nextNumber === first) return this.writer
    this.close()
    const { dir, venue } = this
    this.maker = { origin, recorder }
    this.writer = openJournalWriter({ dir, venue, origin, recorder, acknowledged: first - 1 })
    return this.writer
  }
}

// The recorder came back: it was started, or it can write again.
function isBack(bytes: Uint8Array): boolean {
  try {
    const { note } = parseNote(bytes)
    return note === 'started' || note === 'disk_full'
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return false
  }
}
