import { nativeField, POW10, VENUES } from '../../domain/index.ts'
import { MONEY_ONE } from '../money.ts'
import { evenTicks, marketFees, nativeUnits, type TradingProfile } from './profile.ts'

/** Trading on venue A: takers pay basis points of the cheaper outcome, purchases in shares. */
export const TRADING_A: TradingProfile = {
  feeTable: [
    {
      from: '2026-05-05',
      formula: { kind: 'shares', bps: 200 },
      source: 'feeRateBps 200 in every answer seen; dev.predict.fun/trading/fees',
    },
  ],
  isInFamily: () => false,
  archivedFees({ native }) {
    const rates = ['market', 'topic', 'category'].map((part) =>
      nativeField(native[part], 'feeRateBps'),
    )
    const bps = nativeUnits(
      rates.find((rate) => rate !== undefined),
      0,
    )
    if (bps === undefined) return undefined
    return marketFees({ kind: 'shares', bps }, 'feeRateBps of the market record')
  },
  orderRules: { minimumSize: 1, sizeStep: 1, minimumValue: MONEY_ONE, gtdEarly: 0 },
  archivedRules({ venue, native }) {
    const { priceDecimals } = VENUES[venue]
    const places = nativeUnits(
      nativeField(native['market'], 'decimalPrecision') ??
        nativeField(native['topic'], 'decimalPrecision'),
      0,
    )
    if (places === undefined || places > priceDecimals) return undefined
    return {
      ticks: evenTicks(venue, POW10[priceDecimals - places]!),
      source: 'decimalPrecision of the market record',
    }
  },
  staticFields: {
    topic: ['feeRateBps', 'decimalPrecision'],
    category: ['feeRateBps', 'decimalPrecision'],
    market: ['feeRateBps', 'decimalPrecision'],
  },
}
