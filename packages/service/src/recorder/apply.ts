import {
  findAnomaly,
  POW10,
  PriorbookError,
  VENUES,
  type BookChange,
  type BookRules,
  type BookSnapshot,
  type GapReason,
  type Instrument,
  type MarketRecord,
  type MarketRevision,
  type MarketStatus,
  type Micros,
  type Provenance,
  type Sample,
  type TapeEvent,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { ABSENT, HEAD_LIMIT } from '@priorbook/sdk/tape'
import { MAX_SLOT, type RecordKind } from '@priorbook/sdk/journal'
import type { AppendBatch, Quarantined, StoreReader } from '../store/store.ts'
import type {
  CapturedBook,
  CaptureRequest,
  Normalized,
  Normalizer,
  Reading,
} from '../venues/capture/contract.ts'
import type { VenueDefinition } from '../venues/capture/definition.ts'
import { definitionOf } from '../venues/registry.ts'
import { CallCounter } from './asked-calls.ts'
import { noRows, type BatchRows } from './batch-rows.ts'
import { toChannel, toEpoch, toSubscription } from './channel.ts'
import { parseJson, parseValue } from './json.ts'
import { MarketMemory } from './market-memory.ts'
import { parseNote, type Note } from './note.ts'
import { PassedChanges } from './passed-changes.ts'
import { openTrack, readSampleEnd, type SampleEnd } from './track-start.ts'
import type { Track } from './track.ts'

/** One journal record on its way into the store. */
export type ApplyRecord = {
  readonly number: number
  readonly received: Micros
  readonly kind: RecordKind
  readonly slot: number
  readonly bytes: Uint8Array
  /** The JSON of a message, where it was parsed before. */
  readonly parsed?: unknown
  /** What was read in a message, where it was normalized before. */
  readonly reading?: Reading
}

/** How many messages of which kind were applied. */
export type ApplyCounts = {
  observations: number
  trades: number
  samples: number
  revisions: number
  gaps: number
  quarantined: number
  /** Market revisions whose status does not follow from the one before. */
  anomalies: number
  duplicates: number
  unapplied: number
  failed: number
}

/** How an applier serves a live connector; an import or a rebuild needs neither. */
export type LiveOptions = {
  readonly onClosed?: OnClosed
  /** True where the connector compares full books with ours. */
  readonly keepsStates?: boolean
}

/** Told when a message closed books: full ones are needed. */
export type OnClosed = (instruments: readonly Instrument[], reason: GapReason) => void

const ENDED: ReadonlySet<MarketStatus> = new Set([
  'closed',
  'determined',
  'disputed',
  'resolved',
  'voided',
])

/**
 * Derives rows from journal records of one venue: normalizer, row checks, gaps. Deterministic: the
 * same records give the same rows, however they are cut into calls and wherever it was stopped between.
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
    duplicates: 0,
    unapplied: 0,
    failed: 0,
  }
  private readonly store: StoreReader
  private readonly venue: VenueId
  private readonly definition: VenueDefinition
  private readonly normalizer: Normalizer
  private readonly rules: BookRules
  private readonly onClosed: OnClosed
  private readonly keepsStates: boolean
  private readonly tracks = new Map<string, Track>()
  private readonly markets: MarketMemory
  private readonly sampleEnds = new Map<string, SampleEnd>()
  private readonly passed = new PassedChanges()
  private readonly calls: CallCounter | undefined
  private readonly epochs = new Map<number, number>()
  // Markets that were seen ended: their instruments were looked for.
  private readonly endedMarkets = new Set<string>()
  private isReadyToTake = false
  private isLiveLoaded = false
  private captureStarted: number | undefined
  private broken: string | undefined
  private request: CaptureRequest | undefined
  private isPast = false
  private isAnswer = false
  private interrupted: { readonly reason: GapReason; readonly journal: number } | undefined
  private rows = noRows()
  private position: number | undefined

  constructor(store: StoreReader, venue: VenueId, live: LiveOptions = {}) {
    this.store = store
    this.venue = venue
    this.definition = definitionOf(venue)
    this.normalizer = this.definition.normalizer
    this.rules = VENUES[venue].bookRules
    this.onClosed = live.onClosed ?? (() => undefined)
    this.keepsStates = live.keepsStates ?? false
    this.markets = new MarketMemory(store, venue)
    this.calls = this.definition.quotaOutlivesRestart ? new CallCounter(venue) : undefined
  }

  /** The book of an instrument; undefined before its first message. */
  book(key: string): CapturedBook | undefined {
    return this.tracks.get(key)
  }

  /** Instruments whose book is held, and how many of them miss nothing now. */
  get held(): { readonly tracks: number; readonly open: number } {
    let open = 0
    for (const track of this.tracks.values()) if (track.isOpen) open++
    return { tracks: this.tracks.size, open }
  }

  /**
   * Takes one record. Nearly always done at once; a promise comes back where the store had to be
   * asked, and must be awaited before the next record.
   */
  take(record: ApplyRecord): Promise<void> | undefined {
    if (!this.isReadyToTake) return this.readEpochs().then(() => this.take(record))
    this.position = record.number
    try {
      const wait = record.kind === 'note' ? this.takeNote(record) : this.takeMessage(record)
      return wait?.catch((error: unknown) => this.refuse(record, error))
    } catch (error) {
      return this.refuse(record, error)
    }
  }

  /** Everything derived since the last call, as one batch ready to append; absent if no record came. */
  drain(maker: Pick<AppendBatch, 'origin' | 'recorder'>): AppendBatch | undefined {
    const { rows } = this
    if (this.position === undefined) return undefined
    // A note that speaks of the next record is taken again with it, should the process end between.
    const isHalf = this.request !== undefined || this.broken !== undefined
    const position = isHalf ? this.position - 1 : this.position
    this.count(rows)
    this.rows = noRows()
    this.position = undefined
    const { venue, normalizer } = this
    return { ...rows, ...maker, venue, position, normalizer: normalizer.version }
  }

  /** Lets go of ended instruments; only after what was drained is stored, for they are read from there. */
  forgetEnded(): void {
    if (this.position !== undefined) return
    for (const [key, track] of this.tracks) {
      if (!track.hasEnded) continue
      this.tracks.delete(key)
      this.passed.forget(key)
    }
    if (this.sampleEnds.size > SAMPLE_ENDS_KEPT) this.sampleEnds.clear()
  }

  /** Closes every book: journal records up to `journal` are missing. */
  interrupt(reason: GapReason, journal: number): void {
    this.interrupted = { reason, journal }
    this.closeTracks([...this.tracks.values()], reason, journal)
  }

  private async refuse(record: ApplyRecord, error: unknown): Promise<void> {
    if (!(error instanceof PriorbookError)) throw error
    this.rows.quarantine.push(toQuarantined(this.venue, record, '', error.code, error.message))
    if (record.kind === 'message') await this.closeSuspects(record)
  }

  // A frame that could not be read may have held a change: books that it may concern are closed.
  private async closeSuspects(record: ApplyRecord): Promise<void> {
    const suspects = this.normalizer.suspects?.(frameOf(record)) ?? 'all'
    // An answer concerns no book that a socket feeds.
    if (suspects === 'none' || (record.slot === 0 && suspects === 'all')) return
    await this.loadLive()
    const epoch = this.epochs.get(record.slot) ?? 0
    const tracks =
      suspects === 'all'
        ? [...this.tracks.values()].filter(({ channel }) => toEpoch(channel) === epoch)
        : suspects.flatMap((key) => this.tracks.get(key) ?? [])
    this.closeTracks(tracks, 'rejected', record.number)
  }

  private takeNote(record: ApplyRecord): Promise<void> | undefined {
    const note = parseNote(record.bytes)
    switch (note.note) {
      case 'broken_line':
        this.broken = note.reason
        return undefined
      case 'file_imported':
        this.rows.facts[`imported:${note.sha256}`] = note.lines
        return undefined
      case 'request':
        this.request = note.request
        return undefined
      case 'failed':
        this.counts.failed++
        this.countCall(record)
        return undefined
      case 'connected':
        this.epochs.set(note.slot, record.number)
        this.rows.facts[epochFact(this.venue, note.slot)] = record.number
        return undefined
      case 'clock':
        return this.takeClock(note, record)
      case 'loss':
        return this.takeLoss(note, record)
      case 'disk_full':
        return this.interruptLive('disk_full', record, `${note.refused} messages were not kept`)
      case 'stopped':
        return this.interruptLive('recorder_down', record)
      case 'started':
        return this.takeStart(record)
      case 'backfill': {
        const names = backfillFacts(this.venue, note.family)
        this.rows.facts[names.reached] = note.reached
        this.rows.facts[names.topic] = note.topic_id ?? 0
        return undefined
      }
    }
  }

  private async takeStart(record: ApplyRecord): Promise<void> {
    await this.interruptLive('recorder_down', record)
    this.epochs.clear()
    const name = captureFact(this.venue)
    if ((await this.store.fact(name)) === undefined) this.rows.facts[name] = record.received
    this.captureStarted ??= record.received
  }

  private async takeLoss(note: Note & { note: 'loss' }, record: ApplyRecord): Promise<void> {
    await this.loadLive()
    const { reason, why, slot, sid, keys = [] } = note
    const named = new Set(keys)
    const epoch = slot === undefined ? undefined : this.epochs.get(slot)
    // Where sockets feed all books, a book that only answers were received of so far is on a socket that
    // the journal does not name, perhaps on this one.
    const isNameless = (channel: number): boolean =>
      this.rules.socketsFeedAllBooks && channel === ABSENT && sid === undefined
    const isFed = (channel: number): boolean =>
      epoch !== undefined &&
      (isNameless(channel) ||
        (toEpoch(channel) === epoch && (sid === undefined || toSubscription(channel) === sid)))
    const tracks =
      slot === undefined
        ? keys.flatMap((key) => this.tracks.get(key) ?? [])
        : [...this.tracks.values()].filter(
            ({ channel, instrument }) => isFed(channel) || named.has(instrument.key),
          )
    this.closeTracks(tracks, reason, record.number, why)
  }

  private async takeClock(note: Note & { note: 'clock' }, record: ApplyRecord): Promise<void> {
    const instrument = { venue: this.venue, market: 'clock', key: 'clock' }
    const { received, number: journal } = record
    const value = String(note.offset_us)
    await this.takeEvents(record, [
      { kind: 'sample', instrument, metric: 'clock_offset_us', value, received, journal },
    ])
  }

  private async interruptLive(
    reason: GapReason,
    record: ApplyRecord,
    detail?: string,
  ): Promise<void> {
    await this.loadLive()
    this.closeTracks([...this.tracks.values()], reason, record.number, detail)
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

  private countCall({ received }: ApplyRecord): void {
    if (this.calls === undefined) return
    const [name, value] = this.calls.note(received)
    this.rows.facts[name] = value
  }

  private takeMessage(record: ApplyRecord): Promise<void> | undefined {
    if (this.request !== undefined) this.countCall(record)
    const { events, problems } = this.normalize(record)
    for (const { where, error } of problems) {
      this.rows.quarantine.push(toQuarantined(this.venue, record, where, error.code, error.message))
    }
    return this.takeEvents(record, events)
  }

  private normalize(record: ApplyRecord): Normalized {
    const at = { received: record.received, journal: record.number }
    const { broken, request, normalizer } = this
    this.broken = undefined
    this.request = undefined
    this.isPast = request?.kind.startsWith(PAST) === true
    this.isAnswer = request !== undefined
    if (record.reading?.error !== undefined) throw record.reading.error
    if (record.reading !== undefined) return record.reading
    if (broken !== undefined) throw new PriorbookError('invalid_line', broken)
    if (record.slot > 0) return normalizer.frame(record.parsed ?? parseValue(record.bytes), at)
    if (request !== undefined) {
      return normalizer.answer(request, record.parsed ?? parseValue(record.bytes), at)
    }
    const line = (record.parsed as Record<string, unknown>) ?? parseJson(record.bytes)
    return 'response' in line
      ? normalizer.answer({ kind: 'event' }, line['response'], at)
      : normalizer.frame(line['event'], at)
  }

  private takeEvents(record: ApplyRecord, events: readonly TapeEvent[]): Promise<void> | undefined {
    for (const event of events) {
      if (!this.isReady(event)) {
        return this.makeReady(record, events).then(() => this.applyEvents(record, events))
      }
    }
    this.applyEvents(record, events)
    return undefined
  }

  private isReady(event: TapeEvent): boolean {
    switch (event.kind) {
      case 'gap':
        return true
      case 'market':
        return (
          this.markets.knows(event.record.marketId) &&
          (!isEnded(event.record.status) || this.endedMarkets.has(event.record.marketId))
        )
      case 'sample':
        return this.sampleEnds.has(sampleName(event))
      default:
        return this.tracks.has(event.instrument.key)
    }
  }

  // Takes up what the events name where the store left it.
  private async makeReady(record: ApplyRecord, events: readonly TapeEvent[]): Promise<void> {
    for (const event of events) {
      if (this.isReady(event)) continue
      switch (event.kind) {
        case 'gap':
          break
        case 'market':
          if (!this.markets.knows(event.record.marketId)) {
            await this.markets.load(event.record.marketId)
          }
          if (isEnded(event.record.status)) await this.loadEnding(event.record)
          break
        case 'sample':
          this.sampleEnds.set(sampleName(event), await readSampleEnd(this.store, event))
          break
        default:
          await this.addTrack(event.instrument, record)
      }
    }
  }

  private async addTrack(instrument: Instrument, record?: ApplyRecord): Promise<void> {
    const { market } = instrument
    if (!this.markets.knows(market)) await this.markets.load(market)
    if (this.markets.get(market) === undefined && record !== undefined) {
      // A market that was never heard of gets a first, bare record with what the message says of it.
      const bare = this.markets.merge(this.definition.toBareMarket(market, frameOf(record)))
      const { received, number: journal } = record
      this.rows.revisions.push({ kind: 'market', received, journal, record: bare })
    }
    const openTime = this.markets.get(market)?.openTime
    const track = await openTrack(
      this.store,
      instrument,
      openTime,
      this.captureStarted,
      this.keepsStates,
    )
    this.tracks.set(instrument.key, track)
    if (!track.isOpen) {
      const names = passedFacts(this.venue, instrument.key)
      const mark = await this.store.fact(names.mark)
      this.passed.resume(instrument.key, mark, await this.store.fact(names.channel))
    }
    if (this.interrupted !== undefined) {
      const { reason, journal } = this.interrupted
      this.rows.gaps.push(...track.interrupt(reason, journal))
    }
  }

  // The instruments of a market that ends must be there to be ended, whatever gap they are in.
  private async loadEnding({ marketId, outcomes }: MarketRecord): Promise<void> {
    const known = this.markets.get(marketId)?.outcomes ?? []
    const tokens = [...known, ...outcomes].flatMap(({ tokenId }) => tokenId ?? [])
    for (const key of new Set([marketId, ...tokens])) {
      if (this.tracks.has(key)) continue
      const ref = { venue: this.venue, key }
      const facts = await this.store.instrument(ref)
      if (facts === undefined) continue
      const [gap] = await this.store.gaps({ ...ref, open: true })
      if (gap?.reason !== 'market_closed') await this.addTrack(facts.instrument)
    }
    if (this.endedMarkets.size > ENDED_KEPT) this.endedMarkets.clear()
    this.endedMarkets.add(marketId)
  }

  // Which connection every socket is, where a process before this one left it.
  private async readEpochs(): Promise<void> {
    this.isReadyToTake = true
    this.captureStarted = await this.store.fact(captureFact(this.venue))
    await this.calls?.load(this.store)
    for (let slot = 1; slot <= MAX_SLOT; slot++) {
      const epoch = await this.store.fact(epochFact(this.venue, slot))
      if (epoch !== undefined) this.epochs.set(slot, epoch)
    }
  }

  // All instruments that miss nothing: whatever ends them must find them, also after a restart.
  private async loadLive(): Promise<void> {
    if (this.isLiveLoaded) return
    this.isLiveLoaded = true
    for (const instrument of await this.store.unbroken(this.venue)) {
      if (!this.tracks.has(instrument.key)) await this.addTrack(instrument)
    }
  }

  private applyEvents(record: ApplyRecord, events: readonly TapeEvent[]): void {
    for (const event of events) {
      switch (event.kind) {
        case 'snapshot':
        case 'change':
          this.takeBook(event, record)
          break
        case 'trade':
          this.takeTrade(event, record)
          break
        case 'reset': {
          const gaps = this.tracks.get(event.instrument.key)!.reset(event)
          this.rows.gaps.push(...gaps)
          if (gaps.length > 0) this.onClosed([event.instrument], event.reason)
          break
        }
        case 'sample':
          this.takeSample(event)
          break
        case 'market':
          this.takeMarket(event)
          break
        case 'gap':
          this.rows.gaps.push(event.gap)
      }
    }
  }

  private channelOf(event: Provenance, record: ApplyRecord): number {
    if (record.slot === 0) return event.channel ?? ABSENT
    return toChannel(this.epochs.get(record.slot) ?? 0, event.channel)
  }

  private takeBook(event: BookSnapshot | BookChange, record: ApplyRecord): void {
    checkNumbers(event)
    const { rows } = this
    const { key } = event.instrument
    const track = this.tracks.get(key)!
    const channel = this.channelOf(event, record)
    const isNumbered = event.venueSeq !== undefined
    if (
      (channel === ABSENT || isNumbered) &&
      !track.isOpen &&
      (this.passed.isAhead(event, channel) || (this.isAnswer && track.isBehind(event)))
    ) {
      // It would open the book without the changes that came since: another one is needed.
      this.counts.duplicates++
      this.onClosed([event.instrument], 'book_reset')
      return
    }
    const taken = track.takeBook(event, channel)
    if (taken.observation !== undefined) this.passed.forget(key)
    else this.notePassed(event, channel)
    if (taken.gaps.length > 0) rows.gaps.push(...taken.gaps)
    if (taken.observation !== undefined) rows.observations.push(taken.observation)
    else if (taken.stale === true) this.counts.duplicates++
    else if (taken.refusal === undefined) this.counts.unapplied++
    else {
      const { violation, detail } = taken.refusal
      rows.quarantine.push(toQuarantined(this.venue, record, key, violation, detail))
    }
    if (taken.closed !== undefined) this.onClosed([event.instrument], taken.closed)
  }

  private notePassed(event: BookSnapshot | BookChange, channel: number): void {
    const passed = this.passed.note(event, channel)
    if (passed === undefined) return
    const names = passedFacts(this.venue, event.instrument.key)
    this.rows.facts[names.mark] = passed.mark
    if (passed.channel !== ABSENT) this.rows.facts[names.channel] = passed.channel
  }

  private takeTrade(event: Trade, record: ApplyRecord): void {
    checkNumbers(event)
    const { instrument, price, size } = event
    const isInside = price >= 0 && price <= POW10[VENUES[this.venue].priceDecimals]!
    if (!isInside || size < 0) {
      // Only this one, for other events of the message stand; the store could not hold it.
      const [code, detail] = isInside
        ? (['bad_size', 'a trade of a negative size'] as const)
        : (['price_out_of_bounds', 'a trade below 0 or above 1'] as const)
      this.rows.quarantine.push(toQuarantined(this.venue, record, instrument.key, code, detail))
      return
    }
    const channel = this.channelOf(event, record)
    const trade = this.tracks
      .get(event.instrument.key)!
      .takeTrade(channel === ABSENT ? event : { ...event, channel })
    if (trade === undefined) this.counts.duplicates++
    else this.rows.trades.push(trade)
  }

  private takeSample(event: Sample): void {
    checkNumbers(event)
    const end = this.sampleEnds.get(sampleName(event))!
    if (event.journal <= end.journal) return
    const sample = end.next(event)
    this.rows.samples.push(sample)
  }

  private takeMarket(event: MarketRevision): void {
    const before = this.markets.get(event.record.marketId)
    const record = this.markets.merge(event.record)
    if (findAnomaly(before, record) !== undefined) this.counts.anomalies++
    this.rows.revisions.push({ ...event, record })
    // A recording that is imported ends where it ends; only a recorder that runs expects more. What a
    // backfill hears of the past says nothing about what is observed now.
    if (this.captureStarted === undefined || this.isPast) return
    if (!isEnded(record.status)) return
    for (const track of this.tracks.values()) {
      if (track.instrument.market === record.marketId) {
        this.rows.gaps.push(...track.endMarket(event))
      }
    }
  }

  private count(rows: BatchRows): void {
    this.counts.observations += rows.observations.length
    this.counts.trades += rows.trades.length
    this.counts.samples += rows.samples.length
    this.counts.revisions += rows.revisions.length
    this.counts.gaps += rows.gaps.filter(({ end }) => end === undefined).length
    this.counts.quarantined += rows.quarantine.length
  }
}

/** The names of the numbers that tell how far a backfill of a family of rounds has come. */
export function backfillFacts(
  venue: VenueId,
  family: string,
): { readonly reached: string; readonly topic: string } {
  const name = `backfill:${venue}:${family}`
  return { reached: `${name}:reached`, topic: `${name}:topic` }
}

// Requests of a backfill: their answers are the catalogue of the past, such as `past_topic`.
const PAST = 'past_'
const ENDED_KEPT = 50_000
const SAMPLE_ENDS_KEPT = 50_000

// The frame of a record as JSON, without the line that an import wraps it in; undefined where it is none.
function frameOf(record: ApplyRecord): unknown {
  let value = record.parsed
  try {
    value ??= parseValue(record.bytes)
  } catch {
    return undefined
  }
  if (record.slot > 0 || typeof value !== 'object' || value === null) return value
  return 'event' in value ? value.event : value
}

function isEnded(status: MarketStatus | undefined): boolean {
  return status !== undefined && ENDED.has(status)
}

function sampleName({ instrument, metric }: Sample): string {
  return `${instrument.key} ${metric}`
}

function epochFact(venue: VenueId, slot: number): string {
  return `epoch:${venue}:${slot}`
}

function passedFacts(
  venue: VenueId,
  key: string,
): { readonly mark: string; readonly channel: string } {
  return { mark: `passed:${venue}:${key}`, channel: `passed_channel:${venue}:${key}` }
}

function captureFact(venue: VenueId): string {
  return `capture_started:${venue}`
}

// A number that the tape cannot hold is refused here, before it could stop the packing of a stream.
function checkNumbers({ source, venueSeq, channel }: Provenance): void {
  if (Math.max(source ?? 0, venueSeq ?? 0, channel ?? 0) >= HEAD_LIMIT) {
    throw new PriorbookError('unrepresentable', 'a time or number of the message is beyond 2^52')
  }
}

function toQuarantined(
  venue: VenueId,
  record: ApplyRecord,
  key: string,
  code: Quarantined['code'],
  detail: string,
): Quarantined {
  const { number: journal, received, bytes: raw } = record
  return { venue, key, journal, received, code, detail, raw }
}
