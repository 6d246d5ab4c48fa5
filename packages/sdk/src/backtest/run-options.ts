import { PriorbookError, type VenueId } from '../domain/index.ts'
import type { QueueModel } from './queue.ts'
import type { Random } from './random.ts'
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
  /** How much later than the recorder the strategy receives an event. */
  readonly feed?: Delay
  /** From the decision until the order reaches the book. */
  readonly entry?: Delay
  /** From the decision until a cancel takes effect; until then the order can be filled. */
  readonly cancel?: Delay
}

/** Draws the delays of one run. */
export interface Latency {
  entry(): number
  cancel(): number
}

/** The default delays: 50 ms for orders and cancels, none for the feed. */
export const DEFAULT_LATENCY: Required<LatencyOptions> = { feed: 0, entry: 50_000, cancel: 50_000 }

/**
 * Creates the delays of a run. The feed's delay is added to the order's, which has the same effect on
 * everything that a strategy can do.
 */
export function createLatency(options: LatencyOptions, random: Random): Latency {
  const feed = drawer(options.feed ?? DEFAULT_LATENCY.feed, random, 'feed')
  const entry = drawer(options.entry ?? DEFAULT_LATENCY.entry, random, 'entry')
  const cancel = drawer(options.cancel ?? DEFAULT_LATENCY.cancel, random, 'cancel')
  return { entry: () => feed() + entry(), cancel: () => feed() + cancel() }
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
