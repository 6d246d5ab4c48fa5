import {
  DAY_MICROS,
  DOUBLE_ZERO,
  FLAGS,
  gapId,
  POW10,
  VENUES,
  type Gap,
  type GapReason,
  type MarketRecord,
  type VenueId,
} from '../domain/index.ts'
import type { BookEvent } from '../replay/index.ts'
import { ABSENT, Ladder } from '../tape/index.ts'
import type { FeeAssumptions, FeeSchedule } from './fees.ts'
import { LevelInterest, type SpareCounters } from './level-interest.ts'
import { LevelMasks } from './level-masks.ts'
import { moneyPerTick, PRICE_DECIMALS, priceOne } from './money.ts'
import type { RejectReason } from './order.ts'
import { PriceCurve } from './price-curve.ts'
import { ProvenTicks } from './proven-ticks.ts'
import type { RowRef } from './row-ref.ts'
import type { BookView } from './strategy.ts'
import {
  assumedRules,
  provenRules,
  rulesOf,
  scheduleOf,
  type OrderRules,
  type RuleAssumption,
} from './venues/index.ts'

/** What the caller of a run assumes where the recorded data does not say. */
export type Assumptions = {
  readonly fees?: FeeAssumptions
  readonly rules?: Readonly<Partial<Record<VenueId, RuleAssumption>>>
}

/**
 * The book of one instrument as of the last applied row. It is a copy of its own: orders that arrive
 * between two rows must meet the first one, and the replay's ladder already shows the second.
 */
export class InstrumentBook {
  readonly market: MarketState
  readonly key: string
  /** How ids of its rows begin, and those of its trades. */
  readonly series: string
  readonly tradeSeries: string
  /** The outcome of the market whose prices the book shows. */
  readonly outcome: number
  readonly ladder: Ladder = new Ladder(2)
  isStarted = false
  at = DOUBLE_ZERO
  /** The venue's time of the last row; `ABSENT` where it gave none. */
  source = ABSENT as number
  sequence = 0
  /** Ticks of the venue per tick of the ladder. */
  factor = 1
  /** The last best prices while both sides had some, in ticks of the venue; 0 before. */
  lastBid = 0
  lastAsk = 0
  /** The best prices and sizes as `quoteMoved` has last seen them. */
  private quoteBid = -1
  private quoteAsk = -1
  private quoteBidSize = 0
  private quoteAskSize = 0
  /** The view that strategies get. */
  view: BookView | undefined
  firstSequence = 0
  firstAt = DOUBLE_ZERO
  rows = 0
  /** Ten-thousandths per tick of the ladder, or ticks of the ladder per ten-thousandth. */
  private multiple = 1
  private divisor = 1

  constructor(market: MarketState, key: string, outcome: number) {
    this.market = market
    this.key = key
    this.series = `${market.venue}:${key}`
    this.tradeSeries = `${this.series}/trade`
    this.outcome = outcome
    this.setFactors()
  }

  /** A price of the ladder in ten-thousandths, as strategies see it. */
  shown(ticks: number): number {
    return this.divisor === 1 ? ticks * this.multiple : ticks / this.divisor
  }

  /** The displayed size at a price in ticks of the venue; side 0 is the bids. */
  sizeAt(side: 0 | 1, price: number): number {
    const { factor } = this
    if (price % factor !== 0) return 0
    return this.ladder.sizeAt((price / factor) * 2 + side)
  }

  /** True where a best price or its size differs from the last call. */
  quoteMoved(): boolean {
    const { ladder } = this
    const { bestBid, bestAsk } = ladder
    const bidSize = bestBid === 0 ? 0 : ladder.sizeAt(bestBid * 2)
    const askSize = bestAsk === ladder.one ? 0 : ladder.sizeAt(bestAsk * 2 + 1)
    if (
      bestBid === this.quoteBid &&
      bestAsk === this.quoteAsk &&
      bidSize === this.quoteBidSize &&
      askSize === this.quoteAskSize
    ) {
      return false
    }
    this.quoteBid = bestBid
    this.quoteAsk = bestAsk
    this.quoteBidSize = bidSize
    this.quoteAskSize = askSize
    return true
  }

  /** The last row. */
  get row(): RowRef {
    return { series: this.series, sequence: this.sequence }
  }

  /** The price half-way between the best ones, in ticks of the venue; undefined without both sides. */
  get mid(): number | undefined {
    const { ladder, factor } = this
    if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return undefined
    return ((ladder.bestBid + ladder.bestAsk) * factor) / 2
  }

  /** Applies the row of an event; `restarts` replaces the whole book. */
  apply(event: BookEvent, restarts: boolean): void {
    if (restarts) this.copy(event.ladder)
    else this.applyChanges(event)
    if (this.rows === 0) {
      this.firstSequence = event.sequence
      this.firstAt = event.at
    }
    this.at = event.at
    // As the columns have it, because numeric fields are not boxed.
    this.source = event.columns.source[event.row]!
    this.sequence = event.sequence
    this.rows++
    const { ladder } = this
    if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return
    this.lastBid = ladder.bestBid * this.factor
    this.lastAsk = ladder.bestAsk * this.factor
  }

  private copy(source: Ladder): void {
    const { ladder } = this
    ladder.clear()
    this.rescale(source.decimals)
    for (const key of source.keys()) ladder.apply(key, source.sizeAt(key))
    this.isStarted = true
  }

  private applyChanges({ columns, row }: BookEvent): void {
    const { ladder } = this
    if (columns.priceDecimals > ladder.decimals) this.rescale(columns.priceDecimals)
    const { key, size, changeEnd } = columns
    const end = changeEnd[row]!
    let index = row === 0 ? 0 : changeEnd[row - 1]!
    if (columns.priceDecimals === ladder.decimals) {
      for (; index < end; index++) ladder.apply(key[index]!, size[index]!)
      return
    }
    const factor = 10 ** (ladder.decimals - columns.priceDecimals)
    for (; index < end; index++) {
      const level = key[index]!
      ladder.apply((level >>> 1) * factor * 2 + (level & 1), size[index]!)
    }
  }

  private rescale(decimals: number): void {
    this.ladder.rescale(decimals)
    this.setFactors()
  }

  private setFactors(): void {
    const { decimals } = this.ladder
    // Small integers: they are multiplied with every row.
    this.factor = POW10[VENUES[this.market.venue].priceDecimals - decimals]! | 0
    this.multiple = POW10[Math.max(0, PRICE_DECIMALS - decimals)]! | 0
    this.divisor = POW10[Math.max(0, decimals - PRICE_DECIMALS)]! | 0
  }
}

/** A market of a run, shared by all strategies that run over the same events. */
export class MarketState {
  readonly index: number
  /** The price 1.0 in ticks of the venue, and the decimals of one. */
  readonly one: number
  readonly priceDecimals: number
  readonly name: string
  readonly venue: VenueId
  readonly marketId: string
  record: MarketRecord | undefined
  /** The record that the run assumes from its start. */
  assumed: MarketRecord | undefined
  /**
   * The book that orders meet. All orders of the market wait in one queue, priced in the outcome of
   * this book: an order for the other outcome is turned around.
   */
  primary: InstrumentBook | undefined
  readonly books: InstrumentBook[] = []
  /** How many runs have resting orders or consumed levels here. */
  busy = 0
  /** How many runs hold a position here. */
  holders = 0
  /** How many busy runs have something to finish after the next row, whatever it does to their orders. */
  restless = 0
  /** The levels that concern runs: how many runs each, and for each run which. */
  readonly interest: LevelInterest
  readonly masks: LevelMasks = new LevelMasks()
  /** The highest bid and the lowest ask that may rest in any run, and the first expiry of any. */
  restingBid = 0
  restingAsk = Infinity
  expireAt = Infinity
  /** True once an order has met the primary book, which is fixed from then on. */
  isUsed = false
  /** True while rows are whole books between which any number of changes may have happened. */
  isPolled: boolean
  readonly openGaps: Gap[] = []
  /** Best prices of the first outcome, for reports. */
  readonly prices: PriceCurve = new PriceCurve()
  gapsSeen = 0
  payouts: readonly number[] | undefined
  settledAt = DOUBLE_ZERO
  /** When the venue stops matching by the clock; Infinity where it does not. */
  closesAt = Infinity
  disputes = 0
  lateChanges = 0
  trades = 0
  lastTradeAt = DOUBLE_ZERO
  firstAt = DOUBLE_ZERO
  /** The first book with both sides, for the baselines: prices of the first outcome. */
  firstBid = 0
  firstAsk = 0
  firstQuoteAt = DOUBLE_ZERO
  readonly assume: Assumptions
  /** True where the recorder either polls whole books or follows changes, and may switch. */
  private readonly maySwitch: boolean
  /** Whether changes came since the book restarted, and how many whole books since the last one. */
  private isStreamed = false
  private wholeBooks = 0
  private missingSince = DOUBLE_ZERO
  private missingMicros = DOUBLE_ZERO
  private rulesFor: MarketRecord | undefined
  private rulesKept: OrderRules | undefined
  private provenTicks: ProvenTicks | undefined
  private feesFor: MarketRecord | undefined
  private feesDay = -1
  private feesKept: FeeSchedule | { readonly unknown: string } | undefined

  constructor(
    index: number,
    venue: VenueId,
    marketId: string,
    assume: Assumptions,
    spare?: SpareCounters,
  ) {
    this.index = index
    this.venue = venue
    this.marketId = marketId
    this.name = `${venue}:${marketId}`
    this.one = priceOne(venue)
    this.priceDecimals = VENUES[venue].priceDecimals
    this.interest = new LevelInterest(this.one, spare)
    this.assume = assume
    const { order, fullBooksVerify } = VENUES[venue].bookRules
    this.isPolled = order === 'none'
    this.maySwitch = !this.isPolled && !fullBooksVerify
  }

  /** The number of rows of all books. */
  get observations(): number {
    let rows = 0
    for (const book of this.books) rows += book.rows
    return rows
  }

  /** When the last row or trade came. */
  get lastAt(): number {
    let at = this.lastTradeAt
    for (const book of this.books) at = Math.max(at, book.at)
    return at
  }

  get inGap(): boolean {
    return this.openGaps.length > 0
  }

  /** The book of the first outcome is the primary one, unless orders have met another one before. */
  choosePrimary(book: InstrumentBook): void {
    const { primary } = this
    if (primary === undefined || (!this.isUsed && book.outcome < primary.outcome)) {
      this.primary = book
    }
  }

  /** Replaces the record. */
  setRecord(record: MarketRecord): void {
    const { closeTime } = record
    this.record = record
    const stops = closeTime !== undefined && VENUES[this.venue].trading.stopsAtClose
    this.closesAt = stops ? closeTime : Infinity
  }

  /**
   * Follows whether the recorder polls: whole books without a change between them mean that it does. One
   * whole book among changes does not; venues send such a book when a market closes, for example.
   */
  notePolling(flags: number, restarts: boolean): void {
    if (!this.maySwitch) return
    if ((flags & FLAGS.full_book) === 0) {
      this.isPolled = false
      this.isStreamed = true
      this.wholeBooks = 0
    } else if (restarts) {
      this.isStreamed = false
      this.wholeBooks = 0
    } else if (++this.wholeBooks > 1 || !this.isStreamed) this.isPolled = true
  }

  /** Why the market accepts no order at a time; undefined where it does. */
  refusal(at: number): RejectReason | undefined {
    const { record } = this
    switch (record?.status) {
      case 'scheduled':
        if (record.openTime === undefined || at < record.openTime) return 'market_not_open'
        break
      case 'paused':
        return 'market_paused'
      case 'closed':
      case 'determined':
      case 'disputed':
      case 'resolved':
      case 'voided':
        return 'market_closed'
      case 'open':
      case undefined:
        break
    }
    if (at >= this.closesAt) return 'market_closed'
    if (this.inGap) return this.refusalInGap()
    if (this.primary === undefined) return 'no_book'
    return undefined
  }

  private refusalInGap(): RejectReason {
    if (this.openGaps.some(({ reason }) => reason === 'market_closed')) return 'market_closed'
    if (this.openGaps.some(({ reason }) => reason === 'market_not_open')) return 'market_not_open'
    return 'in_gap'
  }

  /** Ticks and minimum sizes as known now. */
  rules(): OrderRules | undefined {
    const { record } = this
    if (this.rulesKept === undefined || this.rulesFor !== record) {
      const assumed = this.assume.rules?.[this.venue]
      this.rulesFor = record
      this.rulesKept =
        (record === undefined ? undefined : rulesOf(record)) ??
        (assumed === undefined ? undefined : assumedRules(this.venue, assumed))
    }
    return this.rulesKept ?? (record === undefined ? undefined : this.provenRules())
  }

  // Prices displayed after an order arrived prove nothing for it.
  private provenRules(): OrderRules | undefined {
    this.provenTicks ??= new ProvenTicks(this.venue)
    for (const book of this.books) this.provenTicks.note(book)
    const ranges = this.provenTicks.ranges()
    return ranges.length === 0 ? undefined : provenRules(this.venue, ranges)
  }

  /** The fees as known now; a change of the dated table takes effect at midnight. */
  fees(at: number): FeeSchedule | { readonly unknown: string } {
    const day = Math.floor(at / DAY_MICROS)
    if (this.feesKept === undefined || this.feesFor !== this.record || this.feesDay !== day) {
      this.feesFor = this.record
      this.feesDay = day
      // Without a record the venue's table applies.
      const record = this.record ?? {
        venue: this.venue,
        marketId: this.marketId,
        outcomes: [],
        units: { priceUnit: '', sizeUnit: '', volumeUnit: '', collateral: '' },
        native: {},
      }
      this.feesKept = scheduleOf(record, at, this.assume.fees)
    }
    return this.feesKept
  }

  openGap(gap: Gap, at: number): void {
    this.openGaps.push(gap)
    if (isLoss(gap.reason)) {
      this.gapsSeen++
      if (this.openLosses() === 1) this.missingSince = at
    }
  }

  /** Closes a gap; false where it was not open here. */
  closeGap(gap: Gap, at: number): boolean {
    const id = gapId(gap)
    const index = this.openGaps.findIndex((open) => gapId(open) === id)
    if (index < 0) return false
    this.openGaps.splice(index, 1)
    if (isLoss(gap.reason) && this.openLosses() === 0) this.missingMicros += at - this.missingSince
    return true
  }

  /** Time lost in gaps up to a time, open gaps included. */
  missingUntil(at: number): number {
    return this.missingMicros + (this.openLosses() > 0 ? Math.max(0, at - this.missingSince) : 0)
  }

  /**
   * Money units per share of an outcome: its payout, or what the last quotes would pay for it when the
   * net position (first outcome less second) is sold.
   */
  valueOf(outcome: number, net: number): number {
    if (this.payouts !== undefined) return this.payouts[outcome] ?? 0
    const { primary } = this
    if (primary === undefined) return 0
    const { lastBid, lastAsk } = primary
    const isLong = primary.outcome === 0 ? net >= 0 : net < 0
    const price = isLong ? lastBid : lastAsk === 0 ? this.one : lastAsk
    const own = outcome === primary.outcome ? price : this.one - price
    return own * moneyPerTick(this.venue)
  }

  private openLosses(): number {
    let count = 0
    for (const { reason } of this.openGaps) if (isLoss(reason)) count++
    return count
  }
}

/** False for gaps in which nothing was lost: the market was not open, or capture had not begun. */
export function isLoss(reason: GapReason): boolean {
  return reason !== 'market_closed' && reason !== 'market_not_open' && reason !== 'before_capture'
}
