import {
  DAY_MICROS,
  isBackfillKey,
  PriorbookError,
  VENUES,
  type GapReason,
  type Instrument,
  type MarketRecord,
  type MarketStatus,
  toMicros,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Clock } from '../lib/clock.ts'
import { SteadyClock } from '../lib/steady-clock.ts'
import type { Tracing } from '../lib/tracing.ts'
import {
  openJournalWriter,
  type JournalWriter,
  type JournalWriterOptions,
} from '../journal/index.ts'
import {
  feedFacts,
  type AppendBatch,
  type MarketQuery,
  type StoreReader,
  type StoreWriter,
} from '../store/store.ts'
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
  type UnresolvedMarket,
} from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import {
  Applier,
  type ApplyCounts,
  type ApplyRecord,
  type HeldBooks,
  type NewestRows,
} from './applier.ts'
import { readAskedCalls } from './asked-calls.ts'
import { walkedFacts } from './batch.ts'
import { catchUp } from './catch-up.ts'
import { TakenTape, type TakeoverTarget } from './taken-tape.ts'
import { planTakeover, readOwn, toTakeoverNotes, type OwnRecord } from './takeover.ts'
import { parseMessageJson } from '../lib/message-json.ts'
import { toNoteBytes, type Note } from './notes.ts'
import type { LagMeter } from './lag.ts'
import { readLeftBooks } from './left-books.ts'
import { RefusedNotes } from './refused-notes.ts'

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
  /** Gives work the store that has what earlier runs left; by default `store`. */
  readonly withEarlier?: <T>(work: (store: StoreReader) => Promise<T>) => Promise<T>
  readonly journalLevel?: number
  readonly tracing?: Tracing
  /** The most that one file of the journal holds. */
  segments?(venue: VenueId): Pick<JournalWriterOptions, 'segmentBytes' | 'segmentMicros'>
}

/** The state of the capture of one venue. */
export type VenueStatus = {
  readonly connector: ConnectorStatus
  readonly counts: Readonly<ApplyCounts>
  readonly messages: number
  readonly books: HeldBooks
  readonly newest: NewestRows
  /** The lengths of gaps that ended since the start, summed by reason, in microseconds. */
  readonly gapMicros: Readonly<Partial<Record<GapReason, number>>>
  /** The venue's clock minus ours when they were last compared; absent before that. */
  readonly clockOffsetMicros?: number
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
const LEFT = 'the market was over before this recorder began'
/** With fewer records to go, a takeover is finished in one turn. */
const LAST_RECORDS = 2000
/** Max unresolved markets that a connector follows from an earlier run. */
const MAX_UNRESOLVED = 200_000
/** Max markets that a feed of trades may belong to. */
const MAX_FEED_MARKETS = 10_000

/** Applies what a crash left in the journal, and creates the intake with its connector. */
export async function openIntake(options: IntakeOptions): Promise<Intake> {
  const { store, journalDir, venue, log, clock } = options
  const { withEarlier = (work) => work(store) } = options
  await catchUp(store, journalDir, venue)
  const intake = new Intake(openWriter(options, await store.appliedPosition(venue)), options)
  // Of tens of thousands of markets the records are read once, not again with the first message of each book.
  const unresolved = await withEarlier((earlier) =>
    readUnresolved(
      earlier,
      venue,
      earlier === store ? (record) => intake.learn(record) : undefined,
    ),
  )
  intake.left = await readLeftBooks(store, venue, unresolved)
  const { quotaOutlivesRestart } = definitionOf(venue)
  const asked = quotaOutlivesRestart
    ? await withEarlier((earlier) => readAskedCalls(earlier, venue))
    : []
  const feed = await readFeed(withEarlier, venue)
  const walked = await withEarlier((earlier) => readWalked(earlier, venue))
  intake.connector = options.create({
    sink: intake.sink,
    log,
    clock,
    unresolved,
    asked,
    ...(walked === undefined ? {} : { walked }),
    ...feed,
  })
  return intake
}

function openWriter(options: IntakeOptions, acknowledged: number): JournalWriter {
  const { journalDir: dir, venue, origin, recorder, journalLevel } = options
  return openJournalWriter({
    dir,
    venue,
    origin,
    recorder,
    acknowledged,
    ...(journalLevel === undefined ? {} : { level: journalLevel }),
    ...options.segments?.(venue),
  })
}

async function readWalked(store: StoreReader, venue: VenueId): Promise<ConnectorContext['walked']> {
  const names = walkedFacts(venue)
  const [at, rules] = [await store.fact(names.at), await store.fact(names.rules)]
  return at === undefined || rules === undefined ? undefined : { at: at as Micros, rules }
}

async function readFeed(
  withEarlier: NonNullable<IntakeOptions['withEarlier']>,
  venue: VenueId,
): Promise<Pick<ConnectorContext, 'feed'>> {
  const { feed } = definitionOf(venue)
  if (feed === undefined) return {}
  const facts = new Map<string, number>()
  await withEarlier(async (earlier) => {
    for (const name of feed.facts) {
      const value = await earlier.fact(name)
      if (value !== undefined) facts.set(name, value)
    }
  })
  const eachMarket = (onMarket: (record: MarketRecord) => void): Promise<void> =>
    withEarlier((earlier) => readFeedMarkets(earlier, venue, onMarket))
  return { feed: { facts, eachMarket } }
}

// A market may be listed a day before it trades. Records are large, so pages of them are.
const LISTED_BEFORE = DAY_MICROS
const MARKETS_PER_PAGE = 200

async function readFeedMarkets(
  store: StoreReader,
  venue: VenueId,
  onMarket: (record: MarketRecord) => void,
): Promise<void> {
  const source = await store.fact(feedFacts(venue).source)
  // A feed that was never read may begin in the past: then the newest markets are the best choice.
  const query =
    source === undefined ? { order: 'desc' as const } : { start: source - LISTED_BEFORE }
  let after: MarketQuery['after']
  for (let read = 0; read < MAX_FEED_MARKETS; read += MARKETS_PER_PAGE) {
    const page = await store.markets({ venue, ...query, after, limit: MARKETS_PER_PAGE })
    for (const { record } of page.markets) onMarket(record)
    const last = page.markets.at(-1)
    if (!page.hasMore || last === undefined) return
    after = { openTime: last.sortTime, venue, marketId: last.record.marketId }
  }
}

async function readUnresolved(
  store: StoreReader,
  venue: VenueId,
  onRecord?: (record: MarketRecord) => void,
): Promise<ConnectorContext['unresolved']> {
  const found: UnresolvedMarket[] = []
  for (const status of UNRESOLVED) {
    let after: MarketQuery['after']
    do {
      const page = await store.markets({ venue, status, after, limit: MARKETS_PER_PAGE })
      for (const { record } of page.markets) {
        const { native, ...facts } = record
        onRecord?.(record)
        found.push({ marketId: record.marketId, native, facts })
      }
      const last = page.hasMore ? page.markets.at(-1) : undefined
      after = last && { openTime: last.sortTime, venue, marketId: last.record.marketId }
    } while (after !== undefined && found.length < MAX_UNRESOLVED)
  }
  return found
}

/** Takes one venue's messages from its connector into the journal and, in the same order, into rows. */
export class Intake {
  readonly venue: VenueId
  readonly sink: CaptureSink
  connector!: Connector
  /** Books of markets that are over, which an earlier run left in a gap; the start ends them. */
  left: readonly string[] = []
  private writer: JournalWriter
  private applier: Applier
  private readonly normalizer: Normalizer
  private options: IntakeOptions
  private readonly steady: SteadyClock
  /** Records that wait while the store is asked on behalf of an earlier one. */
  private queue: ApplyRecord[] = []
  private failure: unknown
  private busy: Promise<void> | undefined
  /** Received times of the records that are not stored yet: since the last drain, and before it. */
  private received: number[] = []
  private drained: number[] = []
  private messages = 0
  private newest: NewestRows = {}
  private drainedNewest: NewestRows = {}
  private clockOffset: number | undefined
  private isRefusing = false
  private refused = 0
  private readonly refusedNotes = new RefusedNotes()
  private lookedAt = 0
  /** What a takeover added to the numbers of records. Connectors know those from before it. */
  private shift = 0
  /** The books that were complete when a takeover ended. */
  private takenOver: readonly Instrument[] = []

  constructor(writer: JournalWriter, options: IntakeOptions) {
    const { venue } = options
    this.venue = venue
    this.writer = writer
    this.options = options
    this.normalizer = definitionOf(venue).normalizer
    this.steady = new SteadyClock(options.clock)
    this.applier = this.createApplier(options.store)
    this.sink = {
      now: () => options.clock.now(),
      steadyNow: () => this.steady.now(),
      position: () => this.writer.nextNumber - 1 - this.shift,
      frame: (...frame) => this.frame(...frame),
      answer: (...answer) => this.answer(...answer),
      note: (note) => this.note(note),
      isFull: () => this.isRefusing,
      book: (key) => this.applier.book(key),
      ...(options.tracing === undefined ? {} : { tracing: ofVenue(options.tracing, venue) }),
    }
  }

  /** What can be stored, in rows that take as long to write. */
  get pending(): number {
    return this.busy === undefined ? this.applier.pending : 0
  }

  /** Learns the record that the store has of a market; before the start. */
  learn(record: MarketRecord): void {
    this.applier.learn(record)
  }

  start(): void {
    this.note({ note: 'started', version: '1' })
    this.noteEnded(this.left, LEFT)
    this.left = []
  }

  /** Notes an orderly end, unless another recorder goes on. */
  stop(isContinued: boolean): void {
    this.endLingering()
    if (!isContinued) this.note({ note: 'stopped' })
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
    if (batch !== undefined) this.drainedNewest = newestOf(batch)
    this.drained = this.received
    this.received = []
    return batch
  }

  /** The drained rows are durable. */
  stored(at: Micros, lag: LagMeter): void {
    for (const received of this.drained) lag.note(at - received)
    this.drained = []
    this.newest = { ...this.newest, ...this.drainedNewest }
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
    this.noteEnded(keys, 'nothing came since the market was over')
  }

  private noteEnded(keys: readonly string[], why: string): void {
    for (let from = 0; from < keys.length; from += KEYS_PER_NOTE) {
      const named = keys.slice(from, from + KEYS_PER_NOTE)
      this.note({ note: 'loss', reason: 'market_closed', why, keys: named })
    }
  }

  /**
   * Copies what this recorder has after the last row of another one's tape into that tape and the journal
   * beside it, while it goes on recording. `finishTakeover` does the rest.
   */
  async prepareTakeover(target: TakeoverTarget): Promise<TakenTape> {
    const { venue, options, applier: before } = this
    const { store, journalDir } = options
    const own = { venue, journalDir, store, applier: before }
    const plan = await planTakeover(target.store, own)
    const writer = openWriter({ ...options, ...target }, await target.store.appliedPosition(venue))
    const applier = this.createApplier(target.store)
    const number = writer.nextNumber + plan.slots.length + 1
    const { first } = plan
    const takeover = new TakenTape({ target, maker: options, writer, applier, first, number })
    try {
      const received = options.clock.now()
      for (const note of toTakeoverNotes(plan, number)) {
        await takeover.take({ received, kind: 'note', slot: 0, bytes: toNoteBytes(note) })
      }
      for (;;) {
        const { committed } = this.writer
        if (committed - takeover.next < LAST_RECORDS) break
        for (const record of this.read(takeover.next, committed)) await takeover.copy(record)
      }
      await takeover.flush()
    } catch (error) {
      takeover.abandon()
      throw error
    }
    const books = plan.joins.length
    options.log.info({ venue, books, records: takeover.next - first }, 'takes over')
    return takeover
  }

  /** True while the store is asked on behalf of a record. */
  get isBusy(): boolean {
    return this.busy !== undefined
  }

  /** The records that are not copied yet, durable. */
  readRest({ next }: TakenTape): readonly OwnRecord[] {
    this.writer.commit()
    return [...this.read(next, this.writer.committed)]
  }

  /** Goes on in the other tape; call it in the turn in which the rest was read. */
  finishTakeover(takeover: TakenTape, rest: readonly OwnRecord[]): void {
    this.takenOver = this.applier.openBooks()
    const { writer: before } = this
    this.writer = takeover.writer
    this.applier = takeover.applier
    this.options = { ...this.options, ...takeover.target }
    this.shift = takeover.shift
    this.received = []
    this.drained = []
    for (const record of rest) {
      const { received, kind, slot } = record
      const bytes = takeover.toCopy(record)
      this.apply({ number: this.journal(received, kind, bytes, slot), received, kind, slot, bytes })
    }
    before.close()
  }

  /** Asks for the books that were complete before a takeover and do not go on. */
  async recoverTakenOver(): Promise<void> {
    // The connector forgets a market when it ends. If that was before the takeover, the end is not in this tape.
    const { store } = this.options
    const unresolved = await readUnresolved(store, this.venue)
    this.connector.resume(unresolved)
    this.noteEnded(await readLeftBooks(store, this.venue, unresolved), LEFT)
    const closed = this.takenOver.filter(({ key }) => this.applier.book(key)?.isOpen !== true)
    this.takenOver = []
    if (closed.length > 0) this.connector.recover(closed, 'recorder_down')
  }

  private read(from: number, to: number): Generator<OwnRecord> {
    return readOwn({ venue: this.venue, journalDir: this.options.journalDir }, from, to)
  }

  private createApplier(store: StoreWriter): Applier {
    const { venue } = this
    const applier: Applier = new Applier(store, venue, {
      // While a takeover is prepared, the connector has to do with the books from before it.
      onClosed: (instruments, reason) => {
        if (applier === this.applier) this.connector.recover(instruments, reason)
      },
      keepsStates: VENUES[venue].bookRules.fullBooksVerify,
    })
    return applier
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
    // Before the books are closed and asked for: what comes then is of the connections that are open now.
    for (const note of this.refusedNotes.take()) this.note(note)
    this.note({ note: 'disk_full', refused })
    return refused
  }

  status(): VenueStatus {
    return {
      connector: this.connector.status(),
      counts: { ...this.applier.counts },
      messages: this.messages,
      books: this.applier.held,
      newest: this.newest,
      gapMicros: { ...this.applier.gapMicros },
      ...(this.clockOffset === undefined ? {} : { clockOffsetMicros: this.clockOffset }),
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
    return journal === 0 ? withoutRecords(reading) : reading
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
    const since = asked === undefined ? {} : { asked: Math.max(0, asked + this.shift) }
    this.note({ note: 'request', request, ...since })
    const journal = this.journal(received, 'message', bytes, 0)
    if (journal === 0) return NOT_KEPT
    const reading = toReading(() =>
      this.normalizer.answer(request, parsed ?? parseMessageJson(bytes), { received, journal }),
    )
    this.apply({ number: journal, received, kind: 'message', slot: 0, bytes, parsed, reading })
    return reading
  }

  private note(note: Note): void {
    if (note.note === 'clock') {
      this.steady.compared(note.offset_us, note.round_trip_us)
      this.clockOffset = note.offset_us
    }
    if (this.isRefusing && this.refusedNotes.keep(note)) return
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
    this.options.flushSoon()
  }
}

// A connector that took an answer for told would never ask again, for example for the end of a market.
const NOT_KEPT: Reading = {
  events: [],
  problems: [],
  error: new PriorbookError('disk_full', 'there is no space to keep the answer'),
}

// A frame that is not kept still shows that its socket lives, but what it says of markets has to be asked for.
function withoutRecords(reading: Reading): Reading {
  return { ...reading, events: reading.events.filter(({ kind }) => kind !== 'market') }
}

// Rows are in the order of their journal records. Those of the venue's history tell nothing about the present.
function newestOf({ observations, trades, samples }: AppendBatch): NewestRows {
  const last = (rows: AppendBatch['trades' | 'samples' | 'observations'] = []) =>
    rows.findLast(({ instrument }) => !isBackfillKey(instrument.key))?.received as
      | Micros
      | undefined
  const newest = { observations: last(observations), trades: last(trades), samples: last(samples) }
  return Object.fromEntries(Object.entries(newest).filter(([, at]) => at !== undefined))
}

function ofVenue(tracing: Tracing, venue: VenueId): NonNullable<CaptureSink['tracing']> {
  return {
    span: (name, attributes) => tracing.span(name, { 'priorbook.venue': venue, ...attributes }),
  }
}
