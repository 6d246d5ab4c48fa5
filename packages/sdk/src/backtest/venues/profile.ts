import {
  decimalText,
  parseScaled,
  type Json,
  type MarketRecord,
  type VenueId,
} from '../../domain/index.ts'
import type { FeeSchedule, FeeTableRow } from '../fees.ts'
import { priceOne } from '../money.ts'

/** Prices from `from` up to `to` move in steps, all in ticks of the venue. */
export type TickRange = { readonly from: number; readonly to: number; readonly step: number }

/** Which orders a market accepts, as known at one time. */
export type OrderRules = {
  readonly ticks: readonly TickRange[]
  /** Sizes are in units of the venue. */
  readonly minimumSize: number
  readonly sizeStep: number
  /** The least value of an order that takes, in money units. */
  readonly minimumValue: number
  /** How long before its expiry the venue ends a GTD order, in microseconds. */
  readonly gtdEarly: number
  /** True where other prices may be valid too: the ticks are only those that displayed prices prove. */
  readonly isPartial?: boolean
  readonly source: string
}

/** Order rules that the caller assumes where a record has none: ticks and sizes as decimal text. */
export type RuleAssumption = { readonly tick: string; readonly minimumSize?: string }

/** What the backtester knows about trading on a venue, besides the facts of the domain. */
export type TradingProfile = {
  /** Published fees by time, for markets whose record has no fee schedule. */
  readonly feeTable: readonly Omit<FeeTableRow, 'venue'>[]
  /** True where a row of the fee table with that family applies to a market. */
  readonly isInFamily: (record: MarketRecord, family: string) => boolean
  /** The fee schedule in a market's archived record. */
  readonly archivedFees: (record: MarketRecord) => FeeSchedule | undefined
  /** The rules that all markets of the venue share. */
  readonly orderRules: Omit<OrderRules, 'ticks' | 'source'>
  /** What a market's record adds to them; undefined where it does not give its ticks. */
  readonly archivedRules: (
    record: MarketRecord,
  ) => (Pick<OrderRules, 'ticks' | 'source'> & Partial<OrderRules>) | undefined
  /** The fields of native records that hold fees and order rules and say nothing of the outcome. */
  readonly staticFields: Readonly<Record<string, readonly string[]>>
}

/** The same tick over the whole range of prices. */
export function evenTicks(venue: VenueId, step: number): TickRange[] {
  return [{ from: step, to: priceOne(venue) - step, step }]
}

/** A market's own fee schedule. */
export function marketFees(formula: FeeSchedule['formula'], source: string): FeeSchedule {
  return { formula, basis: 'market', source }
}

/** A native number in whole units; undefined where it is negative, too precise or not a number. */
export function nativeUnits(value: Json | undefined, decimals: number): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  try {
    const units = parseScaled(decimalText(value), decimals)
    return units < 0 ? undefined : units
  } catch {
    return undefined
  }
}

/** One profile per venue. */
export type TradingProfiles = Readonly<Record<VenueId, TradingProfile>>
