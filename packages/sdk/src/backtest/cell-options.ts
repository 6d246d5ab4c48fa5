import type { VenueId } from '../domain/index.ts'
import type { CellMarket } from './cell-market.ts'
import type { EngineOrder } from './engine-order.ts'
import type { LatencyOptions } from './latency.ts'
import type { MarketState } from './market-state.ts'
import type { OrderView } from './order.ts'
import type { QueueModel } from './queue.ts'
import type { Params, Strategy } from './strategy.ts'

/** What happens to resting orders when the market is not observed any more. */
export const GAP_POLICIES = ['cancel', 'freeze'] as const

/** `cancel`: they end where the gap begins; `freeze`: they stay, unfilled, and queue anew after it. */
export type GapPolicy = (typeof GAP_POLICIES)[number]

/** One run of one strategy over the tape that it shares with others. */
export type CellOptions = {
  readonly strategy: Strategy
  readonly params: Params
  readonly seed: number
  readonly queue: QueueModel
  /** True where the same run is made with all queue models: results of resting orders are a bracket. */
  readonly isBracketed: boolean
  readonly latency: LatencyOptions
  readonly gapPolicy: GapPolicy
  /** Money units by venue. */
  readonly cash: Readonly<Record<VenueId, number>>
  /** How long a print may come after its change of the book, in microseconds. */
  readonly printLag: number
  /** Fills this close to a gap are reported apart, in microseconds. */
  readonly nearGap: number
  /** How many orders, fills and stories are kept for the report. */
  readonly keep: number
  readonly explain: number
}

/** What a cell needs to know of the run that it is part of. */
export interface CellWorld {
  readonly markets: ReadonlyMap<string, MarketState>
  /** Something is planned at a time. */
  noteDue(at: number): void
}

/** Where a strategy failed. */
export type Failure = { readonly hook: string; readonly at: number; readonly message: string }

/** What a cell has planned. */
export type Plan =
  | { readonly kind: 'arrive'; readonly order: EngineOrder }
  | { readonly kind: 'cancel'; readonly order: EngineOrder }
  | { readonly kind: 'replace'; readonly old: EngineOrder; readonly order: EngineOrder }
  | { readonly kind: 'expire'; readonly order: EngineOrder }
  | { readonly kind: 'timer'; readonly tag: string }
  | { readonly kind: 'told'; readonly view: OrderView }
  | {
      readonly kind: 'markout'
      readonly market: CellMarket
      readonly isTaker: boolean
      readonly horizon: number
      readonly framePrice: number
      /** +1: gains when the frame's mid rises. */
      readonly sign: number
      readonly shares: number
    }
