import type { VenueId } from '@priorbook/sdk/domain'
import type { JournalWriter, JournalWriterOptions } from '../journal/index.ts'
import { Yielder } from '../lib/yielder.ts'
import type { AppendBatch, StoreWriter } from '../store/store.ts'
import type { Applier } from './applier.ts'
import { parseNote, toNoteBytes } from './notes.ts'
import type { OwnRecord } from './takeover.ts'

/** The tape and the journal that a recorder goes on with after it stood by. */
export type TakeoverTarget = {
  readonly store: StoreWriter
  readonly journalDir: string
  /** The most that one file of the journal holds. */
  segments?(venue: VenueId): Pick<JournalWriterOptions, 'segmentBytes' | 'segmentMicros'>
}

/** What copying our own records into another recorder's tape needs. */
type TakenTapeOptions = {
  readonly target: TakeoverTarget
  readonly maker: Pick<AppendBatch, 'origin' | 'recorder'>
  readonly writer: JournalWriter
  readonly applier: Applier
  /** Our own record that is copied first, and the number that it gets. */
  readonly first: number
  readonly number: number
}

const BATCH_RECORDS = 4096

/** Another recorder's tape of a venue, and the journal beside it, while our own records are copied there. */
export class TakenTape {
  readonly target: TakeoverTarget
  readonly writer: JournalWriter
  readonly applier: Applier
  /** What is added to the numbers of our own records. */
  readonly shift: number
  /** Our own record that is copied next. */
  next: number
  private readonly maker: TakenTapeOptions['maker']
  private readonly yielder = new Yielder()
  private pending = 0

  constructor({ target, maker, writer, applier, first, number }: TakenTapeOptions) {
    this.target = target
    this.maker = maker
    this.writer = writer
    this.applier = applier
    this.shift = number - first
    this.next = first
  }

  async copy(record: OwnRecord): Promise<void> {
    await this.take({ ...record, bytes: this.toCopy(record) })
    await this.yielder.yieldIfDue()
    this.next++
    if (++this.pending >= BATCH_RECORDS) await this.flush()
  }

  /** The bytes of one of our own records in the other journal: numbers of records are others there. */
  toCopy({ kind, bytes }: OwnRecord): Uint8Array {
    if (kind !== 'note') return bytes
    const note = parseNote(bytes)
    if (note.note !== 'request' || note.asked === undefined) return bytes
    return toNoteBytes({ ...note, asked: Math.max(0, note.asked + this.shift) })
  }

  /** Applies a record that is not one of the copied ones, such as a note in front of them. */
  async take({ received, kind, slot, bytes }: OwnRecord): Promise<void> {
    const number = this.writer.append(received, kind, bytes, slot)
    await this.applier.apply({ number, received, kind, slot, bytes })
  }

  /** Lets go of the journal: this recorder does not go on in it now. */
  abandon(): void {
    try {
      this.writer.close()
    } catch {
      // What is not in the journal is not in the tape either.
    }
  }

  /** Makes what was copied durable. */
  async flush(): Promise<void> {
    const { origin, recorder } = this.maker
    this.writer.commit()
    const batch = this.applier.drain({ origin, recorder })
    if (batch !== undefined) await this.target.store.append(batch)
    this.pending = 0
  }
}
