import type { VenueId } from '../domain/index.ts'
import type { LatencyOptions } from './latency.ts'
import type { QueueModel } from './queue.ts'
import type { Params, Strategy } from './strategy.ts'

/** What happens to resting orders when the recording of their market breaks off. */
export const GAP_POLICIES = ['cancel', 'freeze'] as const

/** `cancel`: they end where the gap begins; `freeze`: they stay unfilled and rejoin the queue after it. */
export type GapPolicy = (typeof GAP_POLICIES)[number]

/** The settings of one strategy run. */
export type StrategyRunOptions = {
  readonly strategy: Strategy
  readonly params: Params
  readonly seed: number
  readonly queue: QueueModel
  /** True where the strategy runs with all queue models, so that resting orders have a bracket. */
  readonly isBracketed: boolean
  readonly latency: LatencyOptions
  readonly gapPolicy: GapPolicy
  /** Money units by venue. */
  readonly cash: Readonly<Record<VenueId, number>>
  /** Max delay of a trade print after the book change it belongs to, in microseconds. */
  readonly printLag: number
  /** Fills within this distance of a gap are reported separately, in microseconds. */
  readonly nearGap: number
  /** Max orders and fills that are kept for the report; all are counted. */
  readonly keep: number
  /** Orders up to this id keep the steps that explain them. */
  readonly explain: number
}
