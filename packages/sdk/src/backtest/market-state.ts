import {
  POW10,
  type Gap,
  type GapReason,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../domain/index.ts'
import { Ladder } from '../tape/index.ts'
import { scheduleOf, type FeeAssumptions, type FeeSchedule } from './fees/index.ts'
import { PRICE_DECIMALS, PRICE_ONE } from './money.ts'
import type { RejectReason } from './order.ts'
import type { BookView } from './strategy.ts'
import { assumedRules, rulesOf, type RuleAssumption, type VenueRules } from './rules.ts'

/** What the caller of a run says where the data does not. */
export type Assumptions = {
  readonly fees?: FeeAssumptions
  readonly rules?: Readonly<Partial<Record<VenueId, RuleAssumption>>>
}

/** One ladder stream inside a run: the book as it was at the last row taken. */
export class Track {
  readonly market: MarketState
  readonly key: string
  /** Which outcome of the market the prices are of. */
  readonly outcome: number
  label: string | undefined
  readonly ladder: Ladder = new Ladder(2)
  started = false
  at = 0
  /** The venue's time of the last row, −1 where it gave none: a field that is always a number is not boxed. */
  source = -1
  sequence = 0
  /** Ten-thousandths in one tick of the ladder. */
  factor = 100
  /** The last best prices while both sides had some, in ten-thousandths; 0 before. */
  lastBid = 0
  lastAsk = 0
  /** What strategies see of it. */
  view: BookView | undefined
  firstSequence = 0
  firstAt = 0
  rows = 0

  constructor(market: MarketState, key: string, outcome: number) {
    this.market = market
    this.key = key
    this.outcome = outcome
  }

  /** The displayed size at a price in ten-thousandths; side 0 is the bids. */
  sizeAt(side: 0 | 1, price: number): number {
    const { factor } = this
    if (price % factor !== 0) return 0
    return this.ladder.size[(price / factor) * 2 + side]!
  }

  /** The id of the last row. */
  get rowId(): string {
    return `${this.market.venue}:${this.key}:${this.sequence}`
  }

  /** Follows the ladder's decimals. */
  rescaled(): void {
    this.factor = POW10[PRICE_DECIMALS - this.ladder.decimals]! | 0
  }
}

/** A market inside a run, shared by everything that runs over the same tape. */
export class MarketState {
  readonly index: number
  readonly name: string
  readonly venue: VenueId
  readonly marketId: string
  record: MarketRecord | undefined
  knownAt = 0
  /** The ladder that orders meet; its outcome is the frame of the market's one queue. */
  primary: Track | undefined
  readonly tracks: Track[] = []
  /** How many runs have orders or taken levels here. */
  busy = 0
  /** True once an order met the book: the frame stays. */
  isUsed = false
  /** Rows are whole books between which anything may have happened: venue A, polled B. */
  isPolled: boolean
  readonly openGaps: Gap[] = []
  gapCount = 0
  /** Since when something is missing, and for how long it was. */
  private missingSince = 0
  missingMicros = 0
  gapsSeen = 0
  payouts: readonly number[] | undefined
  settledAt = 0
  /** When A and B stop by the clock. */
  closesAt = Infinity
  disputes = 0
  lateChanges = 0
  trades = 0
  lastTradeAt = 0
  firstAt = 0
  /** The first two-sided book, for the baselines: bid and ask of the first outcome. */
  firstBid = 0
  firstAsk = 0
  firstQuoteAt = 0
  private readonly assume: Assumptions
  private rulesFor: MarketRecord | undefined
  private rulesKept: VenueRules | undefined
  private feesFor: MarketRecord | undefined
  private feesDay = -1
  private feesKept: FeeSchedule | { readonly unknown: string } | undefined

  constructor(index: number, venue: VenueId, marketId: string, assume: Assumptions) {
    this.index = index
    this.venue = venue
    this.marketId = marketId
    this.name = `${venue}:${marketId}`
    this.isPolled = venue === 'venuea'
    this.assume = assume
  }

  /** Counted by the tracks, which every row passes. */
  get observations(): number {
    let rows = 0
    for (const track of this.tracks) rows += track.rows
    return rows
  }

  /** When the last row or trade came. */
  get lastAt(): number {
    let at = this.lastTradeAt
    for (const track of this.tracks) at = Math.max(at, track.at)
    return at
  }

  get inGap(): boolean {
    return this.gapCount > 0
  }

  get outcomes(): number {
    return Math.max(2, this.record?.outcomes.length ?? 0)
  }

  /** Why the market takes no order at a time; undefined when it does. */
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
    // B and A close by the clock, without a message; C trades on until it says so.
    if (record?.closeTime !== undefined && this.venue !== 'venuec' && at >= record.closeTime) {
      return 'market_closed'
    }
    if (this.openGaps.some(({ reason }) => reason === 'market_closed')) return 'market_closed'
    if (this.openGaps.some(({ reason }) => reason === 'market_not_open')) return 'market_not_open'
    if (this.inGap) return 'in_gap'
    if (this.primary === undefined) return 'no_book'
    return undefined
  }

  /** Ticks and minimum sizes as known now. */
  rules(): VenueRules | undefined {
    const { record } = this
    if (this.rulesKept === undefined || this.rulesFor !== record) {
      const assumed = this.assume.rules?.[this.venue]
      this.rulesFor = record
      this.rulesKept =
        (record === undefined ? undefined : rulesOf(record)) ??
        (assumed === undefined ? undefined : assumedRules(this.venue, assumed))
    }
    return this.rulesKept
  }

  /** The fees as known now. */
  fees(at: number): FeeSchedule | { readonly unknown: string } {
    const day = Math.floor(at / 86_400_000_000)
    if (this.feesKept === undefined || this.feesFor !== this.record || this.feesDay !== day) {
      this.feesFor = this.record
      this.feesDay = day
      // A market without a record has what the table says for its venue.
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
    this.gapCount++
    if (isLoss(gap.reason)) {
      this.gapsSeen++
      if (this.lossCount() === 1) this.missingSince = at
    }
  }

  closeGap(gap: Gap, at: number): boolean {
    const index = this.openGaps.findIndex((open) => isSameGap(open, gap))
    if (index < 0) return false
    this.openGaps.splice(index, 1)
    this.gapCount--
    if (isLoss(gap.reason) && this.lossCount() === 0) this.missingMicros += at - this.missingSince
    return true
  }

  /** What is missing up to a time, open gaps included. */
  missingUntil(at: number): number {
    return this.missingMicros + (this.lossCount() > 0 ? Math.max(0, at - this.missingSince) : 0)
  }

  /** The value of a share of each outcome: the payout, or by the last quotes as `net` would be sold. */
  valueOf(outcome: number, net: number): number {
    if (this.payouts !== undefined) return this.payouts[outcome] ?? 0
    const { primary } = this
    if (primary === undefined) return 0
    const { lastBid, lastAsk } = primary
    const longs = primary.outcome === 0 ? net >= 0 : net < 0
    const price = longs ? lastBid : lastAsk === 0 ? PRICE_ONE : lastAsk
    const own = outcome === primary.outcome ? price : PRICE_ONE - price
    return own * 10_000
  }

  private lossCount(): number {
    let count = 0
    for (const { reason } of this.openGaps) if (isLoss(reason)) count++
    return count
  }
}

/** False where nothing was lost: the market was not open, or capture had not begun. */
export function isLoss(reason: GapReason): boolean {
  return reason !== 'market_closed' && reason !== 'market_not_open' && reason !== 'before_capture'
}

function isSameGap(left: Gap, right: Gap): boolean {
  return (
    left.start === right.start &&
    left.reason === right.reason &&
    left.scope === right.scope &&
    left.key === right.key &&
    left.venue === right.venue
  )
}

/** The event that a market belongs to: the unit of chance in statistics. */
export function eventOf({ record, name }: MarketState): string {
  const event = record?.eventTicker ?? record?.eventId ?? record?.topicId
  return event === undefined ? name : `${record!.venue}:${event}`
}

/** A time of the run as microseconds. */
export function asMicros(at: number): Micros {
  return at as Micros
}
