import { DAY_MICROS, printMicros, type Micros } from '../../domain/index.ts'
import { CLOSE_UNKNOWN, TIMES_TO_CLOSE, type Breakdown } from '../breakdown.ts'
import { divideBig, printMoney } from '../money.ts'
import type { FillSums } from '../statistics.ts'
import type { StrategyRun } from '../strategy-run.ts'
import { VALUE_SCALE, scaledValue } from './market-results.ts'
import type { BreakdownRow, BreakdownTables } from './report-shape.ts'

/** Sums the fills of all markets up by day, by hour of day and by time to close. */
export function breakdownOf(run: StrategyRun): BreakdownTables {
  return {
    by_day: rowsOf(
      run,
      ({ days }) => days,
      (day) => printMicros((day * DAY_MICROS) as Micros).slice(0, 10),
    ),
    by_hour: rowsOf(
      run,
      ({ hours }) => hours,
      (hour) => `${String(hour).padStart(2, '0')}:00`,
    ),
    by_time_to_close: rowsOf(
      run,
      ({ toClose }) => toClose,
      (index) => (index === CLOSE_UNKNOWN ? 'close not known' : TIMES_TO_CLOSE[index]![0]),
    ),
  }
}

function rowsOf(
  run: StrategyRun,
  mapOf: (breakdown: Breakdown) => ReadonlyMap<number, FillSums>,
  nameOf: (key: number) => string,
): BreakdownRow[] {
  const totals = new Map<number, { markets: number; fills: number; fees: number; pnl: bigint }>()
  for (const market of run.active) {
    for (const [key, sums] of mapOf(market.breakdown)) {
      const total = totals.get(key) ?? { markets: 0, fills: 0, fees: 0, pnl: 0n }
      total.markets++
      total.fills += sums.fills
      total.fees += sums.fees
      total.pnl += BigInt(sums.cash) * VALUE_SCALE + scaledValue(market, sums.units)
      totals.set(key, total)
    }
  }
  return [...totals]
    .toSorted(([left], [right]) => left - right)
    .map(([key, { markets, fills, fees, pnl }]) => ({
      name: nameOf(key),
      markets,
      fills,
      pnl: printMoney(divideBig(pnl, VALUE_SCALE, 'down')),
      fees: printMoney(fees),
    }))
}
