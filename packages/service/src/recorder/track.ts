import {
  FLAGS,
  isMarketState,
  POW10,
  VENUES,
  type BookChange,
  type BookReset,
  type BookRules,
  type BookSnapshot,
  type Gap,
  type GapReason,
  type Instrument,
  type Level,
  type Micros,
  type Provenance,
  type Trade,
} from '@priorbook/sdk/domain'
import {
  ABSENT,
  BookAssembler,
  type Ladder,
  type Observation,
  type Refusal,
} from '@priorbook/sdk/tape'
import { BookStates } from '../venues/capture/book-states.ts'
import type { BookRelation, CapturedBook } from '../venues/capture/contract.ts'
import { SilenceDetector } from '../venues/capture/silence.ts'
import { toEpoch } from './channel.ts'
import { isTradeEffect } from './trade-effect.ts'

/** What a track remembers of a stored observation; ABSENT where the venue gave nothing. */
export type Mark = {
  readonly received: number
  readonly source: number
  readonly venueSeq: number
  readonly channel: number
}

/** Where a track starts: what the store holds of the instrument. */
export type TrackStart = {
  readonly ladder?: Ladder
  readonly sequence: number
  /** The newest stored observations, oldest first. */
  readonly marks: readonly Mark[]
  /** The newest full book among all stored observations, and its sequence; not needed while there is a gap. */
  readonly full?: Mark & { readonly sequence: number }
  /** When a trade was received that is newer than the newest observation; 0 for none. */
  readonly laterTrade: number
  /** True where the store has no trade; else they are learned with the next one. */
  readonly hasNoTrade: boolean
  /** The journal record of the newest stored observation; earlier records are duplicates. */
  readonly journal: number
  /** The gap that is still open. */
  readonly gap?: Gap
  /** The span before the first observation that is known to be missing. */
  readonly before?: { readonly openTime: Micros; readonly reason: GapReason }
}

/** What the store holds of the trades of an instrument. */
export type KnownTrades = {
  /** When the newest one was received, 0 for none, and its journal record; earlier records are duplicates. */
  readonly last: number
  readonly journal: number
  /** Ids of the newest ones, for finding duplicates. */
  readonly ids: readonly string[]
}

/** How a market ended, as far as a book of it needs to know. */
export type MarketEnd = {
  /** When it closed by its record. */
  readonly closed?: Micros | undefined
  /** Until when the book is known to have stood still, if it did not change. */
  readonly stood?: number
  readonly detail?: string
}

/** What became of a book event. */
export type BookOutcome = {
  readonly observation?: Observation
  readonly gaps: readonly Gap[]
  readonly refusal?: Refusal
  /** The message was skipped as a duplicate, or because it is older than what is known. */
  readonly stale?: true
  /** The book was closed by this message: a full one is needed. */
  readonly closed?: GapReason
}

/** How much older than the newest message one may be and still be skipped; beyond, the venue's clock stepped. */
const REORDER_MICROS = 2_000_000
/**
 * How many trades of an instrument are known by their id. A venue that does not answer for an hour is asked
 * for all trades of that hour, while new ones arrive: busy markets have 5,000 of them.
 */
export const TRADE_IDS_KEPT = 16_384
/** A connection without a data frame for this long is silent, unless it is slow by habit. */
const SILENCE_MICROS = 6_000_000

/**
 * The state of one instrument: its book, its last good observation and its open gap. It depends on the
 * journal alone (its memory is what the store holds), so a restart or a rebuild at any point gives the
 * same rows and the same gaps.
 */
export class Track implements CapturedBook {
  readonly assembler: BookAssembler
  readonly instrument: Instrument
  private readonly silence = new SilenceDetector(SILENCE_MICROS)
  private sequence: number
  private last: Mark | undefined
  private numbered: Mark | undefined
  private framed: Mark | undefined
  private full: (Mark & { readonly sequence: number }) | undefined
  private lastFrame: number
  private trades: { last: number; readonly journal: number; readonly ids: Set<string> } | undefined
  private gap: Gap | undefined
  private before: TrackStart['before']
  private journal: number
  private readonly states: BookStates | undefined
  private readonly rules: BookRules
  /** Levels that observations changed, those of a first full book aside. */
  changedLevels = 0
  /** The channel that feeds the book now. */
  channel = ABSENT

  /** `keepsStates` is true where a connector compares full books with this one. */
  constructor(instrument: Instrument, start: TrackStart, keepsStates = false) {
    this.instrument = instrument
    this.rules = VENUES[instrument.venue].bookRules
    this.assembler = new BookAssembler(instrument, start.ladder)
    this.assembler.open = start.ladder !== undefined && start.gap === undefined
    if (keepsStates) this.states = this.startStates()
    this.sequence = start.sequence
    for (const mark of start.marks) this.keep(mark)
    this.full = start.full
    this.assembler.lastReceived = this.last?.received ?? 0
    this.lastFrame = Math.max(this.last?.received ?? 0, start.laterTrade)
    if (start.hasNoTrade) this.learnTrades({ last: 0, journal: 0, ids: [] })
    this.gap = start.gap
    this.before = start.before
    this.journal = start.journal
  }

  /** True while nothing is missing. */
  get isOpen(): boolean {
    return this.gap === undefined && this.sequence > 0
  }

  /** True when the market has closed and nothing more is expected. */
  get hasEnded(): boolean {
    return this.gap?.reason === 'market_closed'
  }

  /** When the open gap began; undefined for none, and where nothing is to be recorded. */
  get missingSince(): Micros | undefined {
    const { gap } = this
    return gap === undefined || isIntended(gap.reason) ? undefined : gap.start
  }

  /** Compares a full book with the states that this one went through since it was last closed. */
  relate(book: BookSnapshot): BookRelation {
    return this.states?.relate(book) ?? 'first'
  }

  /** True for an answer that is older than the newest row: opening the book with it would lose what came since. */
  isBehind({ source }: BookSnapshot | BookChange): boolean {
    if (this.rules.order !== 'source_time' || source === undefined) return false
    return this.last !== undefined && source < this.last.source
  }

  /** Applies a full book or a change that came over a channel (ABSENT: an answer). */
  applyBook(event: BookSnapshot | BookChange, channel: number): BookOutcome {
    // After a damaged log was cut off, the journal is read again from before the stored rows.
    if (event.journal <= this.journal) return STALE
    const gaps: Gap[] = []
    if (this.skips(event, channel, gaps))
      return gaps.length === 0 ? STALE : { gaps, stale: true, closed: 'sequence_break' }
    this.lastFrame = Math.max(this.lastFrame, event.received)
    return event.kind === 'change'
      ? this.applyChange(event, channel, gaps)
      : this.applyFull(event, channel, gaps)
  }

  /**
   * The book goes on over another channel (`fed`), where the message of `mark` led to the same book. Records up
   * to `journal` are older.
   */
  join(mark: Mark, fed: number, journal: number): void {
    // Our message may have come before the newest row of the tape did.
    this.keep({ ...mark, received: Math.max(mark.received, this.last?.received ?? 0) })
    this.full = { ...this.last!, channel: fed, sequence: this.sequence }
    this.channel = fed
    this.journal = journal
  }

  /** The venue started a new book, or a message about the book could not be read. */
  reset(event: BookReset): Gap[] {
    const gaps: Gap[] = []
    if (event.journal > this.journal) this.openGap(event.reason, event, gaps)
    return gaps
  }

  /** Messages may be missing from here on: closes the book until the next full one. */
  interrupt(reason: GapReason, journal: number, detail?: string): Gap[] {
    const gaps: Gap[] = []
    if (journal <= this.journal) return gaps
    if (this.last === undefined) this.closeBook()
    else this.openGap(reason, { received: this.last.received as Micros, journal }, gaps, detail)
    return gaps
  }

  /**
   * The market has closed, and nothing more is expected. An open gap ends here. A book that misses nothing is
   * known until its last observation, and longer where it stood still since then.
   */
  endMarket(at: Provenance, { closed, stood, detail }: MarketEnd = {}): Gap[] {
    const gaps: Gap[] = []
    if (this.last === undefined || at.journal <= this.journal) return gaps
    if (this.gap?.reason === 'market_closed') return gaps
    if (this.gap !== undefined) {
      const end = Math.max(at.received, this.gap.start)
      gaps.push(endGap(this.gap, end, ABSENT, at.journal))
      this.gap = { ...this.gapFrom('market_closed', at, detail), start: end as Micros }
      gaps.push(this.gap)
      return gaps
    }
    this.openGap('market_closed', at, gaps, detail)
    const [gap] = gaps
    if (gap === undefined || stood === undefined || stood <= gap.start) return gaps
    const { sourceStart: source, ...rest } = gap
    // The close is a time of the venue's clock; of another time that clock is not known.
    const atClose = stood === closed && { sourceStart: Math.max(closed, source ?? 0) as Micros }
    this.gap = { ...rest, start: stood as Micros, ...atClose }
    return [this.gap]
  }

  /** True when `applyTrade` needs no `learnTrades` first. */
  get knowsTrades(): boolean {
    return this.trades !== undefined
  }

  /** Learns what the store holds of the trades: most books have their first one long after a start. */
  learnTrades({ last, journal, ids }: KnownTrades): void {
    this.trades = { last, journal, ids: new Set(ids) }
  }

  /** Returns a trade to store, with a received time that never decreases; undefined for a duplicate. */
  applyTrade(trade: Trade): Trade | undefined {
    const trades = this.trades!
    const { ids } = trades
    if (trade.journal <= trades.journal) return undefined
    if (ids.has(trade.tradeId)) return undefined
    ids.add(trade.tradeId)
    if (ids.size > TRADE_IDS_KEPT) {
      for (const oldest of ids) {
        ids.delete(oldest)
        break
      }
    }
    this.lastFrame = Math.max(this.lastFrame, trade.received)
    if (trade.received >= trades.last) {
      trades.last = trade.received
      return trade
    }
    trades.last++
    const flags = (trade.flags ?? 0) | FLAGS.clock_step
    return { ...trade, received: trades.last as Micros, flags }
  }

  private applyChange(event: BookChange, channel: number, gaps: Gap[]): BookOutcome {
    // A signed change only fits the full book of its own channel.
    const isForeign =
      event.signed &&
      toEpoch(channel) !== 0 &&
      this.full !== undefined &&
      channel !== this.full.channel
    if (!this.assembler.open || isForeign) {
      if (this.gap !== undefined) return { gaps }
      this.openGap('book_reset', event, gaps)
      return { gaps, closed: 'book_reset' }
    }
    if (this.isTied(event, channel)) {
      if (this.hasLevels(event)) return STALE
      this.openGap('book_reset', event, gaps, 'a change has the time of the answer before it')
      return { gaps, closed: 'book_reset' }
    }
    const taken = this.assembler.take(event, channel)
    if ('violation' in taken) {
      const isOurs = taken.violation === 'crossed_book' && isSound(event)
      if (!isOurs) return this.refuse(taken, event, gaps)
      // The venue's own book is not crossed, so ours is wrong, at most since the last full book.
      this.openGap('sequence_break', event, gaps, 'the change crosses our book', true)
      return { gaps, closed: 'sequence_break' }
    }
    if (event.claims !== undefined && !this.agrees(event.claims)) {
      // Our book differs from the venue's: a message since the last full book is missing.
      this.openGap('sequence_break', event, gaps, 'the best prices disagree with the venue’s', true)
      return { gaps, closed: 'sequence_break' }
    }
    return this.accept(taken, channel, gaps)
  }

  // True for a change with the time of the answer before it, which may contain it and others that followed
  // it within that millisecond. Where the book has another size, that may be a later one, and applying the
  // change would give a book that never was.
  private isTied({ source }: BookChange, channel: number): boolean {
    if (this.rules.order !== 'source_time' || channel === ABSENT) return false
    return source !== undefined && this.full?.channel === ABSENT && source === this.full.source
  }

  private hasLevels({ changes }: BookChange): boolean {
    const { ladder } = this.assembler
    const scale = this.venueTicks(ladder)
    return changes.every(
      ({ side, price, size }) =>
        price % scale === 0 &&
        ladder.sizeAt((price / scale) * 2 + (side === 'bid' ? 0 : 1)) === size,
    )
  }

  private applyFull(event: BookSnapshot, channel: number, gaps: Gap[]): BookOutcome {
    const wasOpen = this.assembler.open
    const before = this.last
    if (this.gap !== undefined) this.assembler.markGap()
    const isPolled = isPoll(event)
    const isJudged = wasOpen && before !== undefined && this.rules.fullBooksVerify && !isPolled
    const taken = this.assembler.take(event, channel)
    if ('violation' in taken) return this.refuse(taken, event, gaps)
    const isHealing =
      isJudged && taken.keys.length > 0 && this.judgeHealed(event, taken, channel, before, gaps)
    const observed = isHealing ? { ...taken, flags: taken.flags | FLAGS.after_gap } : taken
    // No socket feeds it any more.
    if (isPolled) this.channel = ABSENT
    return this.accept(observed, channel, gaps)
  }

  private accept(taken: Observation, channel: number, gaps: Gap[]): BookOutcome {
    this.closeGap(taken, gaps)
    if (this.before !== undefined) {
      const { openTime, reason } = this.before
      if (openTime < taken.received) {
        const gap = { ...this.gapFrom(reason, taken as unknown as Provenance), start: openTime }
        gaps.push(endGap(gap, taken.received, taken.source, taken.journal))
      }
      this.before = undefined
    }
    this.sequence++
    const { received, source, venueSeq } = taken
    const mark: Mark = { received, source, venueSeq, channel }
    this.keep(mark)
    this.noteState(taken)
    if ((taken.flags & FLAGS.full_book) !== 0) this.full = { ...mark, sequence: this.sequence }
    return { gaps, observation: taken }
  }

  private noteState({ keys, sizes, flags, source, journal }: Observation): void {
    const { states } = this
    if ((flags & FLAGS.restart) === 0) this.changedLevels += keys.length
    if (states === undefined) return
    const { ladder, sizesBefore } = this.assembler
    const scale = this.venueTicks(ladder)
    for (let index = 0; index < keys.length; index++) {
      states.change(toVenueKey(keys[index]!, scale), sizesBefore[index]!, sizes[index]!)
    }
    states.remember(source === ABSENT ? 0 : source, journal)
  }

  // The state of the book that the store held is known, but not which message led to it.
  private startStates(): BookStates {
    const states = new BookStates()
    const { ladder } = this.assembler
    if (!this.assembler.open) return states
    const scale = this.venueTicks(ladder)
    for (const key of ladder.keys()) states.change(toVenueKey(key, scale), 0, ladder.sizeAt(key))
    return states
  }

  /** Venue ticks per tick of our ladder. */
  private venueTicks({ decimals }: Ladder): number {
    return POW10[VENUES[this.instrument.venue].priceDecimals - decimals]!
  }

  private closeBook(): void {
    this.assembler.close()
    this.states?.clear()
  }

  private refuse(refusal: Refusal, event: Provenance, gaps: Gap[]): BookOutcome {
    this.openGap('rejected', event, gaps)
    return { gaps, refusal, closed: 'rejected' }
  }

  // True when a message is to be skipped. Opens a gap where its number or time proves a loss.
  private skips(event: BookSnapshot | BookChange, channel: number, gaps: Gap[]): boolean {
    const seq = event.venueSeq ?? ABSENT
    if (seq !== ABSENT) return this.skipNumbered(event, seq, channel, gaps)
    if (!this.rules.answersMixWithSocket) {
      // An answer cannot be ordered among numbered changes: it counts only while no channel feeds the book.
      return this.assembler.open && this.channel !== ABSENT
    }
    const before = this.last
    if (before === undefined || !this.assembler.open) return false
    const source = event.source ?? ABSENT
    if (source === ABSENT || before.source === ABSENT || source >= before.source) {
      return channel === ABSENT && !isPoll(event) && this.isInFlight(event, source, before)
    }
    if (event.received - before.received > REORDER_MICROS) return false
    // An answer may be older than what the socket brought meanwhile; that is not a loss.
    const isOrdered = event.kind === 'change' || channel !== ABSENT
    if (isOrdered && this.rules.order === 'source_time' && !this.isHeld(event, source, channel)) {
      this.openGap('sequence_break', event, gaps, 'messages came out of order', true)
    }
    return true
  }

  // True when an older message of an ordered socket contains nothing new, so that skipping it loses
  // nothing. An answer that was ahead of the socket contains what the socket had not sent yet, and the
  // last full book contains everything before it. Any other older full book must equal ours, and any
  // other older change is a loss: later changes were applied without it.
  private isHeld(event: BookSnapshot | BookChange, source: number, channel: number): boolean {
    const { last, framed, full } = this
    const isAnswered = channel !== ABSENT && last!.channel === ABSENT
    if (isAnswered && source >= (framed?.source ?? 0)) return true
    if (event.kind === 'change') return false
    const age = full === undefined || full.source === ABSENT ? -1 : full.source - source
    return (age >= 0 && age <= REORDER_MICROS) || this.isOurs(event)
  }

  private isOurs({ bids, asks }: BookSnapshot): boolean {
    const { ladder } = this.assembler
    const scale = this.venueTicks(ladder)
    const has = (levels: readonly Level[], side: number): boolean =>
      levels.every(
        ({ price, size }) =>
          price % scale === 0 && ladder.sizeAt((price / scale) * 2 + side) === size,
      )
    return (
      bids.length === ladder.bidLevels &&
      asks.length === ladder.askLevels &&
      has(bids, 0) &&
      has(asks, 1)
    )
  }

  private skipNumbered(
    event: BookSnapshot | BookChange,
    seq: number,
    channel: number,
    gaps: Gap[],
  ): boolean {
    const before = this.numbered
    if (before === undefined) return false
    if (toEpoch(channel) === 0) {
      if (seq === before.venueSeq) return true
      // A subscription only counts up, so a lower number means a new connection.
      if (seq < before.venueSeq) this.openGap('disconnected', event, gaps)
      else this.watchSilence(event, before, seq - before.venueSeq, gaps)
      return false
    }
    if (channel !== before.channel) return false
    if (seq <= before.venueSeq) return true
    this.watchSilence(event, before, seq - before.venueSeq, gaps)
    return false
  }

  // True for an answer that is newer than the socket's last message, but so young that the messages in
  // between may still be on their way. Its age is measured with the clock difference of that message.
  private isInFlight(event: BookSnapshot | BookChange, source: number, before: Mark): boolean {
    if (this.rules.order !== 'source_time' || event.kind !== 'snapshot') return false
    if (source === ABSENT || source === before.source || this.channel === ABSENT) return false
    const age = event.received - source - (before.received - before.source)
    return age <= REORDER_MICROS
  }

  // Judges a full book that differs from ours. The venue sends one with every trade, so a difference that
  // a trade can make is expected. Any other one, and any in an answer, proves that messages were lost.
  private judgeHealed(
    event: BookSnapshot,
    taken: Observation,
    channel: number,
    before: Mark,
    gaps: Gap[],
  ): boolean {
    const isNewer = taken.source !== ABSENT && taken.source > before.source
    let reason: GapReason | undefined
    if (channel === ABSENT) reason = isNewer ? 'venue_silent' : 'sequence_break'
    else if (!isTradeEffect(this.assembler.ladder, taken.keys, this.assembler.sizesBefore)) {
      reason = 'sequence_break'
    }
    if (reason === undefined) return false
    const gap = this.gapFrom(reason, event, undefined, reason === 'sequence_break')
    gaps.push(endGap(gap, taken.received, taken.source, taken.journal))
    return true
  }

  private agrees(claims: NonNullable<BookChange['claims']>): boolean {
    const { ladder } = this.assembler
    const scale = this.venueTicks(ladder)
    const bid = ladder.bidLevels === 0 ? undefined : ladder.bestBid * scale
    const ask = ladder.askLevels === 0 ? undefined : ladder.bestAsk * scale
    return bid === claims.bestBid && ask === claims.bestAsk
  }

  private keep(mark: Mark): void {
    if (this.last !== undefined) this.noteSpacing(this.last, mark)
    this.last = mark
    if (mark.venueSeq !== ABSENT) this.numbered = mark
    if (mark.channel !== ABSENT) this.framed = mark
    // An answer ends a socket's claim to the book where the two cannot share it.
    if (mark.channel !== ABSENT || !this.rules.answersMixWithSocket) this.channel = mark.channel
  }

  // A subscription numbers the messages of all its markets: `advance` numbers in some time prove an
  // average spacing, and a silence of at least that length. More cannot be proved. Rows that prove
  // nothing count too: the habit is that of the last rows, which a restart reads from the store.
  private noteSpacing(before: Mark, after: Mark): void {
    const advance = after.venueSeq - before.venueSeq
    const isProof = before.venueSeq !== ABSENT && after.venueSeq !== ABSENT && advance >= 1
    this.silence.note(isProof ? (after.received - before.received) / advance : undefined)
  }

  private watchSilence(event: Provenance, before: Mark, advance: number, gaps: Gap[]): void {
    const elapsed = event.received - Math.max(before.received, this.lastFrame)
    if (this.gap !== undefined || !this.silence.isSilence(elapsed / advance)) return
    if (isClockStep(event, before)) return
    // The numbers are consecutive: nothing was lost, the venue was silent. The book stays open.
    const gap = this.gapFrom('venue_silent', event)
    gaps.push(endGap(gap, event.received, event.source ?? ABSENT, event.journal))
    this.assembler.markGap()
  }

  // Closes the book from its last good observation on, or from this message if there is none.
  private openGap(
    reason: GapReason,
    event: Provenance,
    gaps: Gap[],
    detail?: string,
    sinceFull = false,
  ): void {
    this.closeBook()
    if (this.gap !== undefined) return
    this.gap = this.gapFrom(reason, event, detail, sinceFull)
    gaps.push(this.gap)
  }

  private gapFrom(reason: GapReason, event: Provenance, detail?: string, sinceFull = false): Gap {
    const good = sinceFull ? (this.full ?? this.last) : this.last
    const source = good?.source ?? ABSENT
    return {
      venue: this.instrument.venue,
      scope: 'instrument',
      key: this.instrument.key,
      reason,
      start: (good?.received ?? event.received) as Micros,
      ...(source === ABSENT ? {} : { sourceStart: source as Micros }),
      afterSequence: sinceFull ? (this.full?.sequence ?? this.sequence) : this.sequence,
      ...(detail === undefined ? {} : { detail }),
      journal: event.journal,
    }
  }

  private closeGap(first: Observation, gaps: Gap[]): void {
    if (this.gap === undefined) return
    gaps.push(endGap(this.gap, first.received, first.source, first.journal))
    this.gap = undefined
  }
}

/** True for spans in which nothing was to be recorded, so that nothing was lost. */
export function isIntended(reason: GapReason): boolean {
  return reason === 'not_selected' || reason === 'before_capture' || isMarketState(reason)
}

/** By how much our clock differs from the venue's at least after a step; no delivery is as late. */
const STEP_MICROS = 60_000_000

// True when more time passed on our clock than on the venue's: ours was set forward between two messages.
function isClockStep(event: Provenance, before: Mark): boolean {
  if (event.source === undefined) return false
  // A full book has no time of the venue: its clock is then taken to have agreed with ours.
  const lag = before.source === ABSENT ? 0 : before.received - before.source
  return event.received - event.source - lag > STEP_MICROS
}

function isPoll(event: BookSnapshot | BookChange): boolean {
  return event.kind === 'snapshot' && event.isPolled === true
}

// True for a change whose best prices do not cross, and whose levels lie behind them.
function isSound({ claims, changes }: BookChange): boolean {
  if (claims === undefined) return false
  const { bestBid = -Infinity, bestAsk = Infinity } = claims
  return (
    bestBid < bestAsk &&
    changes.every(
      ({ side, price, size }) =>
        size === 0 || (side === 'bid' ? price <= bestBid : price >= bestAsk),
    )
  )
}

function toVenueKey(key: number, scale: number): number {
  return (key >>> 1) * scale * 2 + (key & 1)
}

const STALE: BookOutcome = { gaps: [], stale: true }

function endGap(gap: Gap, received: number, source: number, journal: number): Gap {
  return {
    ...gap,
    end: received as Micros,
    ...(source === ABSENT ? {} : { sourceEnd: source as Micros }),
    endJournal: journal,
  }
}
