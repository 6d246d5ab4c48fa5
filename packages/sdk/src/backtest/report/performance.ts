import { DAY_MICROS, parseScaled, VENUES } from '../../domain/index.ts'
import { notional, PRICE_ONE, priceOne, printMoney } from '../money.ts'
import type { FillView } from '../order.ts'
import type { StrategyRun } from '../strategy-run.ts'
import type { World } from '../world.ts'
import { rounded } from './evaluation.ts'
import { sharpeOf, sortinoOf, type DayRatio } from './ratios.ts'
import { marketPaths, type RoundTrip } from './round-trips.ts'

/** How a result came about: by day, by round trip, and how much was traded for it. */
export type Performance = {
  /** The result of every UTC day; positions count at the price they could be sold for. */
  readonly days: readonly { readonly day: string; readonly pnl: string }[]
  readonly sharpe: DayRatio
  readonly sortino: DayRatio
  readonly round_trips: {
    /** Trips that ended: the position was flat again, or was paid out. */
    readonly count: number
    readonly won: number
    readonly lost: number
    readonly open: number
    readonly win_rate: number | null
    readonly mean_pnl: string | null
    readonly best: string | null
    readonly worst: string | null
    readonly mean_hold_s: number | null
    /** False where only the listed fills could be followed. */
    readonly is_complete: boolean
  }
  /** Volume over mean bound capital: how often the capital was turned over. */
  readonly turnover: number | null
  /** The maker fills' part of the volume. */
  readonly maker_share: number | null
  /** The part of the run's time with a position in any market. */
  readonly time_in_market: number | null
}

/** Computes the performance of a run. */
export function performanceOf(
  world: World,
  run: StrategyRun,
  fills: readonly FillView[],
): Performance {
  const { ledger, engine, tally, settlements } = run
  const days = dailyResults(run)
  const trips = marketPaths(fills, settlements).flatMap((path) => path.trips)
  const amounts = days.map(({ pnl }) => pnl)
  const isComplete = engine.fillCount === fills.length
  const capital = ledger.capitalTime / Math.max(1, world.now - world.firstAt)
  return {
    days: days.map(({ day, pnl }) => ({ day: dayText(day), pnl: printMoney(pnl) })),
    sharpe: sharpeOf(amounts),
    sortino: sortinoOf(amounts),
    round_trips: tripsOf(trips, isComplete),
    turnover: capital <= 0 ? null : rounded(tally.volume / capital),
    // Both need every fill; of long runs only the first ones are kept.
    maker_share: isComplete ? makerShare(fills) : null,
    time_in_market: isComplete ? timeShare(trips, world) : null,
  }
}

function dailyResults({ ledger }: StrategyRun): { readonly day: number; readonly pnl: number }[] {
  let before = ledger.start
  return ledger.days.daysUntil(ledger.equity()).map(({ day, equity }) => {
    const pnl = equity - before
    before = equity
    return { day, pnl }
  })
}

function tripsOf(trips: readonly RoundTrip[], isComplete: boolean): Performance['round_trips'] {
  const ended = trips.filter(({ end }) => end !== undefined)
  const amounts = ended.map(({ pnl }) => pnl).toSorted((left, right) => left - right)
  const { length: count } = ended
  const won = amounts.filter((pnl) => pnl > 0).length
  const total = amounts.reduce((sum, pnl) => sum + pnl, 0)
  const held = ended.reduce((sum, { start, end }) => sum + end! - start, 0)
  const money = (pnl: number | undefined): string | null =>
    pnl === undefined ? null : printMoney(pnl)
  return {
    count,
    won,
    lost: amounts.filter((pnl) => pnl < 0).length,
    open: trips.length - count,
    win_rate: count === 0 ? null : rounded(won / count),
    mean_pnl: count === 0 ? null : printMoney(Math.round(total / count)),
    best: money(amounts.at(-1)),
    worst: money(amounts[0]),
    mean_hold_s: count === 0 ? null : rounded(held / count / 1e6),
    is_complete: isComplete,
  }
}

function makerShare(fills: readonly FillView[]): number | null {
  let maker = 0
  let all = 0
  for (const { venue, price, size, liquidity } of fills) {
    const ticks = Math.round((price * priceOne(venue)) / PRICE_ONE)
    const value = notional(venue, ticks, parseScaled(size, VENUES[venue].sizeDecimals), 'down')
    all += value
    if (liquidity === 'maker') maker += value
  }
  return all === 0 ? null : rounded(maker / all)
}

// Trips in several markets may overlap: their time counts once.
function timeShare(trips: readonly RoundTrip[], world: World): number | null {
  const span = world.now - world.firstAt
  if (span <= 0) return null
  let held = 0
  let until = -Infinity
  for (const { start, end = world.now } of trips.toSorted((a, b) => a.start - b.start)) {
    held += Math.max(0, end - Math.max(start, until))
    until = Math.max(until, end)
  }
  return rounded(Math.min(1, held / span))
}

function dayText(day: number): string {
  return new Date((day * DAY_MICROS) / 1000).toISOString().slice(0, 10)
}
