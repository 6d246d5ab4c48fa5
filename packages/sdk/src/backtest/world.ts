import { FLAGS, type Gap, type MarketRecord, type Micros, type VenueId } from '../domain/index.ts'
import type {
  BookEvent,
  MarketEvent,
  ReplayEvent,
  ReplayGapEvent,
  ReplayInstrument,
  SampleEvent,
  TradeEvent,
} from '../replay/index.ts'
import type { CellWorld } from './cell-options.ts'
import type { Cell } from './cell.ts'
import { isLoss, MarketState, Track, type Assumptions } from './market-state.ts'
import { PRICE_ONE } from './money.ts'
import { applyChanges, copyLadder } from './own-book.ts'
import { finalPayouts, isDisputed, isTrading, outcomeOf } from './record-facts.ts'
import { withoutOutcome, type Revision } from './records.ts'
import type { GapView, SampleView, TradeView } from './strategy.ts'
import { FrozenBook, FrozenMarket } from './views.ts'

const MOST_SPANS = 1000

/** How much was read. */
export type WorldCounts = {
  trades: number
  samples: number
  revisions: number
  gaps: number
  /** Prints of which the venue does not say what the taker did: they fill nothing. */
  sidelessTrades: number
}

/**
 * The books, gaps and records of a run as of now. It is shared by all cells of a sweep, so that the
 * tape is decoded and folded once, whatever the number of strategies.
 */
export class World implements CellWorld {
  readonly markets = new Map<string, MarketState>()
  readonly list: MarketState[] = []
  readonly counts: WorldCounts = {
    trades: 0,
    samples: 0,
    revisions: 0,
    gaps: 0,
    sidelessTrades: 0,
  }
  /** Gaps with a loss, the first thousand of them; `end` is absent while one is open. */
  readonly gapSpans: { market: string; reason: string; start: number; end: number | undefined }[] =
    []
  now = 0
  firstAt = 0
  private due = Infinity
  private sampleDue = -Infinity
  private readonly assume: Assumptions
  private readonly tracks: (Track | undefined)[] = []
  private readonly byKey = new Map<string, Track>()
  private readonly openGaps: Gap[] = []
  private cells: readonly Cell[] = []
  private watchers: readonly Cell[] = []
  private isStarted = false
  private revisions: readonly Revision[] = []
  private readonly revised = new Set<string>()
  private nextRevision = 0
  private revisionDue = Infinity

  constructor(assume: Assumptions = {}) {
    this.assume = assume
  }

  /** Records by the time they became known; records of these markets in the events are then ignored. */
  setRevisions(revisions: readonly Revision[]): void {
    this.revisions = revisions.toSorted((left, right) => left.at - right.at)
    for (const { record } of revisions) this.revised.add(`${record.venue}:${record.marketId}`)
    this.revisionDue = this.revisions[0]?.at ?? Infinity
  }

  /** Takes names, ticks and fees of records as true from the start, without anything they say of the end. */
  assumeRecords(records: readonly MarketRecord[]): void {
    for (const record of records) {
      const state = this.state(record.venue, record.marketId)
      if (state.record === undefined) this.setRecord(state, withoutOutcome(record))
    }
  }

  /** Sets the runs that share this world; before the first event. */
  attach(cells: readonly Cell[]): void {
    this.cells = cells
    this.watchers = cells.filter(({ options }) => options.strategy.onBook !== undefined)
  }

  noteDue(at: number): void {
    if (at < this.due) this.due = at
  }

  /** Books read so far. */
  get observations(): number {
    return this.list.reduce((sum, { observations }) => sum + observations, 0)
  }

  /** Takes one event; events come by received time. */
  take(event: ReplayEvent): void {
    const { at } = event
    if (!this.isStarted) this.start(at)
    if (at >= this.revisionDue) this.revise(at)
    // What was planned before this time meets the book before this event.
    if (at > this.due) this.drain(at)
    this.now = at
    switch (event.kind) {
      case 'book':
        this.book(event)
        return
      case 'trade':
        this.trade(event)
        return
      case 'market':
        if (!this.revised.has(`${event.record.venue}:${event.record.marketId}`)) this.market(event)
        return
      case 'gap':
        this.gap(event)
        return
      case 'sample':
        this.sample(event)
    }
  }

  /** Time passes without an event: what is due until then happens. */
  advance(at: number): void {
    if (!this.isStarted || at <= this.now) return
    if (at > this.due) this.drain(at)
    this.now = at
  }

  /** The tape ends: everything due until then is done. */
  finish(at: number): void {
    if (!this.isStarted) this.start(at)
    this.revise(at)
    this.now = Math.max(this.now, at)
    for (const cell of this.cells) cell.finish(this.now)
  }

  // ---------------------------------------------------------------- events

  private book(event: BookEvent): void {
    const { at, columns, row, flags } = event
    const track = this.tracks[event.instrument.index] ?? this.track(event.instrument)
    const { market } = track
    const isFrame = market.primary === track
    const restarts = !track.started || (flags & (FLAGS.restart | FLAGS.after_gap)) !== 0
    if (market.venue === 'venueb') {
      // Whole books one after another are polls; the socket sends one and then changes.
      if ((flags & FLAGS.full_book) === 0) market.isPolled = false
      else if (!restarts) market.isPolled = true
    }
    const isBusy = isFrame && market.busy > 0
    const { cells } = this
    if (isBusy && !restarts) {
      for (let index = 0; index < cells.length; index++) {
        const own = cells[index]!.markets[market.index]
        if (own !== undefined && own.isBusy) cells[index]!.beforeRow(own, track, event)
      }
    }
    const { ladder } = track
    if (restarts) copyLadder(track, event.ladder)
    else applyChanges(track, columns, row)
    if (track.rows === 0) {
      track.firstSequence = event.sequence
      track.firstAt = at
    }
    track.at = at
    track.source = event.source ?? -1
    track.sequence = event.sequence
    track.rows++
    if (ladder.bestBid !== 0 && ladder.bestAsk !== ladder.one) {
      track.lastBid = ladder.bestBid * track.factor
      track.lastAsk = ladder.bestAsk * track.factor
      if (market.firstQuoteAt === 0) this.noteFirstQuote(market)
    }
    if (isBusy) {
      for (let index = 0; index < cells.length; index++) {
        const cell = cells[index]!
        const own = cell.markets[market.index]
        if (own === undefined || !own.isBusy) continue
        if (at >= market.closesAt) cell.marketCloses(own, at)
        else if (restarts) cell.bookRestarts(own, track, at)
        else cell.afterRow(own, track, at)
      }
    }
    const { watchers } = this
    for (let index = 0; index < watchers.length; index++) {
      const cell = watchers[index]!
      if (cell.failure === undefined) cell.bookSeen(track, at)
    }
    if (at >= this.sampleDue) this.samplePoints(at)
  }

  private trade(event: TradeEvent): void {
    const { at, price, size, taker, instrument } = event
    const track = this.tracks[instrument.index] ?? this.track(instrument)
    const { market } = track
    this.counts.trades++
    market.trades++
    market.lastTradeAt = at
    const row = `${instrument.venue}:${instrument.key}/trade:${event.sequence}`
    if (taker === undefined) this.counts.sidelessTrades++
    else if (market.busy > 0 && market.primary !== undefined && at < market.closesAt) {
      // One queue for both outcomes: a buyer of the other one is a seller of this one.
      const same = track.outcome === market.primary.outcome
      const framePrice = same ? price : PRICE_ONE - price
      const isBuy = (taker === 'buy') === same
      for (const cell of this.cells) {
        const own = cell.markets[market.index]
        if (own !== undefined && own.levels.size > 0) {
          cell.printed(own, at, framePrice, size, isBuy, row)
        }
      }
    }
    let view: TradeView | undefined
    for (const cell of this.cells) {
      const { strategy } = cell.options
      if (strategy.onTrade === undefined || !cell.isAlive) continue
      view ??= Object.freeze({
        market: market.name,
        outcome: track.outcome,
        price,
        size: size / 10 ** instrument.sizeDecimals,
        taker,
        time: at,
        id: row,
      })
      cell.now = at
      cell.call('onTrade', () => strategy.onTrade!(view!, cell.strategyContext))
    }
  }

  private sample(event: SampleEvent): void {
    this.counts.samples++
    const { instrument, at, metric, value } = event
    let view: SampleView | undefined
    for (const cell of this.cells) {
      const { strategy } = cell.options
      if (strategy.onSample === undefined || !cell.isAlive) continue
      view ??= Object.freeze({
        market: `${instrument.venue}:${instrument.marketId}`,
        outcome: instrument.outcome,
        metric,
        value,
        time: at,
      })
      cell.now = at
      cell.call('onSample', () => strategy.onSample!(view!, cell.strategyContext))
    }
  }

  private market({ record, at }: Omit<MarketEvent, 'kind'>): void {
    this.counts.revisions++
    const state = this.state(record.venue, record.marketId)
    const wasOpen = isTrading(state.record)
    const wasDisputed = isDisputed(state.record)
    this.setRecord(state, record)
    state.knownAt = at
    if (isDisputed(record) && !wasDisputed) state.disputes++
    for (const track of state.tracks) this.reframe(state, track)
    if (wasOpen && !isTrading(record)) {
      for (const cell of this.cells) {
        const own = cell.markets[state.index]
        if (own !== undefined) cell.marketCloses(own, at)
      }
    }
    const view = new FrozenMarket(state)
    for (const cell of this.cells) {
      const { strategy } = cell.options
      if (strategy.onMarket === undefined) continue
      cell.now = at
      cell.call('onMarket', () => strategy.onMarket!(view, cell.strategyContext))
    }
    const payouts = finalPayouts(record)
    if (payouts === undefined) return
    if (state.payouts === undefined) {
      state.payouts = payouts
      state.settledAt = at
      for (const cell of this.cells) cell.settle(state, payouts, at)
    } else if (payouts.some((payout, index) => payout !== state.payouts![index])) {
      // Paid is paid: a change after the final word is counted and shown, never booked.
      state.lateChanges++
    }
  }

  private gap({ gap, edge, at }: ReplayGapEvent): void {
    if (edge === 'open') {
      this.counts.gaps++
      this.openGaps.push(gap)
    } else {
      const index = this.openGaps.findIndex(
        (open) => open.start === gap.start && open.key === gap.key && open.reason === gap.reason,
      )
      if (index >= 0) this.openGaps.splice(index, 1)
    }
    for (const state of this.list) {
      if (!this.concerns(gap, state)) continue
      const view: GapView = Object.freeze({
        market: state.name,
        edge,
        reason: gap.reason,
        start: gap.start,
      })
      if (edge === 'open') {
        state.openGap(gap, at)
        if (isLoss(gap.reason) && this.gapSpans.length < MOST_SPANS) {
          const { reason } = gap
          this.gapSpans.push({ market: state.name, reason, start: at, end: undefined })
        }
        for (const cell of this.cells) cell.gapOpens(state, view, at)
      } else if (state.closeGap(gap, at)) {
        const span = this.gapSpans.findLast(
          ({ market, reason, end }) =>
            market === state.name && reason === gap.reason && end === undefined,
        )
        if (span !== undefined) span.end = at
        for (const cell of this.cells) cell.gapCloses(state, view, at)
      }
    }
  }

  // ---------------------------------------------------------------- inside

  private start(at: number): void {
    this.isStarted = true
    this.firstAt = at
    this.now = at
    this.sampleDue = at
    for (const cell of this.cells) cell.start(at)
  }

  private setRecord(state: MarketState, record: MarketRecord): void {
    state.record = record
    state.closesAt =
      record.closeTime === undefined || record.venue === 'venuec' ? Infinity : record.closeTime
  }

  // Records come before everything else of their time.
  private revise(until: number): void {
    while (this.nextRevision < this.revisions.length) {
      const { at, record } = this.revisions[this.nextRevision]!
      if (at > until) break
      this.nextRevision++
      // What was known before the first event is told with it.
      const then = Math.max(at, this.now)
      if (then > this.due) this.drain(then)
      this.now = then
      this.market({ record, at: then as Micros })
    }
    this.revisionDue = this.revisions[this.nextRevision]?.at ?? Infinity
  }

  private drain(at: number): void {
    for (const cell of this.cells) if (cell.agenda.next < at) cell.drain(at)
    let due = Infinity
    for (const cell of this.cells) {
      if (cell.isAlive) due = Math.min(due, cell.agenda.next)
    }
    this.due = due
  }

  private samplePoints(at: number): void {
    let due = Infinity
    for (const cell of this.cells) {
      if (at >= cell.curve.due) cell.samplePoint(at)
      due = Math.min(due, cell.curve.due)
    }
    this.sampleDue = due
  }

  private noteFirstQuote(market: MarketState): void {
    if (market.inGap || market.refusal(this.now) !== undefined) return
    const { primary } = market
    if (primary === undefined || primary.lastBid === 0) return
    market.firstQuoteAt = this.now
    const same = primary.outcome === 0
    market.firstBid = same ? primary.lastBid : PRICE_ONE - primary.lastAsk
    market.firstAsk = same ? primary.lastAsk : PRICE_ONE - primary.lastBid
  }

  private state(venue: VenueId, marketId: string): MarketState {
    const name = `${venue}:${marketId}`
    const known = this.markets.get(name)
    if (known !== undefined) return known
    const made = new MarketState(this.list.length, venue, marketId, this.assume)
    made.firstAt = this.now
    this.markets.set(name, made)
    this.list.push(made)
    // A place for every market: reading beyond the end of an array is slow.
    for (const cell of this.cells) cell.markets.push(undefined)
    for (const gap of this.openGaps) {
      if (gap.scope !== 'instrument' && this.concerns(gap, made)) made.openGap(gap, this.now)
    }
    return made
  }

  private track(instrument: ReplayInstrument): Track {
    const state = this.state(instrument.venue, instrument.marketId)
    const outcome = outcomeOf(state.record, instrument)
    const track = new Track(state, instrument.key, outcome)
    this.tracks[instrument.index] = track
    this.byKey.set(`${instrument.venue}:${instrument.key}`, track)
    track.label = instrument.outcome
    state.tracks.push(track)
    track.view = new FrozenBook(track, outcome, new FrozenMarket(state))
    this.reframe(state, track)
    for (const gap of this.openGaps) {
      if (gap.scope === 'instrument' && gap.venue === state.venue && gap.key === instrument.key) {
        state.openGap(gap, this.now)
      }
    }
    return track
  }

  // The ladder of the first outcome is the frame, unless another one has met orders already.
  private reframe(state: MarketState, track: Track): void {
    const { primary } = state
    if (primary === undefined || (!state.isUsed && track.outcome < primary.outcome)) {
      state.primary = track
    }
  }

  private concerns(gap: Gap, state: MarketState): boolean {
    if (gap.venue !== state.venue) return false
    switch (gap.scope) {
      case 'venue':
        return true
      case 'market':
        return gap.key === state.marketId
      case 'instrument':
        return this.byKey.get(`${gap.venue}:${gap.key}`)?.market === state
    }
  }
}
