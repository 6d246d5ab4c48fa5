import { nativeField, VENUES, type MarketRecord } from '../../domain/index.ts'
import { RATE_DECIMALS, type FeeFormula } from '../fees.ts'
import { MONEY_ONE } from '../money.ts'
import { evenTicks, marketFees, nativeUnits, type TradingProfile } from './profile.ts'

const SOURCE = 'docs.polymarket.com/trading/fees'
const MINUTE = 60_000_000

const curve = (rate: number, exponent = 1, rebate = 250_000): FeeFormula => ({
  kind: 'curve',
  rate,
  exponent,
  rebate,
})
const since = (family: string, formula: FeeFormula, source = SOURCE) => ({
  family,
  from: '2026-06-08',
  formula,
  source,
})

/** Trading on venue C: taker fees by category, rebates for makers, sizes of two decimals. */
export const TRADING_C: TradingProfile = {
  // No row covers the times between two rows: no published page of those weeks is known.
  feeTable: [
    {
      from: '2022-11-01',
      until: '2026-01-01',
      formula: { kind: 'none' },
      source: 'no taker fee before January 2026',
    },
    {
      family: 'crypto',
      from: '2026-01-08',
      until: '2026-03-01',
      formula: curve(250_000, 2, 200_000),
      source: 'rate 0.25, exponent 2 on 15-minute crypto, January 2026 presets of public tools',
    },
    {
      family: 'crypto',
      from: '2026-04-01',
      until: '2026-06-01',
      formula: curve(72_000, 1, 200_000),
      source: `${SOURCE} as of spring 2026`,
    },
    since('crypto', curve(70_000, 1, 200_000), `${SOURCE}; feeSchedule of markets of 2026-06-08`),
    since('sports', curve(30_000)),
    ...['finance', 'politics', 'mentions', 'tech'].map((family) => since(family, curve(40_000))),
    ...['economics', 'culture', 'weather', 'other'].map((family) => since(family, curve(50_000))),
    since('geopolitics', { kind: 'none' }),
  ],
  isInFamily: (record, family) => categoryOf(record) === family,
  archivedFees({ native }) {
    const market = native['gamma'] ?? native['new_market']
    const enabled = nativeField(market, 'feesEnabled') ?? nativeField(market, 'fees_enabled')
    if (enabled === false) return marketFees({ kind: 'none' }, 'feesEnabled of the market record')
    const schedule = nativeField(market, 'feeSchedule') ?? nativeField(market, 'fee_schedule')
    const rate = nativeUnits(nativeField(schedule, 'rate'), RATE_DECIMALS)
    const exponent = nativeUnits(nativeField(schedule, 'exponent') ?? 1, 0)
    if (rate === undefined || exponent === undefined || exponent > 4) return undefined
    const rebate = nativeField(schedule, 'rebateRate') ?? nativeField(schedule, 'rebate_rate') ?? 0
    return marketFees(
      { kind: 'curve', rate, exponent, rebate: nativeUnits(rebate, RATE_DECIMALS) ?? 0 },
      'feeSchedule of the market record',
    )
  },
  // 5 shares, steps of 0.01 shares, $1; the venue ends GTD orders a minute before their expiry.
  orderRules: {
    minimumSize: 5_000_000,
    sizeStep: 10_000,
    minimumValue: MONEY_ONE,
    gtdEarly: MINUTE,
  },
  archivedRules({ venue, native }) {
    const market = native['gamma'] ?? native['new_market'] ?? native['clob']
    const tick = nativeUnits(
      nativeField(market, 'orderPriceMinTickSize') ??
        nativeField(market, 'order_price_min_tick_size') ??
        nativeField(market, 'minimum_tick_size'),
      VENUES[venue].priceDecimals,
    )
    if (tick === undefined || tick === 0) return undefined
    const minimumSize = nativeUnits(
      nativeField(market, 'orderMinSize') ?? nativeField(market, 'minimum_order_size'),
      VENUES[venue].sizeDecimals,
    )
    return {
      ...(minimumSize === undefined ? {} : { minimumSize }),
      ticks: evenTicks(venue, tick),
      source: 'orderPriceMinTickSize and orderMinSize of the market record',
    }
  },
  staticFields: {
    gamma: ['orderPriceMinTickSize', 'orderMinSize', 'feesEnabled', 'feeSchedule', 'category'],
    new_market: ['order_price_min_tick_size', 'fees_enabled', 'fee_schedule'],
    clob: ['minimum_tick_size', 'minimum_order_size'],
  },
}

// Rounds on a coin are crypto; other markets have a category only where the venue names one.
function categoryOf(record: MarketRecord): string | undefined {
  if (record.asset !== undefined) return 'crypto'
  const category = nativeField(record.native['gamma'], 'category')
  return typeof category === 'string' ? category.toLowerCase() : undefined
}
