import { createSfc32 } from '../../packages/sdk/src/backtest/random.ts'

/** A seeded source of random numbers: the same seed gives the same benchmark on every machine. */
export interface Random {
  /** A number in [0, 1) with 32 random bits. */
  float(): number
  /** An integer in [low, high], both ends possible; good for ranges below 2^53. */
  integer(low: number, high: number): number
  /** True with the given probability. */
  chance(probability: number): boolean
  /** One element of a list that is not empty. */
  pick<T>(list: readonly T[]): T
  /** A waiting time or a distance, exponentially distributed. */
  exponential(mean: number): number
  /** The number of trials up to the first success, 1 or more, with the given mean. */
  geometric(mean: number): number
}

/** Builds a source of random numbers from one integer seed. */
export function createRandom(seed: number): Random {
  const next = createSfc32(seed)
  const float = (): number => next() / 4294967296
  // Ranges of microseconds are wider than 32 bits, so two draws make one 53-bit number.
  const float53 = (): number => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992

  return {
    float,
    integer: (low, high) => low + Math.floor(float53() * (high - low + 1)),
    chance: (probability) => float() < probability,
    pick: (list) => list[Math.floor(float() * list.length)]!,
    exponential: (mean) => -Math.log(1 - float()) * mean,
    geometric: (mean) =>
      mean <= 1 ? 1 : 1 + Math.floor(Math.log(1 - float()) / Math.log(1 - 1 / mean)),
  }
}
