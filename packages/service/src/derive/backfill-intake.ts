import { toMicros, type Micros, type Origin, type VenueId } from '@priorbook/sdk/domain'
import { openJournalWriter, type JournalWriter } from '../journal/index.ts'
import { parseMessageJson } from '../lib/message-json.ts'
import { Applier, type ApplyRecord } from '../recorder/applier.ts'
import { catchUp } from '../recorder/catch-up.ts'
import { toNoteBytes, type Note } from '../recorder/notes.ts'
import type { StoreWriter } from '../store/store.ts'
import { toReading, type CaptureSink } from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import { toPastBatch } from './past-batch.ts'

/** Where the answers and rows of a backfill go. */
export type IntakeOptions = {
  readonly venue: VenueId
  readonly store: StoreWriter
  readonly journalDir: string
  readonly origin: Origin
  /** Names the recorder on the journal. */
  readonly recorder: string
}

/** Runs work with an intake, after everything that is in the journal already is in the store. */
export async function withIntake<T>(
  { venue, store, journalDir: dir, origin, recorder }: IntakeOptions,
  work: (intake: BackfillIntake) => Promise<T>,
): Promise<T> {
  await catchUp(store, dir, venue)
  const acknowledged = await store.appliedPosition(venue)
  const writer = openJournalWriter({ dir, venue, origin, recorder, acknowledged })
  try {
    return await work(new BackfillIntake(store, venue, writer, { origin, recorder }))
  } finally {
    writer.close()
  }
}

/** Writes answers to the journal and, on flush, the rows derived from them to the store. */
export class BackfillIntake {
  readonly sink: CaptureSink
  private readonly store: StoreWriter
  private readonly writer: JournalWriter
  private readonly applier: Applier
  private readonly maker: { readonly origin: Origin; readonly recorder: string }
  private records: ApplyRecord[] = []

  constructor(
    store: StoreWriter,
    venue: VenueId,
    writer: JournalWriter,
    maker: BackfillIntake['maker'],
  ) {
    this.store = store
    this.writer = writer
    this.maker = maker
    this.applier = new Applier(store, venue)
    this.sink = {
      now,
      steadyNow: now,
      frame: () => {
        throw new Error('a backfill has no sockets')
      },
      position: () => this.writer.nextNumber - 1,
      answer: (request, received, bytes, parsed) => {
        this.note({ note: 'request', request })
        const reading = toReading(() =>
          definitionOf(venue).normalizer.answer(request, parsed ?? parseMessageJson(bytes), {
            received,
            journal: this.writer.nextNumber,
          }),
        )
        this.write({ received, kind: 'message', slot: 0, bytes, parsed, reading })
        return reading
      },
      note: (note) => {
        // Clock samples belong to the recorder; a backfill must not add to them.
        if (note.note !== 'clock') this.note(note)
      },
      book: () => undefined,
    }
  }

  get quarantined(): number {
    return this.applier.counts.quarantined
  }

  /** How many trades were stored. */
  get trades(): number {
    return this.applier.counts.trades
  }

  /** How many values of price histories were stored. */
  get values(): number {
    return this.applier.counts.samples
  }

  note(note: Note): void {
    this.write({ received: now(), kind: 'note', slot: 0, bytes: toNoteBytes(note) })
  }

  /** Makes everything received durable: raw answers first, then rows and position in one transaction. */
  async flush(): Promise<void> {
    const { records } = this
    this.records = []
    this.writer.commit()
    for (const record of records) await this.applier.apply(record)
    const batch = this.applier.drain(this.maker)
    if (batch === undefined) return
    await this.store.append(toPastBatch(batch))
    this.applier.forgetEnded()
  }

  private write(record: Omit<ApplyRecord, 'number'>): void {
    const { received, kind, bytes, slot } = record
    this.records.push({ ...record, number: this.writer.append(received, kind, bytes, slot) })
  }
}

function now(): Micros {
  return toMicros(Date.now() * 1000)
}
