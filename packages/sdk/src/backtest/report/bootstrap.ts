import { createRandom } from '../random.ts'

/** How sure a sum over events is, by drawing events with replacement. */
export type Confidence = {
  /** Events with fills: the number of independent chances. */
  readonly events: number
  readonly resamples: number
  /** The middle 95 % of the resampled sums; null below two events. */
  readonly low: number | null
  readonly high: number | null
  /** The part of the resamples that lost money. */
  readonly loss_share: number | null
}

const RESAMPLES = 2000

/** Resamples sums by event; trades of one event stand and fall together, so they are not drawn apart. */
export function bootstrap(byEvent: readonly number[], seed: number): Confidence {
  const { length } = byEvent
  if (length < 2) {
    return { events: length, resamples: 0, low: null, high: null, loss_share: null }
  }
  const random = createRandom(seed, 'bootstrap')
  const sums = Array.from({ length: RESAMPLES }, () => {
    let sum = 0
    for (let index = 0; index < length; index++) sum += byEvent[random.below(length)]!
    return sum
  }).sort((left, right) => left - right)
  return {
    events: length,
    resamples: RESAMPLES,
    low: rounded(sums[Math.floor(RESAMPLES * 0.025)]!),
    high: rounded(sums[Math.ceil(RESAMPLES * 0.975) - 1]!),
    loss_share: rounded(sums.filter((sum) => sum < 0).length / RESAMPLES),
  }
}

/** Statistics are printed with six decimals. */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6 + 0
}
