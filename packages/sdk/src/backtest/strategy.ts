import type { GapReason, Json, MarketStatus, VenueId } from '../domain/index.ts'
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
  /** True while the market is not observed. */
  readonly inGap: boolean
  /** A copy of what the venue said, in its own names. */
  readonly native: Json
}

/**
 * The book of one outcome. The object stays the same and shows the newest book whenever it is read;
 * what it gives are copies. A side without levels is null, never a made-up price.
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
  bids(depth?: number): readonly LevelView[]
  asks(depth?: number): readonly LevelView[]
}

/** An execution print. */
export type TradeView = {
  readonly market: string
  readonly outcome: number
  readonly price: number
  readonly size: number
  /** What the taker did with the outcome; undefined where the venue does not say. */
  readonly taker: 'buy' | 'sell' | undefined
  readonly time: number
  readonly id: string
}

/** A gap begins or ends; while it is open its end is not known to anybody. */
export type GapView = {
  readonly market: string
  readonly edge: 'open' | 'close'
  readonly reason: GapReason
  readonly start: number
}

/** A value of a metric of venue A. */
export type SampleView = {
  readonly market: string
  readonly outcome: string | undefined
  readonly metric: string
  readonly value: string
  readonly time: number
}

/** A market paid out. */
export type SettlementView = {
  readonly market: string
  /** What one share of each outcome pays, as decimal text. */
  readonly payouts: readonly string[]
  /** What the account got. */
  readonly paid: string
  readonly time: number
}

/** What is held of a market. */
export type PositionView = {
  readonly market: string
  /** Shares by outcome. */
  readonly shares: readonly number[]
  /** What the held shares cost with fees, in the venue's collateral. */
  readonly cost: number
}

/** A named number of a run, such as those a sweep varies. */
export type Params = Readonly<Record<string, number | string | boolean>>

/** What a strategy may do and look at. There is no clock but `now` and no chance but `random`. */
export interface StrategyContext {
  /** The time of the run, in microseconds. */
  readonly now: number
  readonly params: Params
  /** Sends an order and gives its id; refusals come to `onOrder`. */
  readonly order: (request: OrderRequest) => number
  readonly buy: (request: Omit<OrderRequest, 'side'>) => number
  readonly sell: (request: Omit<OrderRequest, 'side'>) => number
  readonly cancel: (id: number) => void
  readonly cancelAll: (market?: string) => void
  /** Cancels an order and sends another in its place with the rest of its size; it queues anew. */
  readonly replace: (id: number, change: Pick<OrderRequest, 'price' | 'size'>) => number
  /** Turns pairs of shares into money (all of them without a size) or money into pairs; venues A and C. */
  readonly merge: (market: string, size?: number | string) => boolean
  readonly split: (market: string, size: number | string) => boolean
  /** Calls `onTimer` at a time, or so many microseconds from now. */
  readonly timerAt: (at: number, tag?: string) => void
  readonly timerIn: (micros: number, tag?: string) => void
  /** Says what the strategy thinks the chance of an outcome is, for calibration and Brier score. */
  readonly forecast: (market: string, chance: number, outcome?: number | string) => void
  readonly book: (market: string, outcome?: number | string) => BookView | undefined
  readonly market: (id: string) => MarketView | undefined
  readonly markets: () => readonly MarketView[]
  readonly position: (market: string) => PositionView
  /** Free cash at a venue: what is set aside for open orders is not free. */
  readonly cash: (venue: VenueId) => number
  readonly orders: (market?: string) => readonly OrderView[]
  /** A number in [0, 1) of the run's seed. */
  readonly random: () => number
  /** A line for the report; the first 1,000 are kept. */
  readonly log: (text: string) => void
}

/** A strategy: a plain object with the hooks it needs. Each gets what happened and the context. */
export interface Strategy {
  readonly name?: string
  onStart?(context: StrategyContext): void
  onBook?(book: BookView, context: StrategyContext): void
  onTrade?(trade: TradeView, context: StrategyContext): void
  onGap?(gap: GapView, context: StrategyContext): void
  onFill?(fill: FillView, context: StrategyContext): void
  onOrder?(order: OrderView, context: StrategyContext): void
  onMarket?(market: MarketView, context: StrategyContext): void
  onSample?(sample: SampleView, context: StrategyContext): void
  onSettle?(settlement: SettlementView, context: StrategyContext): void
  onTimer?(timer: { readonly at: number; readonly tag: string }, context: StrategyContext): void
  onEnd?(context: StrategyContext): void
}

/** Makes a strategy for one run, so that runs with other parameters do not share its memory. */
export type StrategyFactory = (params: Params) => Strategy

/** Gives a strategy its types; nothing else. */
export function defineStrategy(strategy: Strategy | StrategyFactory): Strategy | StrategyFactory {
  return strategy
}
