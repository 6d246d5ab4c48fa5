import { SIGMA_PER_SECOND, type Asset, type Underlying } from './underlying.ts'
import { createRandom, type Random } from './random.ts'

/** The prices of the assets at a time before the world began. */
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
