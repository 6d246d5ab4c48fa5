import type { Account, Holding } from './account.ts'
import type { EngineOrder } from './engine-order.ts'
import { EVIDENCE_CLASSES } from './fill.ts'
import type { MarketState } from './market-state.ts'
import type { RestingLevel } from './queue.ts'

/** Fills of one class of evidence, near a gap or not: what they brought, by the units they left. */
export type Bucket = {
  fills: number
  /** Signed cash with fees, money units. */
  cash: number
  fees: number
  /** Signed units by outcome. */
  readonly units: [number, number]
}

/** A fill that may turn out to lie right before a gap. */
export type RecentFill = {
  readonly at: number
  readonly evidence: number
  readonly cash: number
  readonly fees: number
  readonly outcome: number
  readonly units: number
}

/** Ten buckets of chance with how much was said or bought in each, and the sum of the chances. */
export type ChanceBuckets = { readonly weight: Float64Array; readonly chance: Float64Array }

/** What a strategy said about a market, summed so that its length does not matter. */
export type Forecasts = {
  count: number
  sum: number
  squares: number
  /** The same of the mid at those times, where there was one. */
  midCount: number
  midSum: number
  midSquares: number
  /** The forecasts that had a mid beside them, for a fair comparison. */
  pairedSum: number
  pairedSquares: number
  readonly buckets: ChanceBuckets
}

/** What one run has in one market. */
export class CellMarket {
  readonly state: MarketState
  readonly account: Account
  readonly holding: Holding = { units: [0, 0], cost: [0, 0], reserved: [0, 0] }
  /** Resting orders by level key (price × 2 + side) of the market's frame. */
  readonly levels = new Map<number, RestingLevel<EngineOrder>>()
  /** Units that this run took from recorded levels, by level key. */
  readonly taken = new Map<number, number>()
  /** The highest bid and the lowest ask of resting orders. */
  bestBid = 0
  bestAsk = Infinity
  /** An order was filled and may have to leave its level. */
  isDirty = false
  /** When the oldest shrink that waits for its print is given up. */
  expireAt = Infinity
  /** Counted in `state.busy`. */
  isBusy = false
  /** Evidence × 2 + near a gap. */
  readonly buckets: (Bucket | undefined)[] = Array.from({ length: EVIDENCE_CLASSES.length * 2 })
  recent: RecentFill[] = []
  /** The end of the last gap with a loss. */
  gapEnd = -Infinity
  fills = 0
  /** What buyers of outcome 0 and of outcome 1 paid, by chance. */
  readonly entries: [ChanceBuckets, ChanceBuckets] = [chanceBuckets(), chanceBuckets()]
  forecasts: Forecasts | undefined
  paid = 0
  firstFillAt = 0
  /** The cost that is counted as bound. */
  boundCost = 0

  constructor(state: MarketState, account: Account) {
    this.state = state
    this.account = account
  }

  /** Orders that rest here, in the order of their arrival. */
  resting(): EngineOrder[] {
    return [...this.levels.values()]
      .flatMap(({ orders }) => orders)
      .sort((left, right) => left.enteredAt - right.enteredAt || left.id - right.id)
  }

  /** Keeps the count of busy runs right. */
  noteBusy(): void {
    const isBusy = this.levels.size > 0 || this.taken.size > 0
    if (isBusy === this.isBusy) return
    this.isBusy = isBusy
    this.state.busy += isBusy ? 1 : -1
  }

  /** Finds the outermost resting prices anew. */
  noteBest(): void {
    this.bestBid = 0
    this.bestAsk = Infinity
    for (const { side, price } of this.levels.values()) {
      if (side === 0) this.bestBid = Math.max(this.bestBid, price)
      else this.bestAsk = Math.min(this.bestAsk, price)
    }
  }

  /** Adds a fill to its class. */
  count(fill: RecentFill, isNear: boolean): void {
    const index = fill.evidence * 2 + (isNear ? 1 : 0)
    const bucket = (this.buckets[index] ??= { fills: 0, cash: 0, fees: 0, units: [0, 0] })
    bucket.fills++
    bucket.cash += fill.cash
    bucket.fees += fill.fees
    bucket.units[fill.outcome as 0 | 1] += fill.units
    if (!isNear) this.recent.push(fill)
  }

  /** A gap opens: fills since a time were right before it. */
  moveNear(since: number): void {
    for (const fill of this.recent) {
      if (fill.at < since) continue
      const bucket = this.buckets[fill.evidence * 2]!
      bucket.fills--
      bucket.cash -= fill.cash
      bucket.fees -= fill.fees
      bucket.units[fill.outcome as 0 | 1] -= fill.units
      this.count(fill, true)
    }
    this.recent = []
  }

  /** Forgets fills that are too old to be near a gap that opens now. */
  trimRecent(before: number): void {
    if (this.recent.length > 64) this.recent = this.recent.filter(({ at }) => at >= before)
  }
}

/** Ten empty buckets. */
export function chanceBuckets(): ChanceBuckets {
  return { weight: new Float64Array(10), chance: new Float64Array(10) }
}

/** Adds a chance to its bucket. */
export function addChance(buckets: ChanceBuckets, chance: number, weight: number): void {
  const index = Math.min(9, Math.floor(chance * 10))
  buckets.weight[index]! += weight
  buckets.chance[index]! += chance * weight
}
