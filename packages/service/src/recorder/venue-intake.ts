import {
  VENUES,
  type MarketRecord,
  type MarketStatus,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import { openJournalWriter, type JournalWriter } from '../journal/index.ts'
import type { AppendBatch, StoreWriter } from '../store/store.ts'
import {
  toReading,
  type CaptureRequest,
  type CaptureSink,
  type Connector,
  type ConnectorContext,
  type Normalizer,
  type Reading,
} from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import { Applier, type ApplyRecord } from './apply.ts'
import { readAskedCalls } from './asked-calls.ts'
import { catchUp } from './catch-up.ts'
import { parseValue } from './json.ts'
import type { LagMeter } from './lag.ts'
import { toNoteBytes, type Note } from './note.ts'
import type { RecorderOptions, VenueStatus } from './recorder.ts'

/** The way of one venue's messages: from its connector into the journal and, in the same order, into rows. */
export interface VenueIntake {
  readonly venue: VenueId
  readonly connector: Connector
  /** Records taken and not yet stored. */
  readonly pending: number
  start(): void
  /** Notes the end in order. */
  stop(): void
  close(): void
  /** Resolves when everything taken so far is applied; rejects when that failed for good. */
  settled(): Promise<void>
  /** Makes the raw messages durable. */
  commit(): void
  /** Rows ready to store; absent also while the store is being asked on behalf of a message. */
  drain(): AppendBatch | undefined
  /** What was drained is durable. */
  stored(at: Micros, lag: LagMeter): void
  /** From now on messages are counted and not kept. */
  refuse(): void
  /** Messages are kept again; gives how many were not. */
  accept(): number
  status(): VenueStatus
}

const UNRESOLVED: readonly MarketStatus[] = [
  'scheduled',
  'open',
  'paused',
  'closed',
  'determined',
  'disputed',
]
const UNRESOLVED_KEPT = 10_000

/** Applies what a crash left in the journal and opens the way for new messages. */
export async function openVenueIntake(
  options: RecorderOptions & {
    readonly venue: VenueId
    readonly create: (context: ConnectorContext) => Connector
    readonly now: () => Micros
    readonly flushSoon: () => void
  },
): Promise<VenueIntake> {
  const { store, journalDir, venue, origin, recorder, log } = options
  await catchUp(store, journalDir, venue)
  const writer = openJournalWriter({
    dir: journalDir,
    venue,
    origin,
    recorder,
    acknowledged: await store.appliedPosition(venue),
    ...(options.journalLevel === undefined ? {} : { level: options.journalLevel }),
  })
  const intake = new Intake(store, venue, writer, options)
  const unresolved = await readUnresolved(store, venue)
  const { quotaOutlivesRestart } = definitionOf(venue)
  const asked = quotaOutlivesRestart ? await readAskedCalls(store, venue) : []
  intake.connector = options.create({ sink: intake.sink, log, unresolved, asked })
  return intake
}

async function readUnresolved(
  store: StoreWriter,
  venue: VenueId,
): Promise<ConnectorContext['unresolved']> {
  const found: { marketId: string; native: MarketRecord['native'] }[] = []
  for (const status of UNRESOLVED) {
    const { markets } = await store.markets({ venue, status, limit: UNRESOLVED_KEPT })
    for (const { record } of markets) {
      found.push({ marketId: record.marketId, native: record.native })
    }
  }
  return found
}

class Intake implements VenueIntake {
  readonly venue: VenueId
  readonly sink: CaptureSink
  connector!: Connector
  private readonly writer: JournalWriter
  private readonly applier: Applier
  private readonly normalizer: Normalizer
  private readonly now: () => Micros
  private readonly flushSoon: () => void
  private readonly maker: Pick<AppendBatch, 'origin' | 'recorder'>
  private queue: ApplyRecord[] = []
  private failure: unknown
  private busy: Promise<void> | undefined
  private received: number[] = []
  private drained: number[] = []
  private messages = 0
  private isRefusing = false
  private refused = 0

  constructor(
    store: StoreWriter,
    venue: VenueId,
    writer: JournalWriter,
    options: RecorderOptions & { readonly now: () => Micros; readonly flushSoon: () => void },
  ) {
    this.venue = venue
    this.writer = writer
    this.now = options.now
    this.flushSoon = options.flushSoon
    this.maker = { origin: options.origin, recorder: options.recorder }
    this.normalizer = definitionOf(venue).normalizer
    this.applier = new Applier(store, venue, {
      onClosed: (instruments, reason) => this.connector.recover(instruments, reason),
      keepsStates: VENUES[venue].bookRules.fullBooksVerify,
    })
    this.sink = {
      now: this.now,
      frame: (...frame) => this.frame(...frame),
      answer: (...answer) => this.answer(...answer),
      note: (note) => this.note(note),
      book: (key) => this.applier.book(key),
    }
  }

  get pending(): number {
    return this.received.length
  }

  start(): void {
    this.note({ note: 'started', version: '1' })
  }

  stop(): void {
    this.note({ note: 'stopped' })
  }

  close(): void {
    this.writer.close()
  }

  async settled(): Promise<void> {
    while (this.busy !== undefined) await this.busy
    if (this.failure !== undefined) throw this.failure as Error
  }

  commit(): void {
    this.writer.commit()
  }

  drain(): AppendBatch | undefined {
    if (this.failure !== undefined) throw this.failure as Error
    if (this.busy !== undefined) return undefined
    const batch = this.applier.drain(this.maker)
    this.drained = this.received
    this.received = []
    return batch
  }

  stored(at: Micros, lag: LagMeter): void {
    for (const received of this.drained) lag.note(at - received)
    this.drained = []
    this.applier.forgetEnded()
  }

  refuse(): void {
    this.isRefusing = true
  }

  accept(): number {
    const { refused } = this
    this.isRefusing = false
    this.refused = 0
    this.note({ note: 'disk_full', refused })
    return refused
  }

  status(): VenueStatus {
    return {
      connector: this.connector.status(),
      counts: { ...this.applier.counts },
      messages: this.messages,
      books: this.applier.held,
      journalBytes: this.writer.pendingBytes,
    }
  }

  private frame(slot: number, received: Micros, bytes: Uint8Array, parsed: unknown): Reading {
    this.messages++
    const journal = this.journal(received, 'message', bytes, slot)
    const reading = toReading(() =>
      this.normalizer.frame(parsed ?? parseValue(bytes), { received, journal }),
    )
    this.apply({ number: journal, received, kind: 'message', slot, bytes, parsed, reading })
    return reading
  }

  private answer(
    request: CaptureRequest,
    received: Micros,
    bytes: Uint8Array,
    parsed: unknown,
  ): Reading {
    this.messages++
    // The request and its answer stand side by side.
    this.note({ note: 'request', request })
    const journal = this.journal(received, 'message', bytes, 0)
    const reading = toReading(() =>
      this.normalizer.answer(request, parsed ?? parseValue(bytes), { received, journal }),
    )
    this.apply({ number: journal, received, kind: 'message', slot: 0, bytes, parsed, reading })
    return reading
  }

  private note(note: Note): void {
    const received = this.now()
    const bytes = toNoteBytes(note)
    const journal = this.journal(received, 'note', bytes, 0)
    this.apply({ number: journal, received, kind: 'note', slot: 0, bytes })
  }

  /** Writes a record to the journal; gives its number, 0 where nothing can be written. */
  private journal(
    received: Micros,
    kind: ApplyRecord['kind'],
    bytes: Uint8Array,
    slot: number,
  ): number {
    if (this.isRefusing) {
      this.refused++
      return 0
    }
    const number = this.writer.append(received, kind, bytes, slot)
    this.received.push(received)
    return number
  }

  // In the journal's order: while the store is asked for one record, those after it wait.
  private apply(record: ApplyRecord): void {
    if (record.number === 0) return
    if (this.busy === undefined) {
      const wait = this.applier.take(record)
      if (wait !== undefined) this.busy = this.applyQueued(wait)
    } else this.queue.push(record)
    this.flushSoon()
  }

  private async applyQueued(first: Promise<void>): Promise<void> {
    try {
      await first
      while (this.queue.length > 0) {
        const records = this.queue
        this.queue = []
        for (const record of records) {
          const wait = this.applier.take(record)
          if (wait !== undefined) await wait
        }
      }
    } catch (error) {
      this.failure = error
    }
    this.busy = undefined
  }
}
