/** The Sharpe ratio of a list of results, and what is needed to judge it. */
export type Sharpe = {
  /** Mean by standard deviation, per observation; not annualized. */
  readonly ratio: number
  readonly observations: number
  readonly skewness: number
  /** 3 for a normal distribution. */
  readonly kurtosis: number
}

/** A Sharpe ratio beside the number of tries that it is the best of. */
export type DeflatedSharpe = {
  /** What the best of so many tries without any skill is expected to show. */
  readonly expected_best: number
  /** The probability that the true ratio is above that. */
  readonly probability: number
}

// Fewer results have no meaningful spread.
const LEAST = 3
const EULER = 0.577_215_664_901_532_9

/** The Sharpe ratio of results, one per independent event; undefined where they are too few or all equal. */
export function sharpeOf(results: readonly number[]): Sharpe | undefined {
  const count = results.length
  if (count < LEAST) return undefined
  const mean = results.reduce((sum, value) => sum + value, 0) / count
  const moment = (power: number): number =>
    results.reduce((sum, value) => sum + (value - mean) ** power, 0) / count
  const variance = moment(2)
  if (!(variance > 0)) return undefined
  const deviation = Math.sqrt((variance * count) / (count - 1))
  return {
    ratio: mean / deviation,
    observations: count,
    skewness: moment(3) / variance ** 1.5,
    kurtosis: moment(4) / variance ** 2,
  }
}

/**
 * The deflated Sharpe ratio of Bailey and López de Prado (2014): `ratios` are those of all tries that have
 * one, `tries` counts all of them.
 */
export function deflateSharpe(
  sharpe: Sharpe,
  ratios: readonly number[],
  tries: number,
): DeflatedSharpe {
  const expected = tries < 2 ? 0 : Math.sqrt(varianceOf(ratios)) * expectedMaximum(tries)
  const { ratio, observations, skewness, kurtosis } = sharpe
  const spread = 1 - skewness * ratio + ((kurtosis - 1) / 4) * ratio ** 2
  const distance = ((ratio - expected) * Math.sqrt(observations - 1)) / Math.sqrt(spread)
  return { expected_best: expected, probability: normalProbability(distance) }
}

/** The expected maximum of so many draws of a standard normal variable, as the authors approximate it. */
function expectedMaximum(tries: number): number {
  return (
    (1 - EULER) * normalQuantile(1 - 1 / tries) + EULER * normalQuantile(1 - 1 / (tries * Math.E))
  )
}

function varianceOf(values: readonly number[]): number {
  if (values.length < 2) return 0
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
}

/** The probability that a standard normal variable is at most `x`. */
export function normalProbability(x: number): number {
  if (Number.isNaN(x)) return Number.NaN
  const distance = Math.abs(x)
  if (distance > 38) return x > 0 ? 1 : 0
  const tail = distance < SERIES_END ? 0.5 - centre(distance) : upperTail(distance)
  return x > 0 ? 1 - tail : tail
}

// Below it the series needs few terms, above it the continued fraction does.
const SERIES_END = 3
const DENSITY = 1 / Math.sqrt(2 * Math.PI)

// The series of Marsaglia (2004) for the probability between 0 and x.
function centre(x: number): number {
  let term = x
  let sum = x
  for (let power = 3; Math.abs(term) > 1e-17; power += 2) {
    term *= (x * x) / power
    sum += term
  }
  return sum * DENSITY * Math.exp((-x * x) / 2)
}

// Laplace's continued fraction for the probability above x.
function upperTail(x: number): number {
  let fraction = x
  for (let step = 60; step > 0; step--) fraction = x + step / fraction
  return (DENSITY * Math.exp((-x * x) / 2)) / fraction
}

/** The inverse of `normalProbability`, by bisection: it is called a few times per sweep. */
export function normalQuantile(probability: number): number {
  if (!(probability > 0 && probability < 1)) {
    return probability === 0 ? -Infinity : probability === 1 ? Infinity : Number.NaN
  }
  let low = -39
  let high = 39
  for (let step = 0; step < 100; step++) {
    const middle = (low + high) / 2
    if (normalProbability(middle) < probability) low = middle
    else high = middle
  }
  return (low + high) / 2
}
