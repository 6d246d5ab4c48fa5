import { DOUBLE_ZERO, POW10, VENUES, type VenueId } from '../domain/index.ts'
import { divideBig, priceOne } from './money.ts'

/** Rates are whole millionths: 70,000 means 0.07. */
export const RATE_DECIMALS = 6

/** $0.01 in money units. */
export const CENT = 1_000_000

/** $0.0001 in money units. */
const CENTICENT = 10_000

/** The maker rate of `quadratic` fees on markets where makers pay: 0.0175, a quarter of the taker rate. */
export const QUADRATIC_MAKER_RATE = 17_500

/** How the fee of one fill is computed; `p` is its price between 0 and 1, `C` its size. */
export type FeeFormula =
  /** Free for takers and makers. */
  | { readonly kind: 'none' }
  /**
   * Three steps, the last two of which only concern rounding:
   *
   * 1. trade fee = rate × C × p × (1 − p), rounded up to $0.0001
   * 2. rounding = what it takes to round the new balance (revenue − trade fee) down to `precision`
   * 3. refund = whole cents of the rounding that this order has paid so far over all its fills
   *
   * fee = trade fee + rounding − refund
   *
   * Example: a taker buys 10 contracts at 0.50 at a rate of 0.07. The trade fee is
   * 0.07 × 10 × 0.5 × 0.5 = $0.1750, the balance changes by −$5.1750 and is rounded to −$5.18, so
   * rounding is $0.0050 and the fee $0.18. A second fill that also rounds by $0.0050 makes one whole
   * cent, which is refunded.
   */
  | {
      readonly kind: 'quadratic'
      /** The rate that takers pay, in millionths. */
      readonly taker: number
      /** The rate that makers pay; absent where it is not known whether they do. */
      readonly maker?: number
      /** A flat fee in money units per contract, which replaces step 1 for makers. */
      readonly makerFlat?: number
      /** The precision of the account's balance in money units: $0.01, or $0.0001 for direct members. */
      readonly precision: number
    }
  /**
   * Takers pay C × rate × (p × (1 − p))^exponent, rounded down to 0.00001 per fill; makers pay nothing.
   * `rebate` is the share of takers' fees, in millionths, that a daily pool pays to makers.
   */
  | {
      readonly kind: 'curve'
      readonly rate: number
      readonly exponent: number
      readonly rebate: number
    }
  /**
   * Takers pay bps / 10,000 × C × min(p, 1 − p); makers pay nothing. A sale pays in cash. A purchase
   * pays in shares of the same value at p, which are not delivered.
   */
  | { readonly kind: 'shares'; readonly bps: number }

/** A formula and where it comes from. */
export type FeeSchedule = {
  readonly formula: FeeFormula
  /** `market`: the market's archived record; `table`: the dated table; `assumed`: `assume.fees`. */
  readonly basis: 'market' | 'table' | 'assumed'
  readonly source: string
}

/** One row of the dated fee table. */
export type FeeTableRow = {
  readonly venue: VenueId
  /** A category of markets or the prefix of a series; absent means all markets of the venue. */
  readonly family?: string
  /** First day, as a UTC date. */
  readonly from: string
  /** First day after the row; absent means it still applies. No row covers a time of unknown fees. */
  readonly until?: string
  readonly formula: FeeFormula
  readonly source: string
}

/** Fees that the caller assumes where neither record nor table gives any. */
export type FeeAssumptions = Readonly<Partial<Record<VenueId, FeeFormula>>> & {
  /** Whether makers pay on venue B series whose archived record does not say so. */
  readonly venuebMaker?: 'none' | 'quadratic'
}

/** One fill as the fee formulas see it. */
export type FeeFill = {
  readonly venue: VenueId
  readonly liquidity: 'taker' | 'maker'
  readonly side: 'buy' | 'sell'
  /** In ticks of the venue. */
  readonly price: number
  readonly size: number
  /** The signed change of cash before fees: negative for a buy. */
  readonly revenue: number
}

/** The fee of one fill. */
export type FeeCharge = {
  /** Money units deducted from cash, refunds included. */
  readonly cash: number
  /** Units of the bought outcome that are not delivered. */
  readonly shares: number
  /** The value of the fee in money units, whether paid in cash or in shares. */
  readonly value: number
  /** The maker's rebate if the daily pool paid per fill; never part of the cash. */
  readonly rebate: number
}

/** The rounding that an order has paid under a `quadratic` fee and not had refunded, in money units. */
export type FeeAccumulator = { owed: number }

const FREE: FeeCharge = { cash: 0, shares: 0, value: 0, rebate: 0 }

/** Charges one fill. A `quadratic` fee updates the order's accumulator. */
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

/** The highest cash fee of buying a size at or below a price; orders reserve it. */
export function chargeBound(
  formula: FeeFormula,
  venue: VenueId,
  price: number,
  size: number,
): number {
  // p × (1 − p) is highest at 0.5.
  const worst = Math.min(price, priceOne(venue) / 2)
  switch (formula.kind) {
    case 'none':
    case 'shares':
      return 0
    case 'quadratic': {
      const last = lastBound
      const isSame = formula === last.formula && venue === last.venue
      if (!isSame || worst !== last.price || size !== last.size) {
        // What one fill at the worst price pays, as `chargeQuadratic` does, and a cent.
        const tradeFee = quadraticFee(formula.taker, venue, worst, size)
        const rounding = roundingOf(-tradeFee, formula.precision)
        last.formula = formula
        last.venue = venue
        last.price = worst
        last.size = size
        last.fee = tradeFee + rounding - refundOf(rounding, tradeFee + rounding) + CENT
      }
      return last.fee
    }
    case 'curve': {
      const fill = {
        venue,
        liquidity: 'taker',
        side: 'buy',
        price: worst,
        size,
        revenue: 0,
      } as const
      return chargeCurve(formula, fill).cash
    }
  }
}

// An order asks for its bound when it is checked and again when its cash is set aside.
const lastBound = {
  formula: undefined as FeeFormula | undefined,
  venue: undefined as VenueId | undefined,
  price: DOUBLE_ZERO,
  size: DOUBLE_ZERO,
  fee: DOUBLE_ZERO,
}

function chargeQuadratic(
  formula: FeeFormula & { readonly kind: 'quadratic' },
  fill: FeeFill,
  order: FeeAccumulator,
): FeeCharge {
  const tradeFee =
    fill.liquidity === 'maker' && formula.makerFlat !== undefined
      ? flatFee(formula.makerFlat, fill)
      : quadraticFee(
          fill.liquidity === 'taker' ? formula.taker : (formula.maker ?? 0),
          fill.venue,
          fill.price,
          fill.size,
        )
  const rounding = roundingOf(fill.revenue - tradeFee, formula.precision)
  order.owed += rounding
  const refund = refundOf(order.owed, tradeFee + rounding)
  order.owed -= refund
  const cash = tradeFee + rounding - refund
  return { cash, shares: 0, value: cash, rebate: 0 }
}

// What it takes to round a change of the balance down to the account's precision.
function roundingOf(change: number, precision: number): number {
  return change - Math.floor(change / precision) * precision
}

// The documentation refunds what "exceeds" a cent. It must mean "reaches": only then do eight fills
// of one contract cost the same as one fill of eight. A refund never exceeds the fill's own fee.
function refundOf(owed: number, fee: number): number {
  return Math.min(Math.floor(owed / CENT) * CENT, Math.floor(fee / CENT) * CENT)
}

// rate × C × p × (1 − p), rounded up to $0.0001.
function quadraticFee(rate: number, venue: VenueId, price: number, size: number): number {
  // The factors are whole numbers of 10^−6, 10^−sizeDecimals and twice 10^−priceDecimals; the result
  // counts 10^−4.
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const decimals = RATE_DECIMALS + sizeDecimals + 2 * priceDecimals - 4
  const scale = POW10[decimals]
  const rest = priceOne(venue) - price
  const product = rate * size * (price * rest)
  const centicents =
    scale !== undefined && product <= Number.MAX_SAFE_INTEGER
      ? Math.ceil(product / scale)
      : divideBig(
          BigInt(rate) * BigInt(size) * BigInt(price) * BigInt(rest),
          10n ** BigInt(decimals),
          'up',
        )
  return centicents * CENTICENT
}

// A flat fee in money units per contract, rounded up to $0.0001.
function flatFee(perContract: number, { venue, size }: FeeFill): number {
  const step = BigInt(POW10[VENUES[venue].sizeDecimals]! * CENTICENT)
  return divideBig(BigInt(perContract) * BigInt(size), step, 'up') * CENTICENT
}

function chargeCurve(formula: FeeFormula & { readonly kind: 'curve' }, fill: FeeFill): FeeCharge {
  const { venue, price, size } = fill
  const exponent = BigInt(formula.exponent)
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const variance = (BigInt(price) * BigInt(priceOne(venue) - price)) ** exponent
  const exact = BigInt(formula.rate) * BigInt(size) * variance
  // Rate, size and each p × (1 − p) count 10^−6, 10^−sizeDecimals and 10^−(2 × priceDecimals); the
  // result counts 10^−5, of which each is 1,000 money units.
  const scale =
    10n ** (BigInt(RATE_DECIMALS + sizeDecimals - 5) + 2n * BigInt(priceDecimals) * exponent)
  const fee = divideBig(exact, scale, 'down') * 1000
  if (fill.liquidity === 'taker') return { cash: fee, shares: 0, value: fee, rebate: 0 }
  const rebate = divideBig(BigInt(fee) * BigInt(formula.rebate), 1_000_000_000n, 'down') * 1000
  return { cash: 0, shares: 0, value: 0, rebate }
}

function chargeShares(formula: FeeFormula & { readonly kind: 'shares' }, fill: FeeFill): FeeCharge {
  if (fill.liquidity === 'maker') return FREE
  const { venue, price, size } = fill
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const cheaper = Math.min(price, priceOne(venue) - price)
  const exact = BigInt(formula.bps) * BigInt(size) * BigInt(cheaper)
  // Basis points count 10^−4 and prices 10^−priceDecimals; money units count 10^−8. The venue settles
  // with 18 decimals; rounding up to ours errs against the trader.
  const value = divideBig(exact, 10n ** BigInt(sizeDecimals + priceDecimals - 4), 'up')
  if (fill.side === 'sell') return { cash: value, shares: 0, value, rebate: 0 }
  const shares = divideBig(exact, BigInt(price) * 10_000n, 'up')
  return { cash: 0, shares, value, rebate: 0 }
}
