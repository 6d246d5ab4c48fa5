import { nativeField, POW10, VENUES, type Json } from '../../domain/index.ts'
import { CENT, QUADRATIC_MAKER_RATE, RATE_DECIMALS, type FeeFormula } from '../fees.ts'
import { marketFees, nativeUnits, type TickRange, type TradingProfile } from './profile.ts'

const SOURCE = 'Kalshi fee schedule; rounding: docs.kalshi.com/getting_started/fee_rounding'
const TAKER_RATE = 70_000

const takerFee = (rate: number): FeeFormula => ({
  kind: 'quadratic',
  taker: rate,
  precision: CENT,
})

/** Trading on venue B: quadratic fees, balances in cents, hundredths of a contract. */
export const TRADING_B: TradingProfile = {
  // Whether makers pay is an attribute of the series and not part of the published schedule.
  feeTable: [
    // Index series pay half the rate.
    ...['INX', 'KXINX', 'NASDAQ100', 'KXNASDAQ100'].map((family) => ({
      family,
      from: '2025-01-01',
      formula: takerFee(TAKER_RATE / 2),
      source: SOURCE,
    })),
    { from: '2025-01-01', formula: takerFee(TAKER_RATE), source: SOURCE },
  ],
  // A family is a prefix: KXINX also covers the series KXINXU and KXINXY.
  isInFamily: ({ seriesTicker, marketId }, family) => (seriesTicker ?? marketId).startsWith(family),
  archivedFees({ native }) {
    const type = nativeField(native['series'], 'fee_type')
    const multiplier = nativeUnits(
      nativeField(native['series'], 'fee_multiplier') ?? 1,
      RATE_DECIMALS,
    )
    if (multiplier === undefined) return undefined
    if (type !== 'quadratic' && type !== 'quadratic_with_maker_fees') return undefined
    const rate = (base: number): number => Math.round((base * multiplier) / POW10[RATE_DECIMALS]!)
    const maker = type === 'quadratic' ? 0 : rate(QUADRATIC_MAKER_RATE)
    return marketFees(
      { ...takerFee(rate(TAKER_RATE)), maker } as FeeFormula,
      'fee_type and fee_multiplier of the series',
    )
  },
  orderRules: { minimumSize: 1, sizeStep: 1, minimumValue: 0, gtdEarly: 0 },
  archivedRules({ venue, native }) {
    const { priceDecimals, sizeDecimals } = VENUES[venue]
    const ticks = priceRanges(nativeField(native['market'], 'price_ranges'), priceDecimals)
    if (ticks === undefined) return undefined
    const isWhole = nativeField(native['market'], 'fractional_trading_enabled') === false
    const contract = POW10[sizeDecimals]!
    return {
      ...(isWhole ? { minimumSize: contract, sizeStep: contract } : {}),
      ticks,
      source: 'price_ranges of the market record',
    }
  },
  staticFields: {
    market: ['price_ranges', 'fractional_trading_enabled'],
    series: ['fee_type', 'fee_multiplier'],
  },
}

function priceRanges(value: Json | undefined, decimals: number): TickRange[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const ranges: TickRange[] = []
  for (const range of value as readonly Json[]) {
    const from = nativeUnits(nativeField(range, 'start'), decimals)
    const to = nativeUnits(nativeField(range, 'end'), decimals)
    const step = nativeUnits(nativeField(range, 'step'), decimals)
    if (from === undefined || to === undefined || step === undefined || step <= 0) return undefined
    ranges.push({ from, to, step })
  }
  return ranges
}
