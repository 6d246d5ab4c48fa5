import type { MarketRecord, VenueId } from '../../domain/index.ts'
import { nativeField, nativeUnits } from '../native-value.ts'
import { tableRow } from './table.ts'

/** Rates are whole millionths: 70,000 is 0.07. */
export const RATE_DECIMALS = 6

/** How a venue computes a fee. */
export type FeeFormula =
  /** No fee for anybody. */
  | { readonly kind: 'none' }
  /**
   * Venue B: rate × contracts × p × (1 − p), rounded up to $0.0001, then the balance down to its
   * precision, what that cost too much given back in whole cents over the fills of one order.
   */
  | {
      readonly kind: 'quadratic'
      readonly taker: number
      /** Absent: nobody said whether makers pay on this series. */
      readonly maker?: number
      /** Money units a contract, the maker fee of some series before July 2025. */
      readonly makerFlat?: number
      /** The balance is kept to so many money units: a cent, or $0.0001 for direct members. */
      readonly precision: number
    }
  /** Venue C: shares × rate × (p × (1 − p))^exponent for takers, rounded down to 5 decimals a match. */
  | {
      readonly kind: 'curve'
      readonly rate: number
      readonly exponent: number
      /** The part of the takers' fees that is paid to makers from a daily pool; never in the headline. */
      readonly rebate: number
    }
  /** Venue A: basis points of shares × min(p, 1 − p) for takers; on a buy taken in shares. */
  | { readonly kind: 'shares'; readonly bps: number }

/** A formula with the reason to believe in it. */
export type FeeSchedule = {
  readonly formula: FeeFormula
  /** `market`: the market's own archived schedule; `table`: the dated table; `assumed`: the caller said so. */
  readonly basis: 'market' | 'table' | 'assumed'
  readonly source: string
}

/** What the caller of a run tells about fees where nothing is known. */
export type FeeAssumptions = Readonly<Partial<Record<VenueId, FeeFormula>>> & {
  /** Whether makers of venue B pay on series whose archived record does not say it. */
  readonly venuebMaker?: 'none' | 'quadratic'
}

/** $0.01, to which venue B keeps the balance of everybody but direct members. */
export const CENT = 1_000_000

/** The maker rate of venue B where makers pay: a quarter of the takers'. */
export const VENUEB_MAKER_RATE = 17_500

/** The fees of a market at a time, or why they are not known. */
export function scheduleOf(
  record: MarketRecord,
  at: number,
  assume: FeeAssumptions = {},
): FeeSchedule | { readonly unknown: string } {
  const found = archived(record) ?? tableRow(record, at)
  const assumed = assume[record.venue]
  if (found === undefined) {
    if (assumed !== undefined) return { formula: assumed, basis: 'assumed', source: 'assume.fees' }
    return { unknown: `the fees of ${record.venue}:${record.marketId} at that time are not known` }
  }
  const { formula } = found
  if (formula.kind === 'quadratic' && formula.maker === undefined && assume.venuebMaker) {
    const maker = assume.venuebMaker === 'none' ? 0 : VENUEB_MAKER_RATE
    return {
      ...found,
      formula: { ...formula, maker },
      source: `${found.source}; makers: assume.fees.venuebMaker ${assume.venuebMaker}`,
    }
  }
  return found
}

// The market's own schedule, as its record of that time holds it.
function archived({ venue, native }: MarketRecord): FeeSchedule | undefined {
  switch (venue) {
    case 'venuea': {
      const said = ['market', 'topic', 'category'].map((name) =>
        nativeField(native[name], 'feeRateBps'),
      )
      const bps = nativeUnits(
        said.find((value) => value !== undefined),
        0,
      )
      if (bps === undefined) return undefined
      return market({ kind: 'shares', bps }, 'feeRateBps of the market record')
    }
    case 'venueb': {
      const type = nativeField(native['series'], 'fee_type')
      const multiplier = nativeUnits(
        nativeField(native['series'], 'fee_multiplier') ?? 1,
        RATE_DECIMALS,
      )
      if (type === undefined || multiplier === undefined) return undefined
      const rate = (base: number): number => Math.round((base * multiplier) / 10 ** RATE_DECIMALS)
      if (type === 'quadratic' || type === 'quadratic_with_maker_fees') {
        const maker = type === 'quadratic' ? 0 : rate(VENUEB_MAKER_RATE)
        const formula = { kind: 'quadratic', taker: rate(70_000), maker, precision: CENT } as const
        return market(formula, 'fee_type and fee_multiplier of the series')
      }
      return undefined
    }
    case 'venuec': {
      const said = native['gamma'] ?? native['new_market']
      const enabled = nativeField(said, 'feesEnabled') ?? nativeField(said, 'fees_enabled')
      if (enabled === false) return market({ kind: 'none' }, 'feesEnabled of the market record')
      const schedule = nativeField(said, 'feeSchedule') ?? nativeField(said, 'fee_schedule')
      const rate = nativeUnits(nativeField(schedule, 'rate'), RATE_DECIMALS)
      const exponent = nativeUnits(nativeField(schedule, 'exponent') ?? 1, 0)
      if (rate === undefined || exponent === undefined || exponent > 4) return undefined
      const rebate =
        nativeField(schedule, 'rebateRate') ?? nativeField(schedule, 'rebate_rate') ?? 0
      return market(
        { kind: 'curve', rate, exponent, rebate: nativeUnits(rebate, RATE_DECIMALS) ?? 0 },
        'feeSchedule of the market record',
      )
    }
  }
}

function market(formula: FeeFormula, source: string): FeeSchedule {
  return { formula, basis: 'market', source }
}
