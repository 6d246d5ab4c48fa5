import {
  decimalText,
  parseMicros,
  parseScaled,
  VENUES,
  VENUE_IDS,
  type MarketRecord,
  type VenueId,
} from '../../domain/index.ts'
import {
  QUADRATIC_MAKER_RATE,
  type FeeAssumptions,
  type FeeSchedule,
  type FeeTableRow,
} from '../fees.ts'
import {
  evenTicks,
  type OrderRules,
  type RuleAssumption,
  type TickRange,
  type TradingProfiles,
} from './profile.ts'
import { TRADING_A } from './venuea.ts'
import { TRADING_B } from './venueb.ts'
import { TRADING_C } from './venuec.ts'

export type { OrderRules, RuleAssumption } from './profile.ts'

/** The registry of trading profiles; the compiler forces it to be complete. */
export const TRADING: TradingProfiles = {
  venuea: TRADING_A,
  venueb: TRADING_B,
  venuec: TRADING_C,
}

/** Published fees by time, used where a market's own record has no fee schedule. */
export const FEE_TABLE: readonly FeeTableRow[] = VENUE_IDS.flatMap((venue) =>
  TRADING[venue].feeTable.map((row) => ({ venue, ...row })),
)

/** The fees of a market at a time, or the reason why they are not known. */
export function scheduleOf(
  record: MarketRecord,
  at: number,
  assume: FeeAssumptions = {},
): FeeSchedule | { readonly unknown: string } {
  const found = TRADING[record.venue].archivedFees(record) ?? tableFees(record, at)
  const assumed = assume[record.venue]
  if (found === undefined) {
    if (assumed !== undefined) return { formula: assumed, basis: 'assumed', source: 'assume.fees' }
    return { unknown: `the fees of ${record.venue}:${record.marketId} at that time are not known` }
  }
  const { formula } = found
  const { venuebMaker } = assume
  if (formula.kind !== 'quadratic' || formula.maker !== undefined || venuebMaker === undefined) {
    return found
  }
  const maker = venuebMaker === 'none' ? 0 : QUADRATIC_MAKER_RATE
  return {
    ...found,
    formula: { ...formula, maker },
    source: `${found.source}; makers: assume.fees.venuebMaker ${venuebMaker}`,
  }
}

/** The order rules of a market by its record; undefined where the record does not give its ticks. */
export function rulesOf(record: MarketRecord): OrderRules | undefined {
  const { orderRules, archivedRules } = TRADING[record.venue]
  const archived = archivedRules(record)
  return archived === undefined ? undefined : { ...orderRules, ...archived }
}

/** The order rules that a caller assumes for a venue. */
export function assumedRules(venue: VenueId, assumption: RuleAssumption): OrderRules {
  const { tick, minimumSize } = assumption
  return {
    ...TRADING[venue].orderRules,
    ...(minimumSize === undefined
      ? {}
      : { minimumSize: parseScaled(minimumSize, VENUES[venue].sizeDecimals) }),
    ticks: evenTicks(venue, parseScaled(decimalText(tick), VENUES[venue].priceDecimals)),
    source: 'assume.rules',
  }
}

/** The order rules of a venue with the ticks that displayed prices prove. */
export function provenRules(venue: VenueId, ticks: readonly TickRange[]): OrderRules {
  const source = 'prices that its books displayed'
  return { ...TRADING[venue].orderRules, ticks, isPartial: true, source }
}

function tableFees(record: MarketRecord, at: number): FeeSchedule | undefined {
  const { feeTable, isInFamily } = TRADING[record.venue]
  const row = feeTable.find(
    ({ family, from, until }) =>
      (family === undefined || isInFamily(record, family)) &&
      at >= startOf(from) &&
      (until === undefined || at < startOf(until)),
  )
  return row === undefined
    ? undefined
    : { formula: row.formula, basis: 'table', source: `${row.source} (from ${row.from})` }
}

function startOf(day: string): number {
  return parseMicros(`${day}T00:00:00Z`)
}
