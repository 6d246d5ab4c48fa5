import type { GapReason, Json, MarketStatus, VenueId } from '../domain/index.ts'
import type { DataRow } from './feeds/data-feed.ts'
import type { FillView, OrderRequest, OrderView } from './order.ts'

/** One level of a view: price in ten-thousandths, size in contracts or shares. */
export type LevelView = { readonly price: number; readonly size: number }

/** A market as known now. */
export interface MarketView {
  /** `venue:market id`. */
  readonly id: string
  readonly venue: VenueId
  readonly marketId: string
  readonly title: string | undefined
  readonly status: MarketStatus | undefined
  readonly outcomes: readonly string[]
  readonly openTime: number | undefined
  readonly closeTime: number | undefined
  readonly asset: string | undefined
  readonly window: string | undefined
  readonly series: string | undefined
  readonly event: string | undefined
  /** True while the market is not recorded. */
  readonly inGap: boolean
  /** A copy of the venue's own record. */
  readonly native: Json
}

/**
 * The book of one outcome. The object stays the same and always shows the newest book; it returns
 * copies. The best price of an empty side is null.
 */
export interface BookView {
  readonly market: MarketView
  readonly outcome: number
  readonly bestBid: number | null
  readonly bestAsk: number | null
  readonly bidSize: number
  readonly askSize: number
  /** Half-way between the best prices, in ten-thousandths (may end in .5). */
  readonly mid: number | null
  readonly spread: number | null
  readonly bidLevels: number
  readonly askLevels: number
  readonly time: number
  readonly sourceTime: number | undefined
  readonly sequence: number
  /** Half-way weighted by the sizes of the other side; null without both sides. */
  readonly microprice: number | null
  bids(depth?: number): readonly LevelView[]
  asks(depth?: number): readonly LevelView[]
  /** (bids − asks) / (bids + asks) by the sizes of the best levels, one by default; null for an empty book. */
  imbalance(depth?: number): number | null
  /** The mean price of buying or selling a size at once; null where the book has less. */
  vwap(side: 'buy' | 'sell', size: number): number | null
}

/** An execution print. */
export type TradeView = {
  readonly market: string
  readonly outcome: number
  readonly price: number
  readonly size: number
  /** The taker's side; undefined where the venue does not report it. */
  readonly taker: 'buy' | 'sell' | undefined
  readonly time: number
  readonly id: string
}

/** A gap begins or ends. */
export type GapView = {
  readonly market: string
  readonly edge: 'open' | 'close'
  readonly reason: GapReason
  readonly start: number
}

/** A sample of a metric. */
export type SampleView = {
  readonly market: string
  readonly outcome: string | undefined
  readonly metric: string
  readonly value: string
  readonly time: number
}

/** A reference price of an asset: what crypto rounds settle on. */
export type ReferenceView = {
  readonly asset: string
  readonly feed: string
  /** The nearest double. */
  readonly price: number
  /** The price as decimal text, with every digit that the venue sent. */
  readonly exact: string
  /** When it was received, in microseconds. */
  readonly time: number
  readonly sourceTime: number | undefined
  readonly id: string
}

/** The recording of a reference price breaks off, or goes on. */
export type ReferenceGapView = {
  readonly asset: string
  readonly feed: string
  readonly edge: 'open' | 'close'
  readonly reason: GapReason
  readonly start: number
}

/** A market paid out. */
export type SettlementView = {
  readonly market: string
  /** What one share of each outcome pays, as decimal text. */
  readonly payouts: readonly string[]
  /** The amount paid to the account. */
  readonly paid: string
  readonly time: number
}

/** The position in a market. */
export type PositionView = {
  readonly market: string
  /** Shares by outcome. */
  readonly shares: readonly number[]
  /** The cost of the shares with fees, in the venue's collateral. */
  readonly cost: number
}

/** The position in a market with its open orders, those on their way included. */
export type ExposureView = {
  readonly market: string
  /** Shares by outcome: held, and what open orders would buy, less what they would sell. */
  readonly shares: readonly number[]
  readonly buying: readonly number[]
  readonly selling: readonly number[]
}

/** Prices from `from` up to `to` move in steps, in ten-thousandths. */
export type TickView = { readonly from: number; readonly to: number; readonly step: number }

/** A fill whose fee is asked for. */
export type FeeQuestion = Pick<OrderRequest, 'market' | 'outcome' | 'side'> & {
  readonly price: number | string
  readonly size: number | string
  /** Default: taker. */
  readonly liquidity?: 'taker' | 'maker'
}

/** The parameters of a run, which a sweep varies. */
export type Params = Readonly<Record<string, number | string | boolean>>

/** What a strategy can see and do. Use only `now` as a clock and `random` for chance. */
export interface StrategyContext {
  /** The time of the run, in microseconds. */
  readonly now: number
  readonly params: Params
  /** Sends an order and returns its id; rejections come to `onOrder`. */
  readonly order: (request: OrderRequest) => number
  readonly buy: (request: Omit<OrderRequest, 'side'>) => number
  readonly sell: (request: Omit<OrderRequest, 'side'>) => number
  readonly cancel: (id: number) => void
  readonly cancelAll: (market?: string) => void
  /** Replaces an order by a new one with its remaining size, at the end of the queue. */
  readonly replace: (id: number, change: Pick<OrderRequest, 'price' | 'size'>) => number
  /**
   * Turns pairs of shares into cash (all pairs without a size) or cash into pairs. Returns false where it
   * cannot; venues that net outcomes have no pairs.
   */
  readonly merge: (market: string, size?: number | string) => boolean
  readonly split: (market: string, size: number | string) => boolean
  /** Calls `onTimer` at a time, or after a number of microseconds. */
  readonly timerAt: (at: number, tag?: string) => void
  readonly timerIn: (micros: number, tag?: string) => void
  /** States the probability of an outcome, for calibration and Brier score. */
  readonly forecast: (market: string, chance: number, outcome?: number | string) => void
  readonly book: (market: string, outcome?: number | string) => BookView | undefined
  readonly market: (id: string) => MarketView | undefined
  readonly markets: () => readonly MarketView[]
  readonly position: (market: string) => PositionView
  /**
   * The position with open orders: what it becomes if all of them are filled. A strategy that acts on
   * `position` alone orders again while its first order is on the way.
   */
  readonly exposure: (market: string) => ExposureView
  /** The fee of one fill, in the venue's collateral; undefined where it is not known or not valid. */
  readonly fee: (fill: FeeQuestion) => number | undefined
  /** The prices that the market accepts, as known now; empty where they are not known. */
  readonly ticks: (market: string) => readonly TickView[]
  /** Until the close time as known now; negative after it, undefined where it is not known. */
  readonly secondsToClose: (market: string) => number | undefined
  /**
   * The last reference price of an asset that was received by now, of a feed or of the first one that has a
   * price. Undefined before the first one and in a gap of the feed.
   */
  readonly reference: (asset: string, feed?: string) => ReferenceView | undefined
  /** Free cash at a venue, without what is reserved for open orders. */
  readonly cash: (venue: VenueId) => number
  readonly orders: (market?: string) => readonly OrderView[]
  /** A random number in [0, 1) from the run's seed. */
  readonly random: () => number
  /** Adds a line to the report, up to 1,000. */
  readonly log: (text: string) => void
}

/** A strategy: an object with the hooks it needs. Each gets the event and the context. */
export interface Strategy {
  readonly name?: string
  onStart?(context: StrategyContext): void
  onBook?(book: BookView, context: StrategyContext): void
  /** Like `onBook`, but only when a best price or its size has changed. */
  onQuote?(book: BookView, context: StrategyContext): void
  onTrade?(trade: TradeView, context: StrategyContext): void
  onGap?(gap: GapView, context: StrategyContext): void
  onFill?(fill: FillView, context: StrategyContext): void
  onOrder?(order: OrderView, context: StrategyContext): void
  onMarket?(market: MarketView, context: StrategyContext): void
  /** A market of the run begins: its first row is about to be applied. */
  onMarketBegin?(market: MarketView, context: StrategyContext): void
  /** A market of the run no longer trades; its payout comes later, to `onSettle`. */
  onMarketEnd?(market: MarketView, context: StrategyContext): void
  onSample?(sample: SampleView, context: StrategyContext): void
  onReference?(price: ReferenceView, context: StrategyContext): void
  /** A gap of a reference price begins or ends; its price is not known from its begin to the next one. */
  onReferenceGap?(gap: ReferenceGapView, context: StrategyContext): void
  /** A row of a series of one's own was received. */
  onData?(feed: string, row: DataRow, context: StrategyContext): void
  onSettle?(settlement: SettlementView, context: StrategyContext): void
  onTimer?(timer: { readonly at: number; readonly tag: string }, context: StrategyContext): void
  onEnd?(context: StrategyContext): void
}

/** Creates a strategy for one run, so that runs do not share state. */
export type StrategyFactory = (params: Params) => Strategy

/** Returns its argument; it only adds the types. */
export function defineStrategy(strategy: Strategy | StrategyFactory): Strategy | StrategyFactory {
  return strategy
}
