import type { RoundProposition } from '../core/upstream.ts'
import { createRandom, type Random } from './random.ts'

/** The asset that a market is about. */
export type Asset = RoundProposition['asset']

/** The emulated prices of the assets, in dollars; all venues see the same. */
export interface Underlying {
  /** Moves every price by one step. */
  step(): void
  price(asset: Asset): number
  /** As the walk has it, which `price` rounds. */
  exact(asset: Asset): number
  /** The time-weighted average over the last nominal seconds, at most 60, since the world began. */
  average(asset: Asset, seconds: number): number
  /** With two decimals, as the venues print reference prices; the average over some seconds, where they are given. */
  text(asset: Asset, averageSeconds?: number): string
}

/** Max nominal seconds of an average. */
const LONGEST_AVERAGE = 60

/** The assets and their approximate start prices in dollars. */
export const ASSETS: Readonly<Record<Asset, number>> = { BTC: 64_000, ETH: 3_400, BNB: 610 }

/** Standard deviation of the logarithm over one second: about 0.1 % in five minutes. */
const SIGMA_PER_SECOND = 6e-5

/** Creates a seeded walk; `stepSeconds` is the nominal length of a step. */
export function createUnderlying(seed: string, stepSeconds: number): Underlying {
  const sigma = SIGMA_PER_SECOND * Math.sqrt(stepSeconds)
  const size = Math.ceil(LONGEST_AVERAGE / stepSeconds)
  const walks = new Map<Asset, Walk>()
  for (const asset of ['BTC', 'ETH', 'BNB'] as const) {
    const random = createRandom(`${seed}/price/${asset}`)
    const price = ASSETS[asset] * (1 + 0.02 * random.normal())
    walks.set(asset, { random, price, recent: new Float64Array(size), steps: 0 })
  }
  const average = (asset: Asset, seconds: number): number => {
    const { price, recent, steps } = walks.get(asset)!
    const count = Math.min(steps, size, Math.round(seconds / stepSeconds))
    let sum = 0
    for (let back = 1; back <= count; back++) sum += recent[(steps - back) % size]!
    return count === 0 ? price : sum / count
  }
  return {
    step() {
      for (const walk of walks.values()) {
        walk.price *= 1 + sigma * walk.random.normal()
        // All steps are equally long.
        walk.recent[walk.steps++ % size] = walk.price
      }
    },
    price: (asset) => Math.round(walks.get(asset)!.price * 100) / 100,
    exact: (asset) => walks.get(asset)!.price,
    average,
    text: (asset, seconds) =>
      (seconds === undefined ? walks.get(asset)!.price : average(asset, seconds)).toFixed(2),
  }
}

type Walk = {
  readonly random: Random
  price: number
  /** The prices of the last steps, in a ring. */
  readonly recent: Float64Array
  steps: number
}

/** The probability that a price ends at or above the strike, in ten-thousandths. */
export function fairPrice(price: number, strike: number, secondsLeft: number): number {
  const spread = SIGMA_PER_SECOND * Math.sqrt(Math.max(secondsLeft, 0.5))
  const z = (price - strike) / strike / spread
  // The logistic curve that stays within 0.01 of the normal distribution.
  return 10_000 / (1 + Math.exp(-1.702 * z))
}

/**
 * The prices of the assets at a time before the world began. The walk has no prices between two of its steps, so that
 * averages are the price at their end.
 */
export type Past = (time: number) => Pick<Underlying, 'price' | 'text'>

const STEP_SECONDS = 300

/**
 * Creates the prices before the start: a seeded walk backwards from where the world begins, in steps of
 * five nominal minutes, so that rounds of either window that meet at one time share its price.
 */
export function createPast(
  seed: string,
  start: number,
  speed: number,
  now: Pick<Underlying, 'price'>,
): Past {
  const stepMs = (STEP_SECONDS * 1000) / speed
  const sigma = SIGMA_PER_SECOND * Math.sqrt(STEP_SECONDS)
  const walks = new Map<Asset, { readonly random: Random; readonly prices: number[] }>()

  function priceOf(asset: Asset, step: number): number {
    const walk = walks.get(asset) ?? {
      random: createRandom(`${seed}/past/${asset}`),
      prices: [now.price(asset)],
    }
    walks.set(asset, walk)
    const { random, prices } = walk
    while (prices.length <= step) prices.push(prices.at(-1)! * (1 + sigma * random.normal()))
    return prices[step]!
  }

  return (time) => {
    const step = Math.max(0, Math.round((start - time) / stepMs))
    return {
      price: (asset) => Math.round(priceOf(asset, step) * 100) / 100,
      text: (asset) => priceOf(asset, step).toFixed(2),
    }
  }
}
