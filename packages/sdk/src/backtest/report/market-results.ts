import { POW10, VENUES } from '../../domain/index.ts'
import { divideBig, printMoney } from '../money.ts'
import { EVIDENCE_CLASSES } from '../order.ts'
import { eventOf } from '../records.ts'
import type { RunMarket } from '../run-market.ts'
import type { StrategyRun } from '../strategy-run.ts'
import type { World } from '../world.ts'
import { rounded } from './evaluation.ts'
import type { ClassResult, MarketResult } from './report-shape.ts'

/** A market of the report with its PnL in money units. */
export type MarketPnl = { readonly result: MarketResult; readonly pnl: number }

/** The results of all markets. */
export function marketResults(world: World, run: StrategyRun): MarketPnl[] {
  return world.list.map((state) => {
    const own = run.markets[state.index]
    const { record, payouts } = state
    let pnl = 0
    let fees = 0
    for (const sums of own?.statistics.classes ?? []) {
      pnl += sums?.cash ?? 0
      fees += sums?.fees ?? 0
    }
    if (own !== undefined) pnl += valueOfUnits(own, totalUnits(own))
    const fills = own?.statistics.fills ?? 0
    const span = Math.max(1, state.lastAt - state.firstAt)
    const missing = Math.min(span, state.missingUntil(Math.max(state.lastAt, state.firstAt)))
    const schedule = state.fees(world.now)
    const result: MarketResult = {
      market: state.name,
      event: eventOf(record, state.name),
      title: record?.title ?? null,
      status: record?.status ?? null,
      fills,
      pnl: printMoney(pnl),
      fees: printMoney(fees),
      payouts: payouts === undefined ? null : payouts.map((payout) => printMoney(payout)),
      locked_s:
        payouts === undefined || own === undefined || fills === 0
          ? null
          : rounded(Math.max(0, state.settledAt - own.statistics.firstFillAt) / 1e6),
      disputes: state.disputes,
      late_changes: state.lateChanges,
      observations: state.observations,
      trades: state.trades,
      gaps: state.gapsSeen,
      gap_s: rounded(state.missingUntil(world.now) / 1e6),
      coverage: rounded(1 - missing / span),
      polled: state.isPolled,
      fee_basis: 'unknown' in schedule ? 'unknown' : `${schedule.basis}: ${schedule.source}`,
      tick_source: state.rules()?.source ?? null,
      rows: state.books.map(({ key, firstSequence, sequence, rows }) => ({
        key,
        first_sequence: firstSequence,
        last_sequence: sequence,
        rows,
      })),
    }
    return { result, pnl }
  })
}

type Sums = { fills: number; pnl: number; fees: number }

/** Sums over all markets by evidence × 2, plus 1 near a gap. */
export function classSums(run: StrategyRun): Sums[] {
  const sums = Array.from({ length: EVIDENCE_CLASSES.length * 2 }, () => ({
    fills: 0,
    pnl: 0,
    fees: 0,
  }))
  for (const market of run.active) {
    for (const [index, own] of market.statistics.classes.entries()) {
      if (own === undefined) continue
      const sum = sums[index]!
      sum.fills += own.fills
      sum.fees += own.fees
      sum.pnl += own.cash + valueOfUnits(market, own.units)
    }
  }
  return sums
}

/** Adds up some classes. */
export function classResult(sums: readonly Sums[], indexes: readonly number[]): ClassResult {
  const total = { fills: 0, pnl: 0, fees: 0 }
  for (const index of indexes) {
    total.fills += sums[index]!.fills
    total.pnl += sums[index]!.pnl
    total.fees += sums[index]!.fees
  }
  return { fills: total.fills, pnl: printMoney(total.pnl), fees: printMoney(total.fees) }
}

function totalUnits({ statistics }: RunMarket): [number, number] {
  const total: [number, number] = [0, 0]
  for (const sums of statistics.classes) {
    total[0] += sums?.units[0] ?? 0
    total[1] += sums?.units[1] ?? 0
  }
  return total
}

/** What a scaled value is divided by: no venue has sizes of more decimals. */
export const VALUE_SCALE: bigint =
  10n ** BigInt(Math.max(...Object.values(VENUES).map(({ sizeDecimals }) => sizeDecimals)))

/** The value of signed units times `VALUE_SCALE`, at the prices that the market's whole position has. */
export function scaledValue(market: RunMarket, units: readonly [number, number]): bigint {
  const { state } = market
  const [first, second] = totalUnits(market)
  const net = first - second
  const exact =
    BigInt(units[0]) * BigInt(state.valueOf(0, net)) +
    BigInt(units[1]) * BigInt(state.valueOf(1, net))
  return exact * (VALUE_SCALE / BigInt(POW10[VENUES[state.venue].sizeDecimals]!))
}

function valueOfUnits(market: RunMarket, units: readonly [number, number]): number {
  return divideBig(scaledValue(market, units), VALUE_SCALE, 'down')
}
