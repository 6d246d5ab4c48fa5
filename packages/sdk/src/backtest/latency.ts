import { PriorbookError } from '../domain/index.ts'
import type { Random } from './random.ts'

/** How long something takes, in whole microseconds: always the same, with jitter, or drawn from a series. */
export type Delay =
  | number
  | { readonly kind: 'jitter'; readonly base: number; readonly spread: number }
  | { readonly kind: 'measured'; readonly micros: readonly number[] }

/** The delays of one account. What a strategy sees is already late by the recorder's received time. */
export type LatencyOptions = {
  /** On top of the received time: how much later than the recorder the strategy is. */
  readonly feed?: Delay
  /** From the decision until the order meets the book. */
  readonly entry?: Delay
  /** From the decision until a cancel meets the order; until then it can be filled. */
  readonly cancel?: Delay
}

/** Draws delays; one is made for each run, so that runs do not share their random numbers. */
export interface Latency {
  entry(): number
  cancel(): number
}

/** What is assumed where nothing is said: 50 ms for orders and cancels, no further feed delay. */
export const DEFAULT_LATENCY: Required<LatencyOptions> = { feed: 0, entry: 50_000, cancel: 50_000 }

/**
 * Builds the delays of a run. A later feed and a later order are the same thing for everything that a
 * strategy can reach: the feed's delay is added on the way out.
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
  if (micros.length === 0) throw new PriorbookError('invalid_config', `no delays for ${name}`)
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
