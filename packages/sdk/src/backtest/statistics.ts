import { EVIDENCE_CLASSES, type RejectReason } from './order.ts'

/** Horizons of markouts in microseconds: one, ten and sixty seconds. */
export const MARKOUTS = [1_000_000, 10_000_000, 60_000_000] as const

/** How the mid moved after fills, weighted by shares; positive is good for the account. */
type Markout = { fills: number; missing: number; shares: number; gain: number }

/** Counters of a run. Floats are statistics, never money. */
export type Tally = {
  sent: number
  arrived: number
  rejected: number
  readonly reasons: Partial<Record<RejectReason, number>>
  cancelled: number
  expired: number
  /** Orders with at least one fill, and orders filled completely. */
  touched: number
  whole: number
  takerFills: number
  makerFills: number
  /** Shares of orders that arrived, and the filled ones among them. */
  wanted: number
  got: number
  /** Money units traded. */
  volume: number
  /** Shares × ten-thousandths paid beyond the best price at the time of sending. */
  slipTouch: number
  slipTouchShares: number
  /** The same beyond the mid. */
  slipMid: number
  slipMidShares: number
  bookAge: number
  bookAgeMax: number
  readonly markouts: { readonly taker: Markout[]; readonly maker: Markout[] }
  gapCancels: number
  gapRejects: number
}

/** Creates counters at zero. */
export function createTally(): Tally {
  const markouts = (): Markout[] =>
    MARKOUTS.map(() => ({ fills: 0, missing: 0, shares: 0, gain: 0 }))
  return {
    sent: 0,
    arrived: 0,
    rejected: 0,
    reasons: {},
    cancelled: 0,
    expired: 0,
    touched: 0,
    whole: 0,
    takerFills: 0,
    makerFills: 0,
    wanted: 0,
    got: 0,
    volume: 0,
    slipTouch: 0,
    slipTouchShares: 0,
    slipMid: 0,
    slipMidShares: 0,
    bookAge: 0,
    bookAgeMax: 0,
    markouts: { taker: markouts(), maker: markouts() },
    gapCancels: 0,
    gapRejects: 0,
  }
}

/** Counts a rejected order. */
export function countReject(tally: Tally, reason: RejectReason): void {
  tally.rejected++
  tally.reasons[reason] = (tally.reasons[reason] ?? 0) + 1
}

/** Adds what a taker fill paid beyond the best prices at the time its order was sent. */
export function countSlippage(
  tally: Tally,
  order: { readonly side: 'buy' | 'sell'; readonly sentBid: number; readonly sentAsk: number },
  price: number,
  shares: number,
): void {
  const { side, sentBid, sentAsk } = order
  const sign = side === 'buy' ? 1 : -1
  const touch = side === 'buy' ? sentAsk : sentBid
  if (touch !== 0) {
    tally.slipTouchShares += shares
    tally.slipTouch += sign * (price - touch) * shares
  }
  if (sentBid !== 0 && sentAsk !== 0) {
    tally.slipMidShares += shares
    tally.slipMid += sign * (price - (sentBid + sentAsk) / 2) * shares
  }
}

/** A fill whose markout at one horizon is still to come. */
export type PendingMarkout = {
  readonly isTaker: boolean
  /** Index into `MARKOUTS`. */
  readonly horizon: number
  /** Price and direction in the primary book: +1 gains when its mid rises. */
  readonly bookPrice: number
  readonly sign: number
  readonly shares: number
}

/** Adds a markout at the mid of its horizon; undefined where there is no mid. */
export function countMarkout(tally: Tally, fill: PendingMarkout, mid: number | undefined): void {
  const markout = tally.markouts[fill.isTaker ? 'taker' : 'maker'][fill.horizon]!
  if (mid === undefined) {
    markout.missing++
    return
  }
  markout.fills++
  markout.shares += fill.shares
  markout.gain += fill.sign * (mid - fill.bookPrice) * fill.shares
}

/** The sums of the fills of one evidence class, near a gap or not. */
export type FillSums = {
  fills: number
  /** Signed cash with fees, money units. */
  cash: number
  fees: number
  /** Signed units by outcome. */
  readonly units: [number, number]
}

/** A fill as the classes sum it up. */
export type ClassedFill = {
  readonly at: number
  /** Index into `EVIDENCE_CLASSES`. */
  readonly evidence: number
  readonly cash: number
  readonly fees: number
  readonly outcome: number
  readonly units: number
}

/** Ten buckets of probabilities: the weight in each, and the weighted sum of the probabilities. */
export class ChanceBuckets {
  readonly weight = new Float64Array(10)
  readonly chance = new Float64Array(10)

  add(chance: number, weight: number): void {
    const index = Math.min(9, Math.floor(chance * 10))
    this.weight[index]! += weight
    this.chance[index]! += chance * weight
  }
}

/** Forecasts of the first outcome as sums, from which the Brier score follows for any payout. */
export type Forecasts = {
  count: number
  sum: number
  squares: number
  /** The same of the mid at those times, where there was one. */
  midCount: number
  midSum: number
  midSquares: number
  /** The forecasts made beside a mid, for a fair comparison. */
  pairedSum: number
  pairedSquares: number
  readonly buckets: ChanceBuckets
}

// Recent fills are trimmed only from this length on, so that a fill costs no scan.
const RECENT_MIN = 64

/** The statistics of one run in one market. */
export class MarketStatistics {
  fills = 0
  firstFillAt = 0
  /** Sums by evidence × 2, plus 1 near a gap. */
  readonly classes: (FillSums | undefined)[] = Array.from({ length: EVIDENCE_CLASSES.length * 2 })
  /** The end of the last gap with a loss. */
  gapEnd = -Infinity
  /** Purchases of each outcome by price; a sale is a purchase of the other outcome. */
  readonly entries: readonly [ChanceBuckets, ChanceBuckets] = [
    new ChanceBuckets(),
    new ChanceBuckets(),
  ]
  forecasts: Forecasts | undefined
  private recent: ClassedFill[] = []

  /** Adds a fill to its class; `nearGap` is the distance to a gap that counts as near. */
  add(fill: ClassedFill, nearGap: number): void {
    if (this.fills++ === 0) this.firstFillAt = fill.at
    if (this.recent.length > RECENT_MIN) {
      this.recent = this.recent.filter(({ at }) => at >= fill.at - nearGap)
    }
    this.addTo(fill, fill.at - this.gapEnd < nearGap)
  }

  /** A gap opens: fills since a time were near it after all. */
  moveNear(since: number): void {
    for (const fill of this.recent) {
      if (fill.at < since) continue
      const sums = this.classes[fill.evidence * 2]!
      sums.fills--
      sums.cash -= fill.cash
      sums.fees -= fill.fees
      sums.units[fill.outcome as 0 | 1] -= fill.units
      this.addTo(fill, true)
    }
    this.recent = []
  }

  /** Adds a forecast of the first outcome, and the mid at that time. */
  forecast(chance: number, mid: number | undefined): void {
    const sums = (this.forecasts ??= {
      count: 0,
      sum: 0,
      squares: 0,
      midCount: 0,
      midSum: 0,
      midSquares: 0,
      pairedSum: 0,
      pairedSquares: 0,
      buckets: new ChanceBuckets(),
    })
    sums.count++
    sums.sum += chance
    sums.squares += chance * chance
    sums.buckets.add(chance, 1)
    if (mid === undefined) return
    sums.midCount++
    sums.midSum += mid
    sums.midSquares += mid * mid
    sums.pairedSum += chance
    sums.pairedSquares += chance * chance
  }

  private addTo(fill: ClassedFill, isNear: boolean): void {
    const index = fill.evidence * 2 + (isNear ? 1 : 0)
    const sums = (this.classes[index] ??= { fills: 0, cash: 0, fees: 0, units: [0, 0] })
    sums.fills++
    sums.cash += fill.cash
    sums.fees += fill.fees
    sums.units[fill.outcome as 0 | 1] += fill.units
    if (!isNear) this.recent.push(fill)
  }
}
