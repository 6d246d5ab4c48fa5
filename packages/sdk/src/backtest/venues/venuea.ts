import { POW10 } from '../../domain/index.ts'
import { MONEY_ONE, PRICE_DECIMALS } from '../money.ts'
import { evenTicks, marketFees, nativeField, nativeUnits, type TradingProfile } from './profile.ts'

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
  archivedRules({ native }) {
    const places = nativeUnits(
      nativeField(native['market'], 'decimalPrecision') ??
        nativeField(native['topic'], 'decimalPrecision'),
      0,
    )
    if (places === undefined || places > PRICE_DECIMALS) return undefined
    return {
      ticks: evenTicks(POW10[PRICE_DECIMALS - places]!),
      source: 'decimalPrecision of the market record',
    }
  },
  staticFields: {
    topic: ['feeRateBps', 'decimalPrecision'],
    category: ['feeRateBps', 'decimalPrecision'],
    market: ['feeRateBps', 'decimalPrecision'],
  },
}
