import { PriorbookError, type VenueId } from '../domain/index.ts'
import type { AccountLimits } from './account-limits.ts'
import type { QueueModel } from './queue.ts'
import { createRandom, type Random } from './random.ts'
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
  /** True where an object was given without a queue model, so that one model ran instead of three. */
  readonly isOnlyModel: boolean
  readonly latency: LatencyOptions
  /** Absent where the account has none. */
  readonly limits?: AccountLimits | undefined
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

/** A delay in whole microseconds: constant, with jitter, or drawn from measured values. */
export type Delay =
  | number
  | { readonly kind: 'jitter'; readonly base: number; readonly spread: number }
  | { readonly kind: 'measured'; readonly micros: readonly number[] }

/** The delays of a run. Events already include the recorder's delay, because they come by received time. */
export type LatencyOptions = {
  /**
   * How much later than the recorder the strategy receives an event. Until then neither its hooks nor its
   * timers see it; events keep their order.
   */
  readonly feed?: Delay
  /** From the decision until the order reaches the book. */
  readonly entry?: Delay
  /** From the decision until a cancel takes effect; until then the order can be filled. */
  readonly cancel?: Delay
  /**
   * From a fill, or from another change of an order, until the strategy knows of it. Until then positions,
   * cash and orders of the context are those from before.
   */
  readonly acknowledge?: Delay
}

/** Draws the delays of one run; feed and acknowledgements are undefined where they take no time. */
export interface Latency {
  readonly feed: (() => number) | undefined
  readonly acknowledge: (() => number) | undefined
  entry(): number
  cancel(): number
}

/** The default delays: 50 ms for orders and cancels, none for the feed and acknowledgements. */
export const DEFAULT_LATENCY: Required<LatencyOptions> = {
  feed: 0,
  entry: 50_000,
  cancel: 50_000,
  acknowledge: 0,
}

/** Creates the delays of a run. */
export function createLatency(options: LatencyOptions, seed: number): Latency {
  const random = createRandom(seed, 'latency')
  const entry = drawer(options.entry ?? DEFAULT_LATENCY.entry, random, 'entry')
  const cancel = drawer(options.cancel ?? DEFAULT_LATENCY.cancel, random, 'cancel')
  // Streams of their own: delays of orders stay the same whatever the others are.
  const travelling = (name: 'feed' | 'acknowledge'): (() => number) | undefined => {
    const delay = options[name] ?? DEFAULT_LATENCY[name]
    return delay === 0 ? undefined : drawer(delay, createRandom(seed, name), name)
  }
  return { entry, cancel, feed: travelling('feed'), acknowledge: travelling('acknowledge') }
}

function drawer(delay: Delay, random: Random, name: string): () => number {
  if (typeof delay === 'number') {
    requireMicros(delay, name)
    return () => delay
  }
  if (delay.kind === 'jitter') {
    const { base, spread } = delay
    requireMicros(base, name)
    requireMicros(spread, name)
    return () => base + random.below(spread + 1)
  }
  const { micros } = delay
  if (micros.length === 0)
    throw new PriorbookError('invalid_config', `the measured ${name} delays are empty`)
  for (const value of micros) requireMicros(value, name)
  return () => micros[random.below(micros.length)]!
}

function requireMicros(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new PriorbookError(
      'invalid_config',
      `the ${name} delay ${value} is not a whole number of microseconds`,
    )
  }
}
