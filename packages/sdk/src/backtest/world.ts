import {
  DOUBLE_ZERO,
  FLAGS,
  gapId,
  POW10,
  type Gap,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../domain/index.ts'
import type {
  BookEvent,
  EventSink,
  MarketEvent,
  ReferenceEvent,
  ReplayBatch,
  ReplayEvent,
  ReplayGapEvent,
  ReplayInstrument,
  SampleEvent,
  TradeEvent,
} from '../replay/index.ts'
import { Clock } from './clock.ts'
import { SpareCounters } from './level-interest.ts'
import { InstrumentBook, isLoss, MarketState, type Assumptions } from './market-state.ts'
import { PRICE_ONE, shownPrice } from './money.ts'
import type { DataEvent } from './feeds/data-feed.ts'
import type { FedBatch } from './feeds/merge-feeds.ts'
import { References } from './references.ts'
import {
  finalPayouts,
  isDisputed,
  isTrading,
  outcomeOf,
  withoutOutcome,
  type Revision,
} from './records.ts'
import type { News } from './orders.ts'
import { copyRow } from './received-world.ts'
import { factorOf, RowChanges } from './row-changes.ts'
import { printRow } from './row-ref.ts'
import type { RunEnvironment, StrategyRun } from './strategy-run.ts'
import type { GapView, SampleView, TradeView } from './strategy.ts'
import type { RunMarket } from './run-market.ts'
import type { StrategyHooks } from './strategy-hooks.ts'
import { FrozenBook, FrozenMarket } from './views.ts'

// Max gaps that a report lists.
const MAX_SPANS = 1000

/** How much of each kind has been applied. */
export type WorldCounts = {
  trades: number
  samples: number
  revisions: number
  /** Trades whose taker side the venue does not report: they fill nothing. */
  sidelessTrades: number
}

/**
 * The recorded books, gaps and records as of now. All runs of a sweep share one world, so the tape is
 * decoded and applied once, whatever the number of strategies.
 */
export class World implements RunEnvironment, EventSink {
  readonly markets = new Map<string, MarketState>()
  readonly list: MarketState[] = []
  readonly counts: WorldCounts = { trades: 0, samples: 0, revisions: 0, sidelessTrades: 0 }
  /** How many rows of each feed have been applied. */
  readonly dataRows = new Map<string, number>()
  /** The reference prices that are known now. */
  readonly references = new References()
  /** The first gaps with a loss; `end` is absent while one is open. */
  readonly gapSpans: { market: string; reason: string; start: number; end: number | undefined }[] =
    []
  readonly clock: Clock = new Clock()
  now = DOUBLE_ZERO
  firstAt = DOUBLE_ZERO
  private readonly assume: Assumptions
  private readonly counters = new SpareCounters()
  private readonly changes = new RowChanges()
  private readonly books: (InstrumentBook | undefined)[] = []
  private readonly booksByKey = new Map<string, InstrumentBook>()
  private readonly openGaps: Gap[] = []
  private runs: readonly StrategyRun[] = []
  private bookWatchers: readonly StrategyHooks[] = []
  private quoteWatchers: readonly StrategyHooks[] = []
  private isStarted = false
  /** Whether strategies receive events later than they happen. */
  private isDelayed = false
  /** When the nearest event of each run is due, and that of any. */
  private dues = new Float64Array(0)
  private due = Infinity
  private sampleDue = -Infinity
  private revisions: readonly Revision[] = []
  private readonly revised = new Set<string>()
  private nextRevision = 0
  private revisionDue = Infinity

  constructor(assume: Assumptions = {}) {
    this.assume = assume
  }

  /** Sets records by the time they became known; records of these markets in the events are ignored. */
  setRevisions(revisions: readonly Revision[]): void {
    this.revisions = revisions.toSorted((left, right) => left.at - right.at)
    for (const { record } of revisions) this.revised.add(`${record.venue}:${record.marketId}`)
    this.revisionDue = this.revisions[0]?.at ?? Infinity
  }

  /** Assumes names, ticks and fees of records from the start, without what they say about the outcome. */
  assumeRecords(records: readonly MarketRecord[]): void {
    for (const record of records) {
      const state = this.stateOf(record.venue, record.marketId)
      if (state.record !== undefined) continue
      state.assumed = withoutOutcome(record)
      state.setRecord(state.assumed)
    }
  }

  /** Sets the runs that share this world; before the first event. */
  attach(runs: readonly StrategyRun[]): void {
    this.runs = runs
    for (const [place, run] of runs.entries()) run.place = place
    this.dues = new Float64Array(runs.length).fill(Infinity)
    this.isDelayed = runs.some(({ received }) => received !== undefined)
    const hooks = runs.map((run) => run.hooks)
    this.quoteWatchers = hooks.filter(({ strategy }) => strategy.onQuote !== undefined)
    this.bookWatchers = hooks.filter(({ strategy }) => strategy.onBook !== undefined)
  }

  noteDue(place: number, at: number): void {
    if (at < this.dues[place]!) this.dues[place] = at
    if (at < this.due) this.due = at
  }

  /** The number of book rows applied so far. */
  get observations(): number {
    return this.list.reduce((sum, { observations }) => sum + observations, 0)
  }

  /** Applies the events of a batch: the loop of every run, in a method of its own to be compiled once. */
  applyAll(batch: ReplayBatch | FedBatch): void {
    if ('feed' in batch && batch.feed !== undefined) return batch.feed(this)
    for (const event of batch) this.apply(event)
  }

  /** Applies a row of a book. */
  applyRow(event: BookEvent): void {
    this.reach(event.at)
    this.applyBook(event)
  }

  /** Applies one event; events come in order of received time. */
  apply(event: ReplayEvent | DataEvent): void {
    this.reach(event.at)
    switch (event.kind) {
      case 'book':
        this.applyBook(event)
        return
      case 'trade':
        this.applyTrade(event)
        return
      case 'market':
        if (!this.revised.has(`${event.record.venue}:${event.record.marketId}`)) {
          this.applyRecord(event)
        }
        return
      case 'gap':
        this.applyGap(event)
        return
      case 'sample':
        this.applySample(event)
        return
      case 'reference':
        this.applyReference(event)
        return
      case 'data':
        this.applyData(event)
    }
  }

  // Everything that is due before an event happens before it.
  private reach(at: number): void {
    if (!this.isStarted) this.start(at)
    if (at >= this.revisionDue) this.revise(at)
    // Orders that arrive before this event meet the book before it.
    if (at > this.due) this.drain(at)
    this.now = at
  }

  /** Lets time pass without an event. */
  advance(at: number): void {
    if (!this.isStarted || at <= this.now) return
    if (at > this.due) this.drain(at)
    this.now = at
  }

  /** Ends the tape at a time, with everything that is due until then. */
  finish(at: number): void {
    if (!this.isStarted) this.start(at)
    this.revise(at)
    this.now = Math.max(this.now, at)
    for (const run of this.runs) run.finish(this.now)
  }

  private applyBook(event: BookEvent): void {
    const { at, flags } = event
    const book = this.books[event.instrument.index] ?? this.openBook(event.instrument)
    const { market } = book
    const restarts = !book.isStarted || (flags & (FLAGS.restart | FLAGS.after_gap)) !== 0
    market.notePolling(flags, restarts)
    const isBusy = market.primary === book && market.busy > 0
    const isTouched = isBusy && !restarts && touches(market, event)
    const isChanged = isTouched && this.beforeRow(market, book, event)
    const { lastBid, lastAsk } = book
    book.apply(event, restarts)
    if (market.firstQuoteAt === 0) this.noteFirstQuote(market, book)
    if (market.holders > 0 && (book.lastBid !== lastBid || book.lastAsk !== lastAsk)) {
      this.noteQuotes(market)
    }
    if (isBusy && (isChanged || restarts || concerns(market, book, at))) {
      this.afterRow(market, book, at, restarts)
    }
    if (this.isDelayed) this.deliver(at, { kind: 'book', book, row: copyRow(event, restarts) })
    else this.showBook(book, at)
    if (at >= market.prices.due && market.primary === book) samplePrices(book, at)
    if (at >= this.sampleDue) this.sampleEquity(at)
  }

  // Hooks only send requests, so one clock and one view do for all runs.
  private showBook(book: InstrumentBook, at: number): void {
    const { bookWatchers, quoteWatchers } = this
    const view = book.view!
    this.clock.now = at
    for (let index = 0; index < bookWatchers.length; index++) bookWatchers[index]!.bookSeen(view)
    if (quoteWatchers.length === 0 || !book.quoteMoved()) return
    for (let index = 0; index < quoteWatchers.length; index++) quoteWatchers[index]!.quoteSeen(view)
  }

  // True where a run has something to finish after the row, whatever the row does to its orders.
  private beforeRow(market: MarketState, book: InstrumentBook, event: BookEvent): boolean {
    const { runs, changes } = this
    changes.read(book, event)
    const { mask } = changes
    const masks = market.masks.values
    for (let place = 0; place < masks.length; place++) {
      if ((masks[place]! & mask) === 0) continue
      const run = runs[place]!
      run.engine.beforeRow(run.markets[market.index]!, book, changes, event)
    }
    return market.restless > 0
  }

  // The bounds of the market only widen between rows; after one that reached them they are exact again.
  private afterRow(market: MarketState, book: InstrumentBook, at: number, restarts: boolean): void {
    market.restingBid = 0
    market.restingAsk = Infinity
    market.expireAt = Infinity
    for (const run of this.runs) {
      const own = run.markets[market.index]
      if (own === undefined || !own.isBusy) continue
      if (at >= market.closesAt) run.marketCloses(own, at)
      else if (restarts) run.engine.bookRestarts(own, book, at)
      else if (own.isDirty || isReached(own, book, at)) run.engine.afterRow(own, book, at)
      own.widenBounds()
    }
  }

  private applyTrade(event: TradeEvent): void {
    const { at, price, size, taker, instrument } = event
    const book = this.books[instrument.index] ?? this.openBook(instrument)
    const { market } = book
    this.counts.trades++
    market.trades++
    market.lastTradeAt = at
    if (taker === undefined) this.counts.sidelessTrades++
    else if (market.busy > 0 && market.primary !== undefined && at < market.closesAt) {
      // Both outcomes share one queue: a buyer of one is a seller of the other.
      const isSame = book.outcome === market.primary.outcome
      const bookPrice = isSame ? price : market.one - price
      const isBuy = (taker === 'buy') === isSame
      const print = { series: book.tradeSeries, sequence: event.sequence }
      for (const run of this.runs) {
        const own = run.markets[market.index]
        if (own === undefined || own.levels.size === 0) continue
        const isBeyond = isBuy ? own.bestAsk > bookPrice : own.bestBid < bookPrice
        if (isBeyond && !own.isDirty && !run.hooks.hasDeferred) continue
        run.engine.printed(own, at, bookPrice, size, isBuy, print)
      }
    }
    for (const { options } of this.runs) {
      if (options.strategy.onTrade !== undefined) return this.showTrade(event, book)
    }
  }

  private showTrade(
    event: TradeEvent,
    { market, outcome, tradeSeries: series }: InstrumentBook,
  ): void {
    const { at, price, size, taker, instrument, sequence } = event
    const view: TradeView = Object.freeze({
      market: market.name,
      outcome,
      price: shownPrice(price, market.one),
      size: size / POW10[instrument.sizeDecimals]!,
      taker,
      time: at,
      id: printRow({ series, sequence }),
    })
    for (const run of this.runs) {
      if (run.options.strategy.onTrade === undefined) continue
      run.receive(at, 'onTrade', (strategy, context) => strategy.onTrade!(view, context))
    }
  }

  private applySample({ instrument, at, metric, value }: SampleEvent): void {
    this.counts.samples++
    let view: SampleView | undefined
    for (const run of this.runs) {
      if (run.options.strategy.onSample === undefined) continue
      view ??= Object.freeze({
        market: `${instrument.venue}:${instrument.marketId}`,
        outcome: instrument.outcome,
        metric,
        value,
        time: at,
      })
      run.receive(at, 'onSample', (strategy, context) => strategy.onSample!(view!, context))
    }
  }

  private applyReference(event: ReferenceEvent): void {
    if (this.isDelayed) return this.deliver(event.at, { kind: 'reference', event })
    const view = this.references.apply(event)
    for (const run of this.runs) {
      if (run.options.strategy.onReference === undefined) continue
      run.call(event.at, 'onReference', (strategy, context) => strategy.onReference!(view, context))
    }
  }

  private applyData({ at, feed, row }: DataEvent): void {
    this.dataRows.set(feed, (this.dataRows.get(feed) ?? 0) + 1)
    for (const run of this.runs) {
      if (run.options.strategy.onData === undefined) continue
      run.receive(at, 'onData', (strategy, context) => strategy.onData!(feed, row, context))
    }
  }

  private applyReferenceGap({ gap, edge, at }: ReplayGapEvent): void {
    if (this.isDelayed) return this.deliver(at, { kind: 'referenceGap', gap, edge })
    for (const view of this.references.views(gap, edge)) {
      for (const run of this.runs) {
        if (run.options.strategy.onReferenceGap === undefined) continue
        run.call(at, 'onReferenceGap', (strategy, context) => {
          strategy.onReferenceGap!(view, context)
        })
      }
    }
  }

  private applyRecord({ record, at }: Omit<MarketEvent, 'kind'>): void {
    this.counts.revisions++
    const state = this.stateOf(record.venue, record.marketId)
    const wasOpen = isTrading(state.record)
    const wasDisputed = isDisputed(state.record)
    state.setRecord(record)
    if (isDisputed(record) && !wasDisputed) state.disputes++
    for (const book of state.books) this.choosePrimary(book)
    for (const run of this.runs) {
      const own = run.markets[state.index]
      if (own === undefined) continue
      if (wasOpen && !isTrading(record)) run.marketCloses(own, at)
      else if (own.levels.size > 0) run.closeTimeMoves(own, at)
    }
    if (this.isDelayed) this.deliver(at, { kind: 'record', state, record })
    else {
      const view = new FrozenMarket(state)
      for (const run of this.runs) {
        run.recordChanged(state, at)
        if (run.options.strategy.onMarket === undefined) continue
        run.call(at, 'onMarket', (strategy, context) => strategy.onMarket!(view, context))
      }
    }
    const payouts = finalPayouts(record)
    if (payouts === undefined) return
    if (state.payouts === undefined) {
      state.payouts = payouts
      state.settledAt = at
      for (const run of this.runs) run.settle(state, payouts, at)
    } else if (payouts.some((payout, index) => payout !== state.payouts![index])) {
      // A change after the final payout is reported, never booked.
      state.lateChanges++
    }
  }

  private applyGap(event: ReplayGapEvent): void {
    const { gap, edge, at } = event
    if (edge === 'open') this.openGaps.push(gap)
    else {
      const id = gapId(gap)
      const index = this.openGaps.findIndex((open) => gapId(open) === id)
      if (index >= 0) this.openGaps.splice(index, 1)
    }
    const { reason, start } = gap
    this.applyReferenceGap(event)
    for (const state of this.list) {
      if (!this.concerns(gap, state)) continue
      const view: GapView = Object.freeze({ market: state.name, edge, reason, start })
      if (edge === 'open') {
        state.openGap(gap, at)
        if (isLoss(reason) && this.gapSpans.length < MAX_SPANS) {
          this.gapSpans.push({ market: state.name, reason, start: at, end: undefined })
        }
        for (const run of this.runs) run.gapOpens(state, view, at)
        this.tellGap(state, gap, view, at)
      } else if (state.closeGap(gap, at)) {
        state.prices.restart()
        const span = this.gapSpans.findLast(
          (each) => each.market === state.name && each.reason === reason && each.end === undefined,
        )
        if (span !== undefined) span.end = at
        for (const run of this.runs) run.gapCloses(state, view, at)
        this.tellGap(state, gap, view, at)
      }
    }
  }

  private tellGap(state: MarketState, gap: Gap, view: GapView, at: number): void {
    if (this.isDelayed) return this.deliver(at, { kind: 'gap', state, gap, view })
    for (const run of this.runs) {
      run.call(at, 'onGap', (strategy, context) => strategy.onGap?.(view, context))
      run.hooks.flush()
    }
  }

  private deliver(at: number, news: News): void {
    for (const run of this.runs) run.deliver(at, news)
  }

  private start(at: number): void {
    this.isStarted = true
    this.firstAt = at
    this.now = at
    this.sampleDue = at
    for (const run of this.runs) run.start(at)
  }

  // Records come before all other events of their time.
  private revise(until: number): void {
    while (this.nextRevision < this.revisions.length) {
      const { at, record } = this.revisions[this.nextRevision]!
      if (at > until) break
      this.nextRevision++
      // Records from before the first event become known with it.
      const then = Math.max(at, this.now)
      if (then > this.due) this.drain(then)
      this.now = then
      this.applyRecord({ record, at: then as Micros })
    }
    this.revisionDue = this.revisions[this.nextRevision]?.at ?? Infinity
  }

  private drain(at: number): void {
    const { dues } = this
    let due = Infinity
    for (let place = 0; place < dues.length; place++) {
      if (dues[place]! < at) {
        const run = this.runs[place]!
        run.drain(at)
        // A run that failed has no future.
        dues[place] = run.hooks.isAlive ? run.queue.next : Infinity
      }
      if (dues[place]! < due) due = dues[place]!
    }
    this.due = due
  }

  private noteQuotes(market: MarketState): void {
    for (const run of this.runs) {
      const own = run.markets[market.index]
      if (own === undefined || !own.isHolding) continue
      run.ledger.noteQuotes(own.position)
      run.checkLoss(this.now)
    }
  }

  private choosePrimary(book: InstrumentBook): void {
    const { market } = book
    const { primary } = market
    market.choosePrimary(book)
    if (market.holders === 0 || market.primary === primary) return
    for (const { markets, ledger } of this.runs) {
      const own = markets[market.index]
      if (own !== undefined) ledger.revalue(own.position)
    }
  }

  private sampleEquity(at: number): void {
    let due = Infinity
    for (const { ledger } of this.runs) {
      if (at >= ledger.curve.due || at >= ledger.days.due) ledger.sample(at)
      due = Math.min(due, ledger.curve.due, ledger.days.due)
    }
    this.sampleDue = due
  }

  private noteFirstQuote(market: MarketState, { ladder }: InstrumentBook): void {
    if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return
    if (market.refusal(this.now) !== undefined) return
    const { primary } = market
    if (primary === undefined || primary.lastBid === 0) return
    market.firstQuoteAt = this.now
    const isFirst = primary.outcome === 0
    market.firstBid = isFirst ? primary.lastBid : market.one - primary.lastAsk
    market.firstAsk = isFirst ? primary.lastAsk : market.one - primary.lastBid
  }

  private stateOf(venue: VenueId, marketId: string): MarketState {
    const name = `${venue}:${marketId}`
    const known = this.markets.get(name)
    if (known !== undefined) return known
    const state = new MarketState(this.list.length, venue, marketId, this.assume, this.counters)
    state.firstAt = this.now
    this.markets.set(name, state)
    this.list.push(state)
    // Every run gets a slot for every market, because reading beyond the end of an array is slow.
    for (const run of this.runs) run.markets.push(undefined)
    for (const gap of this.openGaps) {
      if (gap.scope !== 'instrument' && this.concerns(gap, state)) state.openGap(gap, this.now)
    }
    return state
  }

  private openBook(instrument: ReplayInstrument): InstrumentBook {
    const state = this.stateOf(instrument.venue, instrument.marketId)
    if (state.books.length === 0) for (const run of this.runs) run.marketBegins(state, this.now)
    const outcome = outcomeOf(state.record, instrument)
    const book = new InstrumentBook(state, instrument.key, outcome)
    this.books[instrument.index] = book
    this.booksByKey.set(`${instrument.venue}:${instrument.key}`, book)
    state.books.push(book)
    book.view = new FrozenBook(book, outcome, new FrozenMarket(state))
    this.choosePrimary(book)
    for (const gap of this.openGaps) {
      if (gap.scope === 'instrument' && gap.venue === state.venue && gap.key === instrument.key) {
        state.openGap(gap, this.now)
      }
    }
    return book
  }

  private concerns(gap: Gap, state: MarketState): boolean {
    if (gap.venue !== state.venue) return false
    switch (gap.scope) {
      case 'venue':
        return true
      case 'market':
        return gap.key === state.marketId
      case 'instrument':
        return this.booksByKey.get(`${gap.venue}:${gap.key}`)?.market === state
    }
  }
}

// Prices of the first outcome, whichever outcome the book shows.
function samplePrices(book: InstrumentBook, at: number): void {
  const { ladder, market, outcome } = book
  const bid = ladder.bestBid === 0 ? null : book.shown(ladder.bestBid)
  const ask = ladder.bestAsk === ladder.one ? null : book.shown(ladder.bestAsk)
  if (outcome === 0) market.prices.add(at, bid, ask)
  else {
    const other = (price: number | null): number | null =>
      price === null ? null : PRICE_ONE - price
    market.prices.add(at, other(ask), other(bid))
  }
}

// True where a row changes a level that concerns a run.
function touches(market: MarketState, { columns, row }: BookEvent): boolean {
  const { key, changeEnd } = columns
  const factor = factorOf(market, columns)
  return market.interest.touches(key, columns.changeStart(row), changeEnd[row]!, factor)
}

// True where the new book may have reached resting orders of any run, or something has come to its time.
function concerns(market: MarketState, { ladder, factor }: InstrumentBook, at: number): boolean {
  return (
    at > market.expireAt ||
    at >= market.closesAt ||
    (ladder.bestAsk !== ladder.one && ladder.bestAsk * factor <= market.restingBid) ||
    ladder.bestBid * factor >= market.restingAsk
  )
}

// The same for one run; one without orders may be done with the market.
function isReached(own: RunMarket, { ladder, factor }: InstrumentBook, at: number): boolean {
  return (
    at > own.expireAt ||
    (ladder.bestAsk !== ladder.one && ladder.bestAsk * factor <= own.bestBid) ||
    ladder.bestBid * factor >= own.bestAsk ||
    own.levels.size === 0
  )
}
