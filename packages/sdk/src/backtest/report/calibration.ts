import type { Cell } from '../cell.ts'
import { MONEY_ONE } from '../money.ts'
import type { World } from '../world.ts'
import { rounded } from './bootstrap.ts'

/** How often things happened that were given a chance in one tenth. */
export type CalibrationBucket = {
  readonly from: number
  readonly to: number
  readonly weight: number
  readonly mean_chance: number | null
  readonly happened: number | null
}

/** Chances against what the venues said in the end; only of markets that paid. */
export type Calibration = {
  /** What was paid for an outcome, weighed by shares; a sale is a purchase of the other outcome. */
  readonly entries: readonly CalibrationBucket[]
  /** What the strategy said by `forecast`. */
  readonly forecasts: readonly CalibrationBucket[]
  readonly brier: {
    readonly forecasts: number
    readonly strategy: number | null
    /** Of the mid at the same times, and of the forecasts that had one beside them. */
    readonly mid: number | null
    readonly strategy_where_mid: number | null
  }
}

/** Compares entry prices and forecasts with payouts. */
export function calibrationOf(world: World, cell: Cell): Calibration {
  const entries = emptySums()
  const forecasts = emptySums()
  let count = 0
  let error = 0
  let midCount = 0
  let midError = 0
  let pairedError = 0
  for (const own of cell.active) {
    const { payouts } = world.list[own.state.index]!
    if (payouts === undefined) continue
    for (const outcome of [0, 1] as const) {
      addSums(entries, own.entries[outcome], payouts[outcome]! / MONEY_ONE)
    }
    const said = own.forecasts
    if (said === undefined) continue
    const truth = payouts[0]! / MONEY_ONE
    addSums(forecasts, said.buckets, truth)
    // Σ(p − y)² = Σp² − 2yΣp + ny²
    count += said.count
    error += said.squares - 2 * truth * said.sum + said.count * truth * truth
    midCount += said.midCount
    midError += said.midSquares - 2 * truth * said.midSum + said.midCount * truth * truth
    pairedError += said.pairedSquares - 2 * truth * said.pairedSum + said.midCount * truth * truth
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

function addSums(
  sums: Sums,
  buckets: { readonly weight: Float64Array; readonly chance: Float64Array },
  happened: number,
): void {
  for (let index = 0; index < 10; index++) {
    sums.weight[index]! += buckets.weight[index]!
    sums.chance[index]! += buckets.chance[index]!
    sums.happened[index]! += happened * buckets.weight[index]!
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
