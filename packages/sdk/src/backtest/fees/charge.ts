import { POW10, VENUES, type VenueId } from '../../domain/index.ts'
import { divideBig, PRICE_ONE } from '../money.ts'
import { CENT, type FeeFormula } from './schedule.ts'

/** One fill as the fee formulas see it. */
export type FeeFill = {
  readonly venue: VenueId
  readonly liquidity: 'taker' | 'maker'
  readonly side: 'buy' | 'sell'
  readonly price: number
  readonly size: number
  /** The signed change of cash before fees: negative for a buy. */
  readonly revenue: number
}

/** What a fill costs on top of its price. */
export type FeeCharge = {
  /** Money units taken from cash; what venue B gives back is already deducted. */
  readonly cash: number
  /** Units of the bought outcome that are not delivered (venue A). */
  readonly shares: number
  /** The value of the fee in money units, whatever it was paid in. */
  readonly value: number
  /** What a maker would get from the venue's daily pool if it paid per fill; never part of cash. */
  readonly rebate: number
}

/** What venue B owes an order: rounding paid too much over its fills so far, in money units. */
export type FeeAccumulator = { owed: number }

const FREE: FeeCharge = { cash: 0, shares: 0, value: 0, rebate: 0 }

/** Charges one fill. Only venue B looks at and changes the order's accumulator. */
export function charge(formula: FeeFormula, fill: FeeFill, order: FeeAccumulator): FeeCharge {
  switch (formula.kind) {
    case 'none':
      return FREE
    case 'quadratic':
      return chargeQuadratic(formula, fill, order)
    case 'curve':
      return chargeCurve(formula, fill)
    case 'shares':
      return chargeShares(formula, fill)
  }
}

/** The most that buying a size at or below a price can cost in fees, for the cash set aside. */
export function chargeBound(
  formula: FeeFormula,
  venue: VenueId,
  price: number,
  size: number,
): number {
  const worst = Math.min(price, PRICE_ONE / 2)
  const fill = { venue, liquidity: 'taker', side: 'buy', price: worst, size, revenue: 0 } as const
  switch (formula.kind) {
    case 'none':
    case 'shares':
      return 0
    case 'quadratic':
      return chargeQuadratic(formula, fill, { owed: 0 }).cash + CENT
    case 'curve':
      return chargeCurve(formula, fill).cash
  }
}

const CENTICENT = 10_000

function chargeQuadratic(
  formula: FeeFormula & { readonly kind: 'quadratic' },
  fill: FeeFill,
  order: FeeAccumulator,
): FeeCharge {
  const { venue, price, size, revenue } = fill
  const isTaker = fill.liquidity === 'taker'
  const rate = isTaker ? formula.taker : (formula.maker ?? 0)
  // rate 10^−6 × contracts 10^−d × p 10^−4 × (1 − p) 10^−4, in steps of $0.0001.
  const scale = POW10[6 + VENUES[venue].sizeDecimals + 8 - 4]!
  const product = rate * size * (price * (PRICE_ONE - price))
  let trade =
    (product <= Number.MAX_SAFE_INTEGER
      ? Math.ceil(product / scale)
      : divideBig(
          BigInt(rate) * BigInt(size) * BigInt(price) * BigInt(PRICE_ONE - price),
          BigInt(scale),
          'up',
        )) * CENTICENT
  if (!isTaker && formula.makerFlat !== undefined) {
    const flat = BigInt(formula.makerFlat) * BigInt(size)
    const step = BigInt(POW10[VENUES[venue].sizeDecimals]! * CENTICENT)
    trade = divideBig(flat, step, 'up') * CENTICENT
  }
  const change = revenue - trade
  const rounding = change - Math.floor(change / formula.precision) * formula.precision
  order.owed += rounding
  // Whole cents, as soon as there is one ("exceeds" of the docs must be ≥ for eight one-lots to cost
  // what one eight-lot costs), and never more than the fill's own fee.
  const back = Math.min(
    Math.floor(order.owed / CENT) * CENT,
    Math.floor((trade + rounding) / CENT) * CENT,
  )
  order.owed -= back
  const cash = trade + rounding - back
  return { cash, shares: 0, value: cash, rebate: 0 }
}

function chargeCurve(formula: FeeFormula & { readonly kind: 'curve' }, fill: FeeFill): FeeCharge {
  const { venue, price, size } = fill
  const { exponent } = formula
  const spread = (BigInt(price) * BigInt(PRICE_ONE - price)) ** BigInt(exponent)
  const exact = BigInt(formula.rate) * BigInt(size) * spread
  // To 10^−5 of a USDC, which is 1,000 money units.
  const scale = 10n ** BigInt(6 + VENUES[venue].sizeDecimals + 8 * exponent - 5)
  const full = divideBig(exact, scale, 'down') * 1000
  if (fill.liquidity === 'taker') return { cash: full, shares: 0, value: full, rebate: 0 }
  const rebate = divideBig(BigInt(full) * BigInt(formula.rebate), 1_000_000_000n, 'down') * 1000
  return { cash: 0, shares: 0, value: 0, rebate }
}

function chargeShares(formula: FeeFormula & { readonly kind: 'shares' }, fill: FeeFill): FeeCharge {
  if (fill.liquidity === 'maker') return FREE
  const { venue, price, size } = fill
  const lesser = BigInt(Math.min(price, PRICE_ONE - price))
  const points = BigInt(formula.bps) * BigInt(size) * lesser
  // bps 10^−4 × shares 10^−d × 10^−4, in money units of 10^−8; the chain is finer, we round up.
  const share = BigInt(POW10[VENUES[venue].sizeDecimals]!)
  const value = divideBig(points, share, 'up')
  if (fill.side === 'sell') return { cash: value, shares: 0, value, rebate: 0 }
  // The fee's value in shares at the trade's price.
  const shares = divideBig(points, BigInt(price) * 10_000n, 'up')
  return { cash: 0, shares, value, rebate: 0 }
}
