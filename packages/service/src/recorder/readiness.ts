import {
  compareGaps,
  FLAGS,
  hasTradingEnded,
  isBackfillKey,
  PriorbookError,
  type Gap,
  type GapReason,
  type Instrument,
  type MarketRecord,
  type MarketRevision,
  type Micros,
  type Sample,
  type TapeEvent,
  type VenueId,
} from '@priorbook/sdk/domain'
import { Ladder, type BookRun } from '@priorbook/sdk/tape'
import { Yielder } from '../lib/yielder.ts'
import { captureFact, type BookPage, type InstrumentRef, type StoreReader } from '../store/store.ts'
import { HABIT_SIZE } from '../venues/capture/silence.ts'
import { passedFacts } from './batch.ts'
import { readOpenGaps } from './left-books.ts'
import { MarketMemory } from './market-memory.ts'
import { PassedChanges } from './passed-changes.ts'
import { PastTrades } from './past-trades.ts'
import { bookAfter, toMark } from './stored-book.ts'
import { Track, TRADE_IDS_KEPT, type Mark, type TrackStart } from './track.ts'

/** What loading the state of a venue needs. */
export type ReadinessOptions = {
  readonly store: StoreReader
  readonly venue: VenueId
  /** True where a connector compares full books with the tracks. */
  readonly keepsStates: boolean
  /** The record of a market that no catalogue answer has named. */
  toBareMarket(marketId: string, message: unknown): MarketRecord
  /** Called with rows that loading makes: first records of markets, and gaps. */
  onRevision(revision: MarketRevision): void
  onGaps(gaps: readonly Gap[]): void
}

/** The message that names what is to be loaded. */
export type NamingMessage = {
  readonly received: Micros
  readonly number: number
  /** Its JSON, undefined where it is not JSON. */
  value(): unknown
}

// Max markets that are remembered after their end, because the venue goes on talking about them until they
// are resolved; others are read from the store again.
const ENDED_KEPT = 1000
// Max ends of series kept; markets that never end, as in imports, leave theirs behind.
const SAMPLE_ENDS_KEPT = 20_000

/**
 * The state of one venue that events are applied to. It is loaded from the store as events name it, so
 * that applying an event needs no waiting once everything that it names is ready.
 */
export class Readiness {
  readonly tracks = new Map<string, Track>()
  /** The same tracks by market, so that the end of a market does not pass over tens of thousands of others. */
  private readonly byMarket = new Map<string, Track[]>()
  readonly markets: MarketMemory
  readonly passed = new PassedChanges()
  /** The trades that come from the venue's history. */
  readonly past = new PastTrades()
  /** When a recorder first ran for this venue; undefined if it was only imported. */
  captureStarted: Micros | undefined
  private readonly options: ReadinessOptions
  private readonly sampleEnds = new Map<string, SampleEnd>()
  /** Markets that ended and whose instruments are loaded. */
  private readonly endedMarkets = new Set<string>()
  /** The keys of tracks that ended; some may have been opened again by a late message. */
  private readonly ended = new Set<string>()
  private areUnbrokenLoaded = false
  /** Gaps of books that are not loaded yet, as a start found them; each is taken once. */
  private readonly openGaps = new Map<string, Gap>()
  /** The books among them that skipped a change while they were closed. */
  private passedAtStart: ReadonlySet<string> = new Set()
  private interrupted: { readonly reason: GapReason; readonly journal: number } | undefined

  constructor(options: ReadinessOptions) {
    this.options = options
    this.markets = new MarketMemory(options.store, options.venue)
  }

  /** The books of a market that are loaded, in the order in which they were. */
  tracksOf(market: string): readonly Track[] {
    return this.byMarket.get(market) ?? []
  }

  /** Loads what every message needs. */
  async start(): Promise<void> {
    const { store, venue } = this.options
    this.captureStarted = (await store.fact(captureFact(venue))) as Micros | undefined
  }

  /** True when an event can be applied without asking the store. */
  isReady(event: TapeEvent): boolean {
    switch (event.kind) {
      case 'gap':
        return true
      case 'market':
        return (
          this.markets.knows(event.record.marketId) &&
          (!hasTradingEnded(event.record.status) || this.endedMarkets.has(event.record.marketId))
        )
      case 'sample':
        return this.sampleEnds.has(sampleName(event))
      case 'trade':
        if (isBackfillKey(event.instrument.key)) return this.past.isReady(event.instrument.key)
        return (
          this.isTracked(event.instrument) && this.tracks.get(event.instrument.key)!.knowsTrades
        )
      default:
        return this.isTracked(event.instrument)
    }
  }

  private isTracked({ key, market }: Instrument): boolean {
    return this.tracks.has(key) && this.markets.briefOf(market) !== undefined
  }

  /** Loads what the events name. */
  async prepare(events: readonly TapeEvent[], message: NamingMessage): Promise<void> {
    for (const event of events) {
      if (this.isReady(event)) continue
      switch (event.kind) {
        case 'gap':
          break
        case 'market':
          if (!this.markets.knows(event.record.marketId)) {
            await this.markets.load(event.record.marketId)
          }
          if (hasTradingEnded(event.record.status)) await this.loadEnding(event.record)
          break
        case 'sample':
          this.sampleEnds.set(sampleName(event), await readSampleEnd(this.options.store, event))
          break
        case 'trade':
          if (isBackfillKey(event.instrument.key)) {
            await this.past.load(this.options.store, event.instrument)
            break
          }
          await this.loadTracked(event.instrument, message)
          await this.loadTrades(event.instrument)
          break
        default:
          await this.loadTracked(event.instrument, message)
      }
    }
  }

  private async loadTracked(instrument: Instrument, message: NamingMessage): Promise<void> {
    await this.loadMarket(instrument.market, message)
    if (!this.tracks.has(instrument.key)) await this.loadTrack(instrument)
  }

  private async loadTrades({ venue, key }: Instrument): Promise<void> {
    const track = this.tracks.get(key)!
    if (track.knowsTrades) return
    const { store } = this.options
    const { rows } = await store.trades({ venue, key, order: 'desc', limit: TRADE_IDS_KEPT })
    track.learnTrades({
      last: rows.received[rows.count - 1] ?? 0,
      journal: rows.journal[rows.count - 1] ?? 0,
      ids: Array.from({ length: rows.count }, (_, at) => rows.tradeId[at]!),
    })
  }

  /**
   * Loads all instruments that miss nothing: a loss must find them, also after a restart. `closing` is the journal
   * record that then closes all of them; absent where some stay open.
   */
  async loadUnbroken(closing = 0): Promise<void> {
    if (this.areUnbrokenLoaded) return
    this.areUnbrokenLoaded = true
    const { store, venue } = this.options
    const yielder = new Yielder()
    for (const instrument of await store.unbroken(venue)) {
      await yielder.yieldIfDue()
      if (!this.tracks.has(instrument.key)) await this.loadTrack(instrument, { closing })
    }
  }

  /**
   * Reads the open gaps of all books that have not ended, and which of them skipped changes, with a few statements:
   * after a start the next message of every book needs its own, and to look for each takes a fifth of what loading
   * the book does.
   */
  async readOpenGaps(): Promise<void> {
    const { store, venue } = this.options
    this.openGaps.clear()
    try {
      await this.takeOpenGaps()
      const { mark: beginning } = passedFacts(venue, '')
      const passed = [...(await store.facts(beginning)).keys()]
      this.passedAtStart = new Set(passed.map((name) => name.slice(beginning.length)))
    } catch (error) {
      if (!(error instanceof PriorbookError) || error.code !== 'corrupt_row') throw error
      // One of them is damaged. Each book looks for its own, so only the damaged one fails.
      this.openGaps.clear()
    }
  }

  private async takeOpenGaps(): Promise<void> {
    const { store, venue } = this.options
    for (const gap of await readOpenGaps(store, venue)) {
      // What the store has of a loaded book may be older than the book.
      if (this.tracks.has(gap.key)) continue
      const known = this.openGaps.get(gap.key)
      if (known === undefined || compareGaps(gap, known) < 0) this.openGaps.set(gap.key, gap)
    }
  }

  private async openGapOf(key: string): Promise<Gap | undefined> {
    const [gap] = await this.options.store.gaps({ venue: this.options.venue, key, open: true })
    return gap
  }

  /** Loads the instruments of these keys that are stored and have not ended. */
  async loadStored(keys: Iterable<string>): Promise<void> {
    const { store, venue } = this.options
    for (const key of keys) {
      if (this.tracks.has(key)) continue
      const ref = { venue, key }
      const facts = await store.instrument(ref)
      if (facts === undefined) continue
      const [gap] = await store.gaps({ ...ref, open: true })
      if (gap?.reason !== 'market_closed') await this.loadTrack(facts.instrument)
    }
  }

  /** Instruments that are loaded from now on miss the journal records up to `journal`. */
  interrupt(reason: GapReason, journal: number): void {
    this.interrupted = { reason, journal }
  }

  /** Places a sample in its series; undefined where it is stored already. */
  nextSample(sample: Sample): Sample | undefined {
    const end = this.sampleEnds.get(sampleName(sample))!
    if (sample.journal <= end.journal) return undefined
    // A history has one value for each time, and what lies before its end is stored.
    if (isBackfillKey(sample.instrument.key) && sample.received <= end.last) return undefined
    return end.next(sample)
  }

  /** How many markets, books and series are in memory. */
  get size(): number {
    return this.tracks.size + this.markets.size + this.sampleEnds.size + this.endedMarkets.size
  }

  /** True when something can be forgotten. */
  get hasEnded(): boolean {
    if (this.endedMarkets.size > ENDED_KEPT || this.sampleEnds.size > SAMPLE_ENDS_KEPT) return true
    return this.markets.isFull || this.ended.size > 0
  }

  /** Notes a track that may have ended: with tens of thousands, all of them are not looked at after each commit. */
  noteEnd(track: Track): void {
    if (track.hasEnded) this.ended.add(track.instrument.key)
  }

  /**
   * Forgets what has ended and is not among the pending keys and markets. Everything else derived so far
   * must be stored, for it is read from there again.
   */
  forgetEnded(pending: ReadonlySet<string>): void {
    this.markets.trim(pending)
    const ended = this.forgetTracks(pending)
    // Another book of the market may have gone on: a late message opened it again.
    for (const market of ended) if (!this.byMarket.has(market)) this.markets.forget(market)
    for (const [name, { market }] of this.sampleEnds) {
      if (this.sampleEnds.size <= SAMPLE_ENDS_KEPT) break
      if (!pending.has(market)) this.sampleEnds.delete(name)
    }
    if (this.endedMarkets.size <= ENDED_KEPT) return
    const gone = new Set<string>()
    for (const market of this.endedMarkets) {
      if (this.endedMarkets.size - gone.size <= ENDED_KEPT) break
      if (!pending.has(market)) gone.add(market)
    }
    for (const market of gone) {
      this.endedMarkets.delete(market)
      if (!this.byMarket.has(market)) this.markets.forget(market)
    }
    for (const [name, { market }] of this.sampleEnds) {
      if (gone.has(market)) this.sampleEnds.delete(name)
    }
  }

  // Returns their markets.
  private forgetTracks(pending: ReadonlySet<string>): Set<string> {
    const markets = new Set<string>()
    for (const key of this.ended) {
      const track = this.tracks.get(key)
      if (track?.hasEnded !== true) {
        this.ended.delete(key)
        continue
      }
      const { market } = track.instrument
      if (pending.has(key) || pending.has(market)) continue
      this.ended.delete(key)
      this.forgetTrack(track)
      markets.add(market)
    }
    return markets
  }

  private forgetTrack(track: Track): void {
    const { key, market } = track.instrument
    this.tracks.delete(key)
    this.passed.forget(key)
    const others = this.tracksOf(market).filter((other) => other !== track)
    if (others.length === 0) this.byMarket.delete(market)
    else this.byMarket.set(market, others)
  }

  // A market that was never named gets a first, bare record with what the message says of it.
  private async loadMarket(market: string, message: NamingMessage): Promise<void> {
    const { received, number: journal } = message
    if (this.markets.briefOf(market) !== undefined) return
    if (!this.markets.knows(market)) await this.markets.load(market)
    if (this.markets.get(market) !== undefined) return
    const bare = this.options.toBareMarket(market, message.value())
    const { record } = this.markets.merge({ record: bare, received, journal })
    this.options.onRevision({ kind: 'market', received, journal, record })
  }

  // An unbroken one has no open gap: with many of them, looking for one takes most of a start.
  private async loadTrack(
    instrument: Instrument,
    unbroken?: { readonly closing: number },
  ): Promise<void> {
    const { store, keepsStates } = this.options
    const { market, key } = instrument
    if (this.markets.briefOf(market) === undefined) await this.markets.load(market)
    const atStart = unbroken === undefined ? this.openGaps.get(key) : undefined
    // Taken once: what the store has of the book changes from now on.
    this.openGaps.delete(key)
    const gap = unbroken === undefined ? (atStart ?? (await this.openGapOf(key))) : undefined
    const start = await readTrackStart(store, instrument, {
      gap,
      closing: unbroken?.closing ?? 0,
      openTime: this.markets.briefOf(market)?.openTime,
      captureStarted: this.captureStarted,
    })
    const track = new Track(instrument, start, keepsStates)
    this.tracks.set(key, track)
    const siblings = this.byMarket.get(market)
    if (siblings === undefined) this.byMarket.set(market, [track])
    else siblings.push(track)
    this.noteEnd(track)
    const hasPassed = atStart === undefined || this.passedAtStart.has(key)
    if (!track.isOpen && hasPassed) await this.resumePassed(key)
    if (this.interrupted !== undefined) {
      const { reason, journal } = this.interrupted
      this.options.onGaps(track.interrupt(reason, journal))
    }
  }

  private async resumePassed(key: string): Promise<void> {
    const { store, venue } = this.options
    const names = passedFacts(venue, key)
    const mark = await store.fact(names.mark)
    // Nothing was skipped of most books.
    if (mark === undefined) return
    const channel = await store.fact(names.channel)
    this.passed.resume(key, { mark, channel, journal: await store.fact(names.journal) })
  }

  // The instruments of a market that ends must be loaded to be ended, whatever gap they are in.
  private async loadEnding({ marketId, outcomes }: MarketRecord): Promise<void> {
    const known = this.markets.get(marketId)?.outcomes ?? []
    const tokens = [...known, ...outcomes].flatMap(({ tokenId }) => tokenId ?? [])
    await this.loadStored(new Set([marketId, ...tokens]))
    this.endedMarkets.add(marketId)
  }
}

function sampleName({ instrument, metric }: Sample): string {
  return `${instrument.key} ${metric}`
}

// Max rows that are searched for the last full book: pages times rows per page.
const FULL_PAGE = 1024
const FULL_PAGES = 16

/** What is known of an instrument before its rows are read. */
type KnownBefore = {
  readonly gap: Gap | undefined
  /** The journal record that closes it next, 0 for none. */
  readonly closing: number
  readonly openTime: Micros | undefined
  readonly captureStarted: number | undefined
}

/** Reads what the store holds of an instrument. */
async function readTrackStart(
  store: StoreReader,
  instrument: Instrument,
  { gap, closing, openTime, captureStarted }: KnownBefore,
): Promise<TrackStart> {
  const ref = { venue: instrument.venue, key: instrument.key }
  const reading = { ...ref, order: 'desc', numbers: true, hashes: false } as const
  const newestRows = { ...reading, limit: HABIT_SIZE + 1 }
  const mayBeClosed = gap !== undefined || closing > 0
  let newest = await store.books({ ...newestRows, levels: !mayBeClosed })
  const journal = newestJournal(newest.runs)
  const isClosed = gap !== undefined || closing > journal
  if (mayBeClosed && !isClosed) newest = await store.books(newestRows)
  const ladder = newest.corrupt.length > 0 ? undefined : startLadder(newest.runs, isClosed)
  const sequence = await readLastSequence(store, ref, newest)
  const marks = newest.runs.flatMap(marksOf)
  // Only an open book is compared with its last full one, and the next full one is what opens it.
  const isSought = newest.hasMore && !isClosed
  const full = lastFull(newest.runs) ?? (isSought ? await findFull(store, ref) : undefined)
  return {
    ...(ladder === undefined ? {} : { ladder }),
    sequence,
    marks,
    ...(full === undefined ? {} : { full }),
    ...(await readLaterTrade(store, ref, marks.at(-1)?.received)),
    journal,
    ...(gap === undefined ? {} : { gap }),
    ...(sequence === 0 ? spanBefore(openTime, captureStarted) : {}),
  }
}

// The next full book sets all levels of a closed book.
function startLadder(runs: readonly BookRun[], isClosed: boolean): Ladder | undefined {
  const run = runs.at(-1)
  if (run === undefined) return undefined
  return isClosed ? new Ladder(run.columns.priceDecimals) : bookAfter(runs)
}

async function readLastSequence(
  store: StoreReader,
  ref: InstrumentRef,
  { runs, corrupt }: BookPage,
): Promise<number> {
  const run = runs.at(-1)
  if (run !== undefined && corrupt.length === 0) return run.firstSequence + run.to - 1
  // Retention may have removed all rows, and damaged ones have numbers too.
  return (await store.instrument(ref))?.lastSequence ?? 0
}

// Chunks of trades that end before the newest book, which nearly all do, are not read.
async function readLaterTrade(
  store: StoreReader,
  ref: InstrumentRef,
  newest: number | undefined,
): Promise<Pick<TrackStart, 'laterTrade' | 'hasNoTrade'>> {
  const start = newest === undefined ? 0 : newest + 1
  const { rows, corrupt } = await store.trades({ ...ref, order: 'desc', limit: 1, start })
  const isNone = rows.count === 0 && corrupt.length === 0
  return {
    laterTrade: rows.received[rows.count - 1] ?? 0,
    hasNoTrade: newest === undefined && isNone,
  }
}

/** The end of one series of samples, whose received time never decreases. */
type SampleEnd = {
  readonly market: string
  readonly journal: number
  /** The received time of the last sample. */
  readonly last: number
  /** Returns the sample with a received time that is not before the last one. */
  next(sample: Sample): Sample
}

/** Loads the end of a series of samples from the store. */
async function readSampleEnd(store: StoreReader, sample: Sample): Promise<SampleEnd> {
  const { instrument, metric } = sample
  const { venue, key } = instrument
  const { rows } = await store.samples({ venue, key, metric, order: 'desc', limit: 1 })
  const at = rows.count - 1
  let last = rows.received[at] ?? 0
  return {
    market: instrument.market,
    journal: rows.journal[at] ?? 0,
    get last() {
      return last
    },
    next(next) {
      if (next.received >= last) {
        last = next.received
        return next
      }
      last++
      return { ...next, received: last as Micros, flags: (next.flags ?? 0) | FLAGS.clock_step }
    },
  }
}

// Why nothing is known before the first observation: the recorder did not run, or did not know the market.
function spanBefore(
  openTime: Micros | undefined,
  captureStarted: number | undefined,
): Pick<TrackStart, 'before'> {
  if (openTime === undefined || captureStarted === undefined) return {}
  const reason = openTime < captureStarted ? 'before_capture' : 'late_discovery'
  return { before: { openTime, reason } }
}

async function findFull(store: StoreReader, ref: InstrumentRef): Promise<TrackStart['full']> {
  let after: number | undefined
  for (let page = 0; page < FULL_PAGES; page++) {
    const { runs, hasMore } = await store.books({
      ...ref,
      order: 'desc',
      limit: FULL_PAGE,
      numbers: true,
      hashes: false,
      ...(after === undefined ? {} : { after }),
    })
    const full = lastFull(runs)
    if (full !== undefined) return full
    const oldest = runs[0]
    if (!hasMore || oldest === undefined) return undefined
    after = oldest.firstSequence + oldest.from
  }
  return undefined
}

function lastFull(runs: readonly BookRun[]): TrackStart['full'] {
  for (const run of runs.toReversed()) {
    const { flags } = run.columns
    for (let row = run.to - 1; row >= run.from; row--) {
      if ((flags[row]! & FLAGS.full_book) === 0) continue
      return { ...toMark(run, row), sequence: run.firstSequence + row }
    }
  }
  return undefined
}

function marksOf(run: BookRun): Mark[] {
  return Array.from({ length: run.to - run.from }, (_, at) => toMark(run, run.from + at))
}

function newestJournal(runs: readonly BookRun[]): number {
  const run = runs.at(-1)
  return run === undefined ? 0 : run.columns.journal[run.to - 1]!
}
