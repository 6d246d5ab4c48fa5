import {
  DAY_MICROS,
  VENUES,
  type MarketRecord,
  type MarketStatus,
  toMicros,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Clock } from '../lib/clock.ts'
import { SteadyClock } from '../lib/steady-clock.ts'
import {
  openJournalWriter,
  type JournalWriter,
  type JournalWriterOptions,
} from '../journal/index.ts'
import { feedFacts, type AppendBatch, type MarketQuery, type StoreWriter } from '../store/store.ts'
import {
  toReading,
  type CaptureLog,
  type CaptureRequest,
  type CaptureSink,
  type Connector,
  type ConnectorContext,
  type ConnectorStatus,
  type Normalizer,
  type Reading,
} from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import { Applier, type ApplyCounts, type ApplyRecord } from './applier.ts'
import { readAskedCalls } from './asked-calls.ts'
import { catchUp } from './catch-up.ts'
import { parseMessageJson } from '../lib/message-json.ts'
import { toNoteBytes, type Note } from './notes.ts'
import type { LagMeter } from './lag.ts'

/** What an intake needs. */
export type IntakeOptions = {
  readonly store: StoreWriter
  readonly journalDir: string
  readonly origin: Origin
  /** Names the recorder on every journal file and chunk. */
  readonly recorder: string
  readonly log: CaptureLog
  readonly venue: VenueId
  readonly create: (context: ConnectorContext) => Connector
  readonly clock: Clock
  /** Called after every record. */
  readonly flushSoon: () => void
  readonly journalLevel?: number
  /** The most that one file of the journal holds. */
  segments?(venue: VenueId): Pick<JournalWriterOptions, 'segmentBytes' | 'segmentMicros'>
}

/** The state of the capture of one venue. */
export type VenueStatus = {
  readonly connector: ConnectorStatus
  readonly counts: Readonly<ApplyCounts>
  readonly messages: number
  /** Books held now, and how many of them miss nothing. */
  readonly books: { readonly tracks: number; readonly open: number }
  /** Markets, books and series in memory. */
  readonly remembered: number
  readonly journalBytes: number
}

const UNRESOLVED: readonly MarketStatus[] = [
  'scheduled',
  'open',
  'paused',
  'closed',
  'determined',
  'disputed',
]
/** A book that received nothing for this long after its market was over is ended. */
const LINGER_MICROS = 10_000_000
const KEYS_PER_NOTE = 200
/** Max unresolved markets per status that a connector follows from an earlier run. */
const MAX_UNRESOLVED = 10_000

/** Applies what a crash left in the journal, and creates the intake with its connector. */
export async function openIntake(options: IntakeOptions): Promise<Intake> {
  const { store, journalDir, venue, origin, recorder, log, clock } = options
  await catchUp(store, journalDir, venue)
  const writer = openJournalWriter({
    dir: journalDir,
    venue,
    origin,
    recorder,
    acknowledged: await store.appliedPosition(venue),
    ...(options.journalLevel === undefined ? {} : { level: options.journalLevel }),
    ...options.segments?.(venue),
  })
  const intake = new Intake(writer, options)
  const unresolved = await readUnresolved(store, venue)
  const { quotaOutlivesRestart } = definitionOf(venue)
  const asked = quotaOutlivesRestart ? await readAskedCalls(store, venue) : []
  const feed = await readFeed(store, venue)
  intake.connector = options.create({ sink: intake.sink, log, clock, unresolved, asked, ...feed })
  return intake
}

async function readFeed(
  store: StoreWriter,
  venue: VenueId,
): Promise<Pick<ConnectorContext, 'feed'>> {
  const { feed } = definitionOf(venue)
  if (feed === undefined) return {}
  const facts = new Map<string, number>()
  for (const name of feed.facts) {
    const value = await store.fact(name)
    if (value !== undefined) facts.set(name, value)
  }
  return { feed: { facts, eachMarket: (onMarket) => readFeedMarkets(store, venue, onMarket) } }
}

// A market may be listed a day before it trades. Records are large, so pages of them are.
const LISTED_BEFORE = DAY_MICROS
const MARKETS_PER_PAGE = 200

async function readFeedMarkets(
  store: StoreWriter,
  venue: VenueId,
  onMarket: (record: MarketRecord) => void,
): Promise<void> {
  const source = await store.fact(feedFacts(venue).source)
  // A feed that was never read may begin in the past: then the newest markets are the best choice.
  const query =
    source === undefined ? { order: 'desc' as const } : { start: source - LISTED_BEFORE }
  let after: MarketQuery['after']
  for (let read = 0; read < MAX_UNRESOLVED; read += MARKETS_PER_PAGE) {
    const page = await store.markets({ venue, ...query, after, limit: MARKETS_PER_PAGE })
    for (const { record } of page.markets) onMarket(record)
    const last = page.markets.at(-1)
    if (!page.hasMore || last === undefined) return
    after = { openTime: last.sortTime, venue, marketId: last.record.marketId }
  }
}

async function readUnresolved(
  store: StoreWriter,
  venue: VenueId,
): Promise<ConnectorContext['unresolved']> {
  const found: { marketId: string; native: MarketRecord['native'] }[] = []
  for (const status of UNRESOLVED) {
    const { markets } = await store.markets({ venue, status, limit: MAX_UNRESOLVED })
    for (const { record } of markets) {
      found.push({ marketId: record.marketId, native: record.native })
    }
  }
  return found
}

/** Takes one venue's messages from its connector into the journal and, in the same order, into rows. */
export class Intake {
  readonly venue: VenueId
  readonly sink: CaptureSink
  connector!: Connector
  private readonly writer: JournalWriter
  private readonly applier: Applier
  private readonly normalizer: Normalizer
  private readonly options: IntakeOptions
  private readonly steady: SteadyClock
  /** Records that wait while the store is asked on behalf of an earlier one. */
  private queue: ApplyRecord[] = []
  private failure: unknown
  private busy: Promise<void> | undefined
  /** Received times of the records that are not stored yet: since the last drain, and before it. */
  private received: number[] = []
  private drained: number[] = []
  private messages = 0
  private isRefusing = false
  private refused = 0
  private lookedAt = 0

  constructor(writer: JournalWriter, options: IntakeOptions) {
    const { store, venue } = options
    this.venue = venue
    this.writer = writer
    this.options = options
    this.normalizer = definitionOf(venue).normalizer
    this.steady = new SteadyClock(options.clock)
    this.applier = new Applier(store, venue, {
      onClosed: (instruments, reason) => this.connector.recover(instruments, reason),
      keepsStates: VENUES[venue].bookRules.fullBooksVerify,
    })
    this.sink = {
      now: () => options.clock.now(),
      steadyNow: () => this.steady.now(),
      position: () => this.writer.nextNumber - 1,
      frame: (...frame) => this.frame(...frame),
      answer: (...answer) => this.answer(...answer),
      note: (note) => this.note(note),
      book: (key) => this.applier.book(key),
    }
  }

  /** Records that are not stored yet. */
  get pending(): number {
    return this.received.length
  }

  start(): void {
    this.note({ note: 'started', version: '1' })
  }

  /** Notes an orderly end. */
  stop(): void {
    this.endLingering()
    this.note({ note: 'stopped' })
  }

  close(): void {
    this.writer.close()
  }

  /** Resolves when everything received is applied; rejects when that failed for good. */
  async settled(): Promise<void> {
    while (this.busy !== undefined) await this.busy
    if (this.failure !== undefined) throw this.failure as Error
  }

  /** Makes the raw messages durable. */
  commit(): void {
    this.writer.commit()
  }

  /** Rows ready to store; absent also while the store is asked on behalf of a message. */
  drain(): AppendBatch | undefined {
    if (this.failure !== undefined) throw this.failure as Error
    if (this.busy !== undefined) return undefined
    const { origin, recorder } = this.options
    const batch = this.applier.drain({ origin, recorder })
    this.drained = this.received
    this.received = []
    return batch
  }

  /** The drained rows are durable. */
  stored(at: Micros, lag: LagMeter): void {
    for (const received of this.drained) lag.note(at - received)
    this.drained = []
    this.applier.forgetEnded()
    if (Math.abs(at - this.lookedAt) < LINGER_MICROS) return
    this.lookedAt = at
    this.endLingering()
  }

  // Answers may say that a market is over while frames about it are still on their way. Once they have come,
  // its books are ended by a note, so that a rebuild ends them at the same place.
  private endLingering(): void {
    if (this.busy !== undefined) return
    const keys = this.applier.lingering(toMicros(this.options.clock.now() - LINGER_MICROS))
    const why = 'nothing came since the market was over'
    for (let from = 0; from < keys.length; from += KEYS_PER_NOTE) {
      const named = keys.slice(from, from + KEYS_PER_NOTE)
      this.note({ note: 'loss', reason: 'market_closed', why, keys: named })
    }
  }

  /** From now on messages are counted and not kept. */
  refuse(): void {
    this.isRefusing = true
  }

  /** Messages are kept again; returns how many were not. */
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
      remembered: this.applier.remembered,
      journalBytes: this.writer.pendingBytes,
    }
  }

  private frame(slot: number, received: Micros, bytes: Uint8Array, parsed: unknown): Reading {
    this.messages++
    const journal = this.journal(received, 'message', bytes, slot)
    const reading = toReading(() =>
      this.normalizer.frame(parsed ?? parseMessageJson(bytes), { received, journal }),
    )
    this.apply({ number: journal, received, kind: 'message', slot, bytes, parsed, reading })
    return reading
  }

  private answer(
    request: CaptureRequest,
    received: Micros,
    bytes: Uint8Array,
    parsed: unknown,
    asked?: number,
  ): Reading {
    this.messages++
    // The request and its answer stand side by side.
    this.note({ note: 'request', request, ...(asked === undefined ? {} : { asked }) })
    const journal = this.journal(received, 'message', bytes, 0)
    const reading = toReading(() =>
      this.normalizer.answer(request, parsed ?? parseMessageJson(bytes), { received, journal }),
    )
    this.apply({ number: journal, received, kind: 'message', slot: 0, bytes, parsed, reading })
    return reading
  }

  private note(note: Note): void {
    if (note.note === 'clock') this.steady.compared(note.offset_us, note.round_trip_us)
    const received = this.options.clock.now()
    const bytes = toNoteBytes(note)
    const journal = this.journal(received, 'note', bytes, 0)
    this.apply({ number: journal, received, kind: 'note', slot: 0, bytes })
  }

  /** Writes a record to the journal; returns its number, 0 while nothing can be written. */
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

  // Keeps the journal's order: while the store is asked for one record, later ones wait.
  private apply(record: ApplyRecord): void {
    if (record.number === 0) return
    if (this.busy === undefined) {
      const wait = this.applier.apply(record)
      if (wait !== undefined) this.busy = this.applyQueued(wait)
    } else this.queue.push(record)
    this.options.flushSoon()
  }

  private async applyQueued(first: Promise<void>): Promise<void> {
    try {
      await first
      while (this.queue.length > 0) {
        const records = this.queue
        this.queue = []
        for (const record of records) {
          const wait = this.applier.apply(record)
          if (wait !== undefined) await wait
        }
      }
    } catch (error) {
      this.failure = error
    }
    this.busy = undefined
  }
}
