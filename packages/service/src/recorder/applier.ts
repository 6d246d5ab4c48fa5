import {
  hasTradingEnded,
  isBackfillKey,
  isLastStatus,
  isMarketState,
  POW10,
  PriorbookError,
  VENUES,
  type BookChange,
  type BookRules,
  type BookSnapshot,
  type ErrorCode,
  type GapReason,
  type Instrument,
  type MarketRecord,
  type MarketRevision,
  type Micros,
  type Provenance,
  type Sample,
  type TapeEvent,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { MAX_SLOT, type RecordKind } from '@priorbook/sdk/journal'
import { ABSENT } from '@priorbook/sdk/tape'
import { noParity, type ParityCounts } from '../store/parity-checks.ts'
import {
  backfillFacts,
  captureFact,
  newestPastTrade,
  type AppendBatch,
  type StoreReader,
} from '../store/store.ts'
import {
  isReferenceSlot,
  type CapturedBook,
  type CaptureRequest,
  type Normalized,
  type Normalizer,
  type Reading,
} from '../venues/capture/contract.ts'
import { definitionOf } from '../venues/registry.ts'
import { CallCounter } from './asked-calls.ts'
import {
  checkNumbers,
  checkSample,
  epochFact,
  noRows,
  missedFact,
  passedFacts,
  reachedFact,
  toQuarantined,
  walkedFacts,
  type BatchRows,
} from './batch.ts'
import { toChannel, toEpoch, toSubscription } from './channel.ts'
import { parseMessageJson } from '../lib/message-json.ts'
import { HeardSockets } from './heard-sockets.ts'
import { asHistory } from './history-record.ts'
import { parseJson, parseNote, type Note } from './notes.ts'
import { countParity } from './parity-counts.ts'
import { pastGap } from './past-trades.ts'
import { PriceChecks } from './price-checks.ts'
import { Readiness } from './readiness.ts'
import { isReferenceKey, ReferenceTracks, type ReferenceChoice } from './reference-tracks.ts'
import { isIntended, type Track } from './track.ts'
import { TradeFeed } from './trade-feed.ts'

/** One journal record on its way into the store. */
export type ApplyRecord = {
  readonly number: number
  readonly received: Micros
  readonly kind: RecordKind
  readonly slot: number
  readonly bytes: Uint8Array
  /** The JSON of a message that was parsed before. */
  readonly parsed?: unknown
  /** The reading of a message that was normalized before. */
  readonly reading?: Reading
}

/** How many rows of each kind were derived, and what happened to other messages. */
export type ApplyCounts = {
  observations: number
  trades: number
  samples: number
  revisions: number
  gaps: number
  quarantined: number
  /** Market revisions whose status does not follow from the one before. */
  anomalies: number
  /** Checks of prices that failed. */
  readonly parity: ParityCounts
  duplicates: number
  unapplied: number
  failed: number
}

/** The books that an applier holds. */
export type HeldBooks = {
  readonly tracks: number
  /** Those that miss nothing now. */
  readonly open: number
  /** Those that are in a gap and should not be: their market is open and selected. */
  readonly missing: number
  /** When the oldest of these gaps began. */
  readonly missingSince?: Micros
}

/** When the newest stored row of each kind was received; absent before the first one. */
export type NewestRows = {
  readonly observations?: Micros
  readonly trades?: Micros
  readonly samples?: Micros
}

/** How an applier serves a live connector; an import or a rebuild needs neither. */
export type LiveOptions = {
  readonly onClosed?: OnClosed
  /** True where the connector compares full books with ours. */
  readonly keepsStates?: boolean
}

/** Called when a message closed books: full ones are needed. */
export type OnClosed = (instruments: readonly Instrument[], reason: GapReason) => void

/** A gap, or a version of a market's record, takes as long to write as some rows; an answer can hold hundreds. */
const ROWS_PER_RECORD = 4

/**
 * Derives rows from the journal records of one venue: normalizes, checks, finds gaps. Deterministic: the
 * same records give the same rows, wherever it was stopped and started again between them.
 */
export class Applier {
  readonly counts: ApplyCounts = {
    observations: 0,
    trades: 0,
    samples: 0,
    revisions: 0,
    gaps: 0,
    quarantined: 0,
    anomalies: 0,
    parity: noParity(),
    duplicates: 0,
    unapplied: 0,
    failed: 0,
  }
  /** The lengths of gaps of instruments that ended, summed by reason, in microseconds. */
  readonly gapMicros: Partial<Record<GapReason, number>> = {}
  private readonly store: StoreReader
  private readonly venue: VenueId
  private readonly prices: PriceChecks
  private readonly normalizer: Normalizer
  private readonly rules: BookRules
  private readonly isLive: boolean
  private readonly onClosed: OnClosed
  private readonly isFeed: (request: CaptureRequest) => boolean
  private readonly state: Readiness
  private readonly calls: CallCounter | undefined
  private readonly feed: TradeFeed
  private readonly references: ReferenceTracks
  /** The connection that each socket is: the journal record that noted it. */
  private readonly epochs = new Map<number, number>()
  private readonly heard: HeardSockets
  private isStarted = false
  /** Records that wait for the store. */
  private waiting = 0
  /** Notes about the next record. */
  private broken: string | undefined
  private request: CaptureRequest | undefined
  private asked: number | undefined
  /** The newest record that could not be read, or in front of which changes of any book were lost. */
  private missedAt = 0
  /** What the current record is: an answer, one of a backfill, and one of a history. */
  private isAnswer = false
  private isPast = false
  private isHistory = false
  /** After a takeover: the first record of our own time, and the books that go on. */
  private since = 0
  private readonly joined = new Set<string>()
  private rows = noRows()
  private position: number | undefined
  /** When the newest record was received. */
  private reached = 0

  constructor(store: StoreReader, venue: VenueId, live: LiveOptions = {}) {
    const definition = definitionOf(venue)
    this.store = store
    this.venue = venue
    this.normalizer = definition.normalizer
    this.rules = VENUES[venue].bookRules
    this.isLive = live.onClosed !== undefined
    this.onClosed = live.onClosed ?? (() => undefined)
    this.calls = definition.quotaOutlivesRestart ? new CallCounter(venue) : undefined
    this.feed = new TradeFeed(venue)
    this.heard = new HeardSockets(venue)
    this.references = new ReferenceTracks(venue)
    this.isFeed = (request) => definition.feed?.isRequest(request) === true
    this.state = new Readiness({
      store,
      venue,
      keepsStates: live.keepsStates ?? false,
      toBareMarket: (market, message) => definition.toBareMarket(market, message),
      onRevision: (revision) => void this.rows.revisions.push(revision),
      onGaps: (gaps) => void this.rows.gaps.push(...gaps),
    })
    this.prices = new PriceChecks(venue, {
      bookOf: (key) => this.state.tracks.get(key)!.assembler.ladder,
      gridOf: (marketId) => this.state.markets.briefOf(marketId)?.grid,
    })
  }

  /** Learns the record that the store has of a market, before the first record is applied. */
  learn(record: MarketRecord): void {
    this.state.markets.learn(record)
  }

  /** The book of an instrument; undefined before its first message. */
  book(key: string): CapturedBook | undefined {
    return this.state.tracks.get(key)
  }

  /** The socket of a channel that is open; 0 for answers. */
  slotOf(channel: number): number | undefined {
    if (channel === ABSENT) return 0
    const epoch = toEpoch(channel)
    return this.epochs.entries().find(([, live]) => live === epoch)?.[0]
  }

  /** The channel that feeds a book; ABSENT for none, undefined for a book that is not held. */
  channelOf(key: string): number | undefined {
    return this.state.tracks.get(key)?.channel
  }

  /** The open sockets, each with the journal record that noted it. */
  get connections(): ReadonlyMap<number, number> {
    return this.epochs
  }

  /** The instruments whose books miss nothing. */
  openBooks(): Instrument[] {
    return [...this.state.tracks.values()].flatMap((track) =>
      track.isOpen ? [track.instrument] : [],
    )
  }

  /** The books in memory. */
  get held(): HeldBooks {
    const { tracks } = this.state
    let open = 0
    let missing = 0
    let missingSince = Infinity
    for (const track of tracks.values()) {
      if (track.isOpen) open++
      const since = track.missingSince
      if (since === undefined) continue
      missing++
      missingSince = Math.min(missingSince, since)
    }
    const held = { tracks: tracks.size, open, missing }
    return missing === 0 ? held : { ...held, missingSince: missingSince as Micros }
  }

  /**
   * Applies one record, nearly always at once. Where the store has to be asked, a promise comes back
   * that must be awaited before the next record.
   */
  apply(record: ApplyRecord): Promise<void> | undefined {
    const wait = this.applyOne(record)
    if (wait === undefined) return undefined
    this.waiting++
    return wait.finally(() => this.waiting--)
  }

  private applyOne(record: ApplyRecord): Promise<void> | undefined {
    if (!this.isStarted) return this.start().then(() => this.applyOne(record))
    this.position = record.number
    this.reached = record.received
    try {
      const wait = record.kind === 'note' ? this.applyNote(record) : this.applyMessage(record)
      return wait?.catch((error: unknown) => this.refuse(record, error))
    } catch (error) {
      return this.refuse(record, error)
    }
  }

  /** What was derived since the last `drain`, in rows that take as long to write. */
  get pending(): number {
    const { observations, trades, samples, revisions, gaps } = this.rows
    const records = revisions.length + gaps.length
    return observations.length + trades.length + samples.length + records * ROWS_PER_RECORD
  }

  /** Everything derived since the last call, as one batch ready to append; absent if no record came. */
  drain(maker: Pick<AppendBatch, 'origin' | 'recorder'>): AppendBatch | undefined {
    const { rows } = this
    if (this.position === undefined) return undefined
    // A note about the next record is applied again with it, should the process end between the two.
    const isHalf = this.request !== undefined || this.broken !== undefined
    const position = isHalf ? this.position - 1 : this.position
    this.count(rows)
    rows.facts[reachedFact(this.venue)] = this.reached
    this.heard.drain(rows.facts)
    this.rows = noRows()
    this.position = undefined
    const { venue, normalizer } = this
    return { ...rows, ...maker, venue, position, normalizer: normalizer.version }
  }

  /**
   * Forgets ended instruments; call it only after the drained rows are stored. What rows were derived of since
   * then stays until they are stored too, and so does everything while the store is asked for a record.
   */
  forgetEnded(): void {
    if (this.waiting === 0 && this.rows.trades.length === 0) this.state.past.forget()
    if (this.waiting > 0 || !this.state.hasEnded) return
    const pending = new Set<string>()
    const { observations, trades, samples, revisions, gaps } = this.rows
    for (const { instrument } of [...observations, ...trades, ...samples]) {
      pending.add(instrument.key).add(instrument.market)
    }
    for (const { record } of revisions) pending.add(record.marketId)
    for (const { key } of gaps) pending.add(key)
    const passed = passedFacts(this.venue, '').mark
    for (const name of Object.keys(this.rows.facts)) {
      if (name.startsWith(passed)) pending.add(name.slice(passed.length))
    }
    this.state.forgetEnded(pending)
  }

  /**
   * Books that received nothing since `before` and did not end with their market, which is over for good: a
   * message that was late opened them again, or a loss closed them. Nothing that is still to come ends them.
   */
  lingering(before: Micros): string[] {
    const { tracks, markets } = this.state
    const found: string[] = []
    for (const { hasEnded, assembler, instrument } of tracks.values()) {
      const { lastReceived } = assembler
      if (hasEnded || lastReceived === 0 || lastReceived >= before) continue
      if (isLastStatus(markets.briefOf(instrument.market)?.status ?? '')) found.push(instrument.key)
    }
    return found
  }

  /** How many markets, books and series are in memory. */
  get remembered(): number {
    return this.state.size
  }

  /**
   * Closes every book: journal records from `first` on are missing, up to `last` where that is known. The
   * next batch contains the gaps.
   */
  async interrupt(reason: GapReason, first: number, last: number | undefined): Promise<void> {
    if (!this.isStarted) await this.start()
    const journal = last ?? first
    this.broken = undefined
    this.request = undefined
    await this.state.loadUnbroken(journal)
    this.state.interrupt(reason, journal)
    this.noteMissed(journal)
    this.closeTracks([...this.state.tracks.values()], reason, journal)
    this.rows.gaps.push(...this.feed.interrupt(reason, journal))
    this.losePrices('all', reason, journal)
    this.position = last ?? first - 1
  }

  private async start(): Promise<void> {
    this.isStarted = true
    await this.state.start()
    await this.calls?.load(this.store)
    await this.feed.load(this.store)
    await this.references.load(this.store)
    // After a damaged log was cut off, facts may be of records that are read again.
    const missed = (await this.store.fact(missedFact(this.venue))) ?? 0
    this.missedAt = missed <= (await this.store.appliedPosition(this.venue)) ? missed : 0
    for (let slot = 1; slot <= MAX_SLOT; slot++) {
      const epoch = await this.store.fact(epochFact(this.venue, slot))
      if (epoch === undefined || epoch === NO_EPOCH) continue
      this.epochs.set(slot, epoch)
      await this.heard.load(this.store, slot)
    }
  }

  // A record of any content must not stop a recorder, a start or a rebuild: what cannot be applied is
  // quarantined. Only the store's own failures, which say nothing about the record, go on to the caller.
  private async refuse(record: ApplyRecord, error: unknown): Promise<void> {
    if (isStoreFailure(error)) throw error
    const isListed = error instanceof PriorbookError
    const code = isListed ? error.code : 'invalid_message'
    const detail = error instanceof Error ? error.message : String(error)
    if (record.number >= this.since) {
      this.rows.quarantine.push(toQuarantined(this.venue, record, '', code, detail))
    }
    // Whatever is wrong with a message of a price socket, books do not depend on it.
    const isPrice = isReferenceSlot(this.venue, record.slot)
    if (record.kind === 'message' && (isListed || isPrice)) await this.closeSuspects(record)
    else await this.closeAll('rejected', record, detail)
  }

  // An unreadable frame may have contained a book change, so close every book that it could concern.
  private async closeSuspects(record: ApplyRecord): Promise<void> {
    const suspects = this.normalizer.suspects?.(frameOf(record)) ?? 'all'
    if (isReferenceSlot(this.venue, record.slot)) {
      const epoch = this.epochs.get(record.slot) ?? 0
      const choice = typeof suspects === 'string' ? { epoch } : { keys: suspects }
      this.losePrices(choice, 'rejected', record.number)
      return
    }
    if (suspects === 'none') return
    if (suspects === 'all') {
      await this.closeSocket(record)
      return
    }
    // A price concerns no book. Over a book socket it belongs to no feed; a recording has no sockets.
    if (suspects.every(isReferenceKey)) {
      if (record.slot === 0) this.losePrices({ keys: suspects }, 'rejected', record.number)
      return
    }
    await this.state.loadUnbroken()
    const { tracks } = this.state
    const closed = suspects.flatMap((key) => tracks.get(key) ?? [])
    this.closeTracks(closed, 'rejected', record.number)
    this.noteUnread(record)
  }

  // Closes all books that the socket of a record feeds; answers come over none. A recording does not say
  // which socket a line came over: it may concern every imported book without newer rows.
  private async closeSocket(record: ApplyRecord): Promise<void> {
    const { slot, number, received } = record
    if (slot === 0 && (this.isAnswer || isRecordedAnswer(record))) return
    await this.state.loadUnbroken()
    const epoch = this.epochs.get(slot) ?? 0
    const fed = [...this.state.tracks.values()].filter(({ channel, instrument, assembler }) =>
      slot > 0
        ? !this.isPolled(instrument) && this.isFedBy(epoch, channel)
        : channel !== ABSENT && toEpoch(channel) === IMPORTED && assembler.lastReceived <= received,
    )
    this.closeTracks(fed, 'rejected', number)
    this.noteUnread(record)
  }

  // By its record, so that a restart knows it too.
  private isPolled({ market }: Instrument): boolean {
    return this.state.markets.briefOf(market)?.tier === 'polled'
  }

  // Where sockets feed all books, a book that answers opened since its last connection was lost is on a
  // socket that the journal does not name yet, perhaps on this one.
  private isFedBy(epoch: number, channel: number): boolean {
    if (channel !== ABSENT && toEpoch(channel) === epoch) return true
    if (!this.rules.socketsFeedAllBooks) return false
    return channel === ABSENT || !this.epochs.values().some((live) => live === toEpoch(channel))
  }

  private applyNote(record: ApplyRecord): Promise<void> | undefined {
    // A note about the next record stands right in front of it.
    this.broken = undefined
    this.request = undefined
    const note = parseNote(record.bytes)
    const { facts } = this.rows
    switch (note.note) {
      case 'broken_line':
        this.broken = note.reason
        return undefined
      case 'file_imported':
        facts[`imported:${note.sha256}`] = note.lines
        return undefined
      case 'request':
        this.request = note.request
        this.asked = note.asked
        return undefined
      case 'failed':
        this.counts.failed++
        this.countCall(record, note.request)
        return undefined
      case 'feed_lost':
        this.rows.gaps.push(...this.feed.interrupt(note.reason, record.number, note.why))
        return undefined
      case 'connected':
        this.epochs.set(note.slot, record.number)
        this.heard.opened(note.slot)
        facts[epochFact(this.venue, note.slot)] = record.number
        return undefined
      case 'clock':
        return record.number < this.since ? undefined : this.applyClock(note, record)
      case 'loss':
        return this.applyLoss(note, record)
      case 'tier':
        return this.applyTier(note, record)
      case 'walked':
        facts[walkedFacts(this.venue).at] = note.since
        facts[walkedFacts(this.venue).rules] = note.rules
        return undefined
      case 'disk_full':
        return this.applyDiskFull(note, record)
      case 'stopped':
        return this.closeAll('recorder_down', record)
      case 'started':
        return this.applyStart(record)
      case 'took_over':
        return this.applyTakeover(note, record)
      case 'history_gap':
        this.rows.gaps.push(pastGap(this.venue, note, record.number))
        return undefined
      case 'backfill': {
        const names = backfillFacts(this.venue, note.family)
        facts[names.reached] = note.reached
        if (note.from === undefined) facts[names.topic] = note.topic_id ?? 0
        else facts[names.from] = note.from
        return undefined
      }
    }
  }

  private async applyStart(record: ApplyRecord): Promise<void> {
    await this.closeAll('recorder_down', record)
    this.endConnections([])
    await this.noteCapture(record)
    // An import or a rebuild has its books in memory already.
    if (this.isLive) await this.state.readOpenGaps()
  }

  // A full book that a gap waited for may be among what was not kept; to its connector it has arrived.
  private async applyDiskFull(
    { refused }: Note & { note: 'disk_full' },
    record: ApplyRecord,
  ): Promise<void> {
    const missing = [...this.state.tracks.values()].filter(
      (track) => track.missingSince !== undefined,
    )
    await this.closeAll('disk_full', record, `${refused} messages were not kept`)
    if (missing.length === 0) return
    this.onClosed(
      missing.map(({ instrument }) => instrument),
      'disk_full',
    )
  }

  // Books that were proved to be the same go on; all others are closed.
  private async applyTakeover(
    { slots, since, books }: Note & { note: 'took_over' },
    record: ApplyRecord,
  ): Promise<void> {
    this.endConnections(slots)
    this.since = since
    await this.state.loadUnbroken()
    const others = new Set(this.state.tracks.values())
    for (const book of books) {
      const { key, slot, sid, received, source = ABSENT, seq = ABSENT, answer, journal } = book
      const track = this.state.tracks.get(key)
      if (track?.isOpen !== true) continue
      const fed = slot === 0 ? ABSENT : toChannel(this.epochs.get(slot) ?? 0, sid)
      const channel = answer === true ? ABSENT : fed
      track.join({ received, source, venueSeq: seq, channel }, fed, journal)
      this.joined.add(key)
      others.delete(track)
    }
    this.noteMissed(record.number)
    this.rows.gaps.push(...this.feed.takeOver(record.number))
    this.losePrices('all', 'recorder_down', record.number, 'another recorder went on')
    this.closeTracks([...others], 'recorder_down', record.number)
    await this.noteCapture(record)
  }

  private endConnections(stillOpen: readonly number[]): void {
    for (const slot of this.epochs.keys()) {
      if (stillOpen.includes(slot)) continue
      this.rows.facts[epochFact(this.venue, slot)] = NO_EPOCH
      this.epochs.delete(slot)
    }
  }

  private async noteCapture(record: ApplyRecord): Promise<void> {
    const name = captureFact(this.venue)
    if ((await this.store.fact(name)) === undefined) this.rows.facts[name] = record.received
    this.state.captureStarted ??= record.received
  }

  private async applyLoss(note: Note & { note: 'loss' }, record: ApplyRecord): Promise<void> {
    const { reason, why, slot, sid, keys = [] } = note
    if (reason === 'market_closed') return this.endBooks(keys, why, record)
    if (slot !== undefined && isReferenceSlot(this.venue, slot)) {
      this.losePrices({ epoch: this.epochs.get(slot) ?? 0 }, reason, record.number, why)
      return
    }
    if (keys.some(isReferenceKey)) this.losePrices({ keys }, reason, record.number, why)
    await this.state.loadUnbroken()
    const { tracks } = this.state
    const named = new Set(keys)
    const epoch = slot === undefined ? undefined : this.epochs.get(slot)
    const isFed = (channel: number): boolean =>
      epoch !== undefined &&
      (sid === undefined
        ? this.isFedBy(epoch, channel)
        : toEpoch(channel) === epoch && toSubscription(channel) === sid)
    const lost =
      slot === undefined
        ? keys.flatMap((key) => tracks.get(key) ?? [])
        : [...tracks.values()].filter(
            ({ channel, instrument }) =>
              (!this.isPolled(instrument) && isFed(channel)) || named.has(instrument.key),
          )
    this.closeTracks(lost, reason, record.number, why)
  }

  private async endBooks(
    keys: readonly string[],
    why: string,
    { received, number: journal }: ApplyRecord,
  ): Promise<void> {
    await this.state.loadStored(keys)
    for (const key of keys) {
      const track = this.state.tracks.get(key)
      this.forgetPassed(key)
      if (track === undefined) continue
      // A book that was left after the close in its record was still followed then, also if that was only expected.
      const closed = this.state.markets.briefOf(track.instrument.market)?.closeTime
      const stood = this.stoodUntil(track, closeBefore(received, closed) ?? 0)
      this.rows.gaps.push(...track.endMarket({ received, journal }, { closed, stood, detail: why }))
      this.state.noteEnd(track)
    }
  }

  // The newest time, `ended` at most, until which a book that did not change is known to have stood still: its
  // connection was heard afterwards. Only the last poll tells of a polled book, and only the last answer of
  // one that no open connection has brought.
  private stoodUntil({ channel, instrument }: Track, ended: number): number {
    const slot = this.slotOf(channel) ?? 0
    const { tier = 'full' } = this.state.markets.briefOf(instrument.market) ?? {}
    return slot === 0 || tier !== 'full' ? 0 : Math.min(ended, this.heard.at(slot))
  }

  // Where messages are numbered, only one with a number of the books proves that none of theirs is missing.
  private noteHeard({ slot, received }: ApplyRecord, events: readonly TapeEvent[]): void {
    if (slot === 0) return
    if (this.rules.order === 'sequence' && !events.some(isBook)) return
    this.heard.note(slot, received)
  }

  private applyClock(
    note: Note & { note: 'clock' },
    record: ApplyRecord,
  ): Promise<void> | undefined {
    const { received, number: journal } = record
    const sample: Sample = {
      kind: 'sample',
      instrument: { venue: this.venue, market: 'clock', key: 'clock' },
      metric: 'clock_offset_us',
      value: String(note.offset_us),
      received,
      journal,
    }
    try {
      checkSample(sample)
    } catch (error) {
      // Clocks that differ by a minute are worth a record, and concern no book.
      if (!(error instanceof PriorbookError)) throw error
      const { code, message } = error
      this.rows.quarantine.push(toQuarantined(this.venue, record, 'clock', code, message))
      return undefined
    }
    return this.applyWhenReady(record, [sample])
  }

  // Only of markets that the tape has: others get their tier with their record.
  private async applyTier(
    { tier, why, markets }: Note & { note: 'tier' },
    record: ApplyRecord,
  ): Promise<void> {
    // After a takeover the tape has what the other recorder decided until then.
    if (record.number < this.since) return
    const { venue } = this
    const { received, number: journal } = record
    const shared = { venue, outcomes: [], units: VENUES[venue].units, native: {} }
    const events = markets.map((marketId): MarketRevision => ({
      kind: 'market',
      record: { ...shared, marketId, capture: { tier, why } },
      received,
      journal,
    }))
    await this.state.prepare(events, { received, number: journal, value: () => undefined })
    const known = ({ record: said }: MarketRevision): boolean =>
      this.state.markets.get(said.marketId) !== undefined
    this.applyEvents(record, events.filter(known))
  }

  private async closeAll(reason: GapReason, record: ApplyRecord, detail?: string): Promise<void> {
    await this.state.loadUnbroken(record.number)
    this.noteMissed(record.number)
    if (reason === 'recorder_down') {
      this.rows.gaps.push(...this.feed.interrupt(reason, record.number))
    }
    this.losePrices('all', reason, record.number, detail)
    this.closeTracks([...this.state.tracks.values()], reason, record.number, detail)
  }

  private losePrices(
    choice: ReferenceChoice,
    reason: GapReason,
    journal: number,
    detail?: string,
  ): void {
    this.rows.gaps.push(...this.references.interrupt(choice, reason, journal, detail))
  }

  private closeTracks(
    tracks: readonly Track[],
    reason: GapReason,
    journal: number,
    detail?: string,
  ): void {
    const closed: Instrument[] = []
    for (const track of tracks) {
      const gaps = track.interrupt(reason, journal, detail)
      if (gaps.length === 0) continue
      this.rows.gaps.push(...gaps)
      closed.push(track.instrument)
    }
    if (closed.length > 0) this.onClosed(closed, reason)
  }

  private countCall({ received }: ApplyRecord, request: CaptureRequest | undefined): void {
    if (this.calls === undefined || (request !== undefined && this.isFeed(request))) return
    const [name, value] = this.calls.note(received)
    this.rows.facts[name] = value
  }

  private applyMessage(record: ApplyRecord): Promise<void> | undefined {
    if (this.request !== undefined) this.countCall(record, this.request)
    const { events: all, problems, feed } = this.normalize(record)
    this.refuseMisplaced(record, all, problems)
    this.noteHeard(record, all)
    const isOthers = record.number < this.since
    const events = isOthers ? all.filter((event) => this.isNew(event)) : all
    if (feed !== undefined && !isOthers) {
      const { facts, gaps } = this.feed.read(feed, record)
      Object.assign(this.rows.facts, facts)
      this.rows.gaps.push(...gaps)
    }
    for (const { where, error } of isOthers ? [] : problems) {
      this.rows.quarantine.push(toQuarantined(this.venue, record, where, error.code, error.message))
    }
    // Books that an unreadable part may have changed are closed before the full books of other parts.
    if (!problems.some(({ concernsAllBooks }) => concernsAllBooks === true)) {
      return this.applyWhenReady(record, events)
    }
    return this.closeSocket(record).then(() => this.applyWhenReady(record, events))
  }

  // A book that a price socket changed would outlive the loss of its own socket, and a price of a book
  // socket would belong to no feed. Recordings do not say which socket a line came over.
  private refuseMisplaced(
    { slot }: ApplyRecord,
    events: readonly TapeEvent[],
    problems: Normalized['problems'],
  ): void {
    const isOfPrices = isReferenceSlot(this.venue, slot)
    const [problem] = problems
    if (isOfPrices && problem !== undefined) throw problem.error
    if (slot === 0 || events.every((event) => isReferencePrice(event) === isOfPrices)) return
    const what = isOfPrices
      ? 'a price socket brought another message'
      : 'a book socket brought a price'
    throw new PriorbookError('invalid_message', what)
  }

  // Of the time before a takeover the tape has all but the ends of books and markets, and perhaps the last
  // trades.
  private isNew(event: TapeEvent): boolean {
    if (event.kind === 'trade') return true
    if (event.kind === 'market') return hasTradingEnded(event.record.status)
    return (isBook(event) || event.kind === 'reset') && this.joined.has(event.instrument.key)
  }

  private normalize(record: ApplyRecord): Normalized {
    const { broken, request, normalizer } = this
    this.broken = undefined
    this.request = undefined
    this.isHistory = request?.kind.startsWith(HISTORY) === true
    this.isPast = this.isHistory || request?.kind.startsWith(PAST) === true
    this.isAnswer = request !== undefined
    if (record.reading?.error !== undefined) throw record.reading.error
    if (record.reading !== undefined) return record.reading
    if (broken !== undefined) throw new PriorbookError('invalid_line', broken)
    const at = { received: record.received, journal: record.number }
    if (record.slot > 0)
      return normalizer.frame(record.parsed ?? parseMessageJson(record.bytes), at)
    if (request !== undefined) {
      return normalizer.answer(request, record.parsed ?? parseMessageJson(record.bytes), at)
    }
    const line = (record.parsed as Record<string, unknown>) ?? parseJson(record.bytes)
    return 'response' in line
      ? normalizer.answer({ kind: 'event' }, line['response'], at)
      : normalizer.frame(line['event'], at)
  }

  private applyWhenReady(
    record: ApplyRecord,
    events: readonly TapeEvent[],
  ): Promise<void> | undefined {
    const { state } = this
    for (const event of events) {
      if (state.isReady(event)) continue
      const { received, number } = record
      const message = { received, number, value: () => frameOf(record) }
      return state.prepare(events, message).then(() => this.applyEvents(record, events))
    }
    this.applyEvents(record, events)
    return undefined
  }

  private applyEvents(record: ApplyRecord, events: readonly TapeEvent[]): void {
    const { rows, state } = this
    const before = rows.observations.length
    for (const event of events) {
      switch (event.kind) {
        case 'snapshot':
        case 'change':
          this.applyBook(event, record)
          break
        case 'trade':
          this.applyTrade(event, record)
          break
        case 'reset': {
          const track = state.tracks.get(event.instrument.key)!
          const gaps = track.reset(event)
          state.noteEnd(track)
          rows.gaps.push(...gaps)
          this.noteUnread(record)
          if (gaps.length > 0) this.onClosed([event.instrument], event.reason)
          break
        }
        case 'sample':
          this.applySample(event, record)
          break
        case 'market':
          this.applyMarket(event)
          break
        case 'gap':
          rows.gaps.push(event.gap)
      }
    }
    if (rows.observations.length > before) this.prices.check(rows, before)
  }

  private applySample(event: Sample, record: ApplyRecord): void {
    checkSample(event)
    const sample = this.state.nextSample(event)
    if (sample === undefined) return
    if (!isReferenceKey(sample.instrument.key)) {
      this.rows.samples.push(sample)
      return
    }
    const placed = this.references.apply(sample, this.channelFor(sample, record))
    this.rows.samples.push(placed.sample)
    this.rows.gaps.push(...placed.gaps)
  }

  private channelFor(event: Provenance, record: ApplyRecord): number {
    if (record.slot === 0) return event.channel ?? ABSENT
    return toChannel(this.epochs.get(record.slot) ?? 0, event.channel)
  }

  private applyBook(event: BookSnapshot | BookChange, record: ApplyRecord): void {
    checkNumbers(event)
    const { rows } = this
    const { tracks, passed } = this.state
    const { key } = event.instrument
    const track = tracks.get(key)!
    const channel = this.channelFor(event, record)
    const isNumbered = event.venueSeq !== undefined
    if (
      (channel === ABSENT || isNumbered) &&
      !track.isOpen &&
      (passed.isAhead(event, channel, this.isAnswer ? this.asked : undefined) ||
        (this.isAnswer && (track.isBehind(event) || this.isOvertaken())))
    ) {
      // It would open the book without the changes that came since, so another full book is needed.
      this.counts.duplicates++
      this.onClosed([event.instrument], 'book_reset')
      return
    }
    const outcome = track.applyBook(event, channel)
    if (outcome.observation === undefined) this.notePassed(event, channel)
    else this.forgetPassed(key)
    if (outcome.gaps.length > 0) rows.gaps.push(...outcome.gaps)
    if (outcome.observation !== undefined) rows.observations.push(outcome.observation)
    else if (outcome.stale === true) this.counts.duplicates++
    else if (outcome.refusal === undefined) this.counts.unapplied++
    else {
      const { violation, detail } = outcome.refusal
      rows.quarantine.push(toQuarantined(this.venue, record, key, violation, detail))
    }
    if (outcome.closed !== undefined) this.onClosed([event.instrument], outcome.closed)
  }

  // True for an answer that was requested before changes were lost or could not be read: it may be from
  // before them, and nothing would show that later changes are applied without them. Where every message
  // is a whole book, nothing is applied to an answer.
  private isOvertaken(): boolean {
    const { asked, rules } = this
    return rules.order === 'source_time' && asked !== undefined && asked < this.missedAt
  }

  private noteMissed(journal: number): void {
    this.missedAt = journal
    this.rows.facts[missedFact(this.venue)] = journal
  }

  // What an unreadable answer says is requested again; only frames can be changes.
  private noteUnread({ slot, number }: ApplyRecord): void {
    if (slot > 0) this.noteMissed(number)
  }

  private notePassed(event: BookSnapshot | BookChange, channel: number): void {
    const passed = this.state.passed.note(event, channel)
    if (passed === undefined) return
    const names = passedFacts(this.venue, event.instrument.key)
    this.rows.facts[names.mark] = passed.mark
    this.rows.facts[names.channel] = passed.channel
    this.rows.facts[names.journal] = passed.journal
  }

  // Kept only while it matters: markets come and go, and a start reads all such numbers.
  private forgetPassed(key: string): void {
    if (!this.state.passed.forget(key)) return
    const names = passedFacts(this.venue, key)
    this.rows.facts[names.mark] = null
    this.rows.facts[names.channel] = null
    this.rows.facts[names.journal] = null
  }

  private applyTrade(event: Trade, record: ApplyRecord): void {
    checkNumbers(event)
    const { instrument, price, size } = event
    const isInside = price >= 0 && price <= POW10[VENUES[this.venue].priceDecimals]!
    if (!isInside || size < 0) {
      // Only this trade, because the store could not hold it; other events of the message are sound.
      const [code, detail] = isInside
        ? (['bad_size', 'a trade of a negative size'] as const)
        : (['price_out_of_bounds', 'a trade below 0 or above 1'] as const)
      this.rows.quarantine.push(toQuarantined(this.venue, record, instrument.key, code, detail))
      return
    }
    const trade = isBackfillKey(instrument.key)
      ? this.applyPastTrade(event)
      : this.applyObservedTrade(event, this.channelFor(event, record))
    if (trade === undefined) this.counts.duplicates++
    else this.rows.trades.push(trade)
  }

  private applyObservedTrade(event: Trade, channel: number): Trade | undefined {
    const track = this.state.tracks.get(event.instrument.key)!
    return track.applyTrade(channel === ABSENT ? event : { ...event, channel })
  }

  private applyPastTrade(event: Trade): Trade | undefined {
    const { past } = this.state
    if (!past.take(event)) return undefined
    this.rows.facts[newestPastTrade(this.venue)] = past.newest
    return event
  }

  private applyMarket(event: MarketRevision): void {
    const { markets, captureStarted } = this.state
    const known = markets.get(event.record.marketId)
    const said = this.isHistory ? asHistory(known, event.record) : event.record
    if (said === undefined) return
    const asked = this.isAnswer ? this.asked : undefined
    const { record, anomaly } = markets.merge({ ...event, record: said }, asked)
    if (anomaly !== undefined) this.counts.anomalies++
    this.rows.revisions.push({ ...event, record })
    // Only a running recorder expects more of a market; an import ends where its files end. An answer of a
    // backfill is about the past and says nothing about what is observed now, but nothing more comes of a
    // market that is over for good: a book of it that is in a gap would stay there for ever.
    if (captureStarted === undefined || !hasTradingEnded(record.status)) return
    if (this.isPast && !(this.isHistory && isLastStatus(record.status ?? ''))) return
    const { received } = event
    const closed = clockClose(record)
    // A market that had ended before has no book that could have stood still since its close.
    const hadEnded = hasTradingEnded(known?.status)
    const ended = closeBefore(received, closed) ?? (hadEnded ? 0 : received)
    for (const track of this.state.tracksOf(record.marketId)) {
      if (this.isPast && track.isOpen) continue
      const stood = this.stoodUntil(track, ended)
      this.rows.gaps.push(...track.endMarket(event, { closed, stood }))
      this.state.noteEnd(track)
      this.forgetPassed(track.instrument.key)
    }
  }

  private count(rows: BatchRows): void {
    countParity(this.counts.parity, rows)
    this.counts.observations += rows.observations.length
    this.counts.trades += rows.trades.length
    this.counts.samples += rows.samples.length
    this.counts.revisions += rows.revisions.length
    for (const { reason, start, end } of rows.gaps) {
      if (end === undefined || isIntended(reason)) continue
      this.gapMicros[reason] = (this.gapMicros[reason] ?? 0) + (end - start)
    }
    const opened = rows.gaps.filter(({ end }) => end === undefined)
    this.counts.gaps += opened.filter(({ reason }) => !isMarketState(reason)).length
    this.counts.quarantined += rows.quarantine.length
  }
}

const STORE_FAILURES: ReadonlySet<ErrorCode> = new Set([
  'disk_full',
  'store_closed',
  'store_locked',
  'store_read_only',
  'store_unavailable',
  'corrupt_database',
])

function isStoreFailure(error: unknown): boolean {
  return error instanceof PriorbookError && STORE_FAILURES.has(error.code)
}

// The stored epoch of a socket that a start of the recorder has closed.
const NO_EPOCH = 0

// Requests of a backfill: their answers are the catalogue of the past, such as `past_topic`, and the history
// from before capture, such as `history_event`.
const PAST = 'past_'
const HISTORY = 'history_'

// Rows of imported recordings have no connection of ours.
const IMPORTED = 0

// When a market closed by the clock. Others trade until the venue closes them, and the close of their record was only
// expected: such a book is known until the message of the end, however long after that close it comes.
function clockClose({ venue, window, closeTime }: MarketRecord): Micros | undefined {
  return VENUES[venue].trading.stopsAtClose || window !== undefined ? closeTime : undefined
}

function closeBefore(received: Micros, closed: Micros | undefined): Micros | undefined {
  return closed !== undefined && closed <= received ? closed : undefined
}

function isBook(event: TapeEvent): event is BookSnapshot | BookChange {
  return event.kind === 'snapshot' || event.kind === 'change'
}

function isReferencePrice(event: TapeEvent): boolean {
  return event.kind === 'sample' && isReferenceKey(event.instrument.key)
}

function isRecordedAnswer(record: ApplyRecord): boolean {
  const line = jsonOf(record)
  return typeof line === 'object' && line !== null && 'response' in line
}

// The frame of a record as JSON, without the line that an import wraps it in; undefined if it is not JSON.
function frameOf(record: ApplyRecord): unknown {
  const value = jsonOf(record)
  if (record.slot > 0 || typeof value !== 'object' || value === null) return value
  return 'event' in value ? value.event : value
}

function jsonOf(record: ApplyRecord): unknown {
  try {
    return record.parsed ?? parseMessageJson(record.bytes)
  } catch {
    return undefined
  }
}
