import { POW10, VENUES } from '../../domain/index.ts'
import { charge } from '../fees.ts'
import { revenueOf } from '../ledger.ts'
import type { MarketState } from '../market-state.ts'
import { MONEY_ONE, moneyPerTick } from '../money.ts'
import { createRandom } from '../random.ts'
import type { ChanceBuckets } from '../statistics.ts'
import type { StrategyRun } from '../strategy-run.ts'
import type { World } from '../world.ts'

/** The uncertainty of a sum over events, by resampling events with replacement. */
export type Confidence = {
  /** Events with fills: the number of independent draws. */
  readonly events: number
  readonly resamples: number
  /** The bounds of the middle 95 % of the resampled sums; null below two events. */
  readonly low: number | null
  readonly high: number | null
  /** The share of the resamples that lost money. */
  readonly loss_share: number | null
  /** True below ten events: the bounds then show only which of them were drawn. */
  readonly is_small: boolean
}

const RESAMPLES = 2000
// Fewer events than this give no 95 % band: resampling cannot draw an outcome that is not among them.
const MIN_EVENTS = 10

/** Resamples sums by event: trades of one event depend on each other and are not drawn separately. */
export function bootstrap(byEvent: readonly number[], seed: number): Confidence {
  const { length } = byEvent
  if (length < 2) {
    const none = { low: null, high: null, loss_share: null }
    return { events: length, resamples: 0, ...none, is_small: true }
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
    is_small: length < MIN_EVENTS,
  }
}

/** Rounds a statistic to the six decimals of reports. */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6 + 0
}

/** The result of a trivial rule: one share per market at its first two-sided book, held to the end. */
export type Baseline = {
  readonly name: 'always_favourite' | 'always_yes' | 'mid'
  readonly meaning: string
  readonly markets: number
  readonly pnl: number
  readonly per_share: number | null
}

const BASELINES = {
  always_favourite: 'buy the outcome that the first mid favours, at the ask, with fees',
  always_yes: 'buy the first outcome at the ask, with fees',
  mid: 'buy the first outcome at the mid, without fees: the error of the first prices',
} as const

/** The baselines over all markets that paid out. */
export function baselinesOf(world: World): Baseline[] {
  const paid = world.list.filter((state) => state.payouts !== undefined && state.firstQuoteAt > 0)
  return (Object.keys(BASELINES) as (keyof typeof BASELINES)[]).map((name) => {
    let pnl = 0
    for (const state of paid) pnl += gainOf(name, state)
    return {
      name,
      meaning: BASELINES[name],
      markets: paid.length,
      pnl: rounded(pnl / MONEY_ONE),
      per_share: paid.length === 0 ? null : rounded(pnl / MONEY_ONE / paid.length),
    }
  })
}

function gainOf(name: keyof typeof BASELINES, state: MarketState): number {
  const { venue, one, firstBid, firstAsk, payouts } = state
  const mid = (firstBid + firstAsk) / 2
  if (name === 'mid') return payouts![0]! - mid * moneyPerTick(venue)
  const outcome = name === 'always_yes' || mid >= one / 2 ? 0 : 1
  const price = outcome === 0 ? firstAsk : one - firstBid
  const fees = state.fees(state.firstQuoteAt)
  const size = POW10[VENUES[venue].sizeDecimals]!
  const revenue = revenueOf(venue, 'buy', price, size)
  const fill = { venue, liquidity: 'taker', side: 'buy', price, size, revenue } as const
  const fee = 'unknown' in fees ? 0 : charge(fees.formula, fill, { owed: 0 }).value
  return payouts![outcome]! + revenue - fee
}

/** How often outcomes came true whose probability was estimated within one tenth. */
export type CalibrationBucket = {
  readonly from: number
  readonly to: number
  readonly weight: number
  readonly mean_chance: number | null
  readonly happened: number | null
}

/** Probabilities against final outcomes, over markets that paid out. */
export type Calibration = {
  /** Prices paid for an outcome, weighted by shares; a sale is a purchase of the other outcome. */
  readonly entries: readonly CalibrationBucket[]
  /** The strategy's calls of `forecast`. */
  readonly forecasts: readonly CalibrationBucket[]
  readonly brier: {
    readonly forecasts: number
    readonly strategy: number | null
    /** Of the mid at the times of the forecasts, and of the forecasts made while there was a mid. */
    readonly mid: number | null
    readonly strategy_where_mid: number | null
  }
}

/** Compares entry prices and forecasts with payouts. */
export function calibrationOf(world: World, run: StrategyRun): Calibration {
  const entries = emptySums()
  const forecasts = emptySums()
  let count = 0
  let error = 0
  let midCount = 0
  let midError = 0
  let pairedError = 0
  for (const { state, statistics } of run.active) {
    const { payouts } = world.list[state.index]!
    if (payouts === undefined) continue
    for (const outcome of [0, 1] as const) {
      addSums(entries, statistics.entries[outcome], payouts[outcome]! / MONEY_ONE)
    }
    const made = statistics.forecasts
    if (made === undefined) continue
    const truth = payouts[0]! / MONEY_ONE
    addSums(forecasts, made.buckets, truth)
    // Σ(p − y)² = Σp² − 2yΣp + ny²
    count += made.count
    error += made.squares - 2 * truth * made.sum + made.count * truth * truth
    midCount += made.midCount
    midError += made.midSquares - 2 * truth * made.midSum + made.midCount * truth * truth
    pairedError += made.pairedSquares - 2 * truth * made.pairedSum + made.midCount * truth * truth
  }
  const mean = (sum: number, by: number): number | null => (by === 0 ? null : rounded(sum / by))
  return {
    entries: bucketsOf(entries),
    forecasts: bucketsOf(forecasts),
    brier: {
      forecasts: count,
      strategy: mean(error, count),
      mid: mean(midError, midCount),
      strategy_where_mid: mean(pairedError, midCount),
    },
  }
}

type Sums = { readonly weight: number[]; readonly chance: number[]; readonly happened: number[] }

function emptySums(): Sums {
  const zeros = (): number[] => Array.from({ length: 10 }, () => 0)
  return { weight: zeros(), chance: zeros(), happened: zeros() }
}

function addSums(sums: Sums, { weight, chance }: ChanceBuckets, happened: number): void {
  for (let index = 0; index < 10; index++) {
    sums.weight[index]! += weight[index]!
    sums.chance[index]! += chance[index]!
    sums.happened[index]! += happened * weight[index]!
  }
}

function bucketsOf({ weight, chance, happened }: Sums): CalibrationBucket[] {
  return weight.map((each, index) => ({
    from: index / 10,
    to: (index + 1) / 10,
    weight: rounded(each),
    mean_chance: each === 0 ? null : rounded(chance[index]! / each),
    happened: each === 0 ? null : rounded(happened[index]! / each),
  }))
}
