import { POW10, VENUES, type VenueId } from '../domain/index.ts'
import { RATE_DECIMALS, type FeeFormula } from './fees.ts'
import { priceOne } from './money.ts'

/** Net prices are whole numbers of 10^−12 of the collateral. */
export const NET_DECIMALS = 12

/** The price 1.0 in units of net prices. */
export const NET_ONE: number = POW10[NET_DECIMALS]!

/** Sizes of all venues are whole numbers of 10^−8 of a share here, the finest step that any of them has. */
export const SHARE_DECIMALS = 8

// Prices whose net price is remembered; a venue has few, except one with very fine ticks.
const MAX_KNOWN = 20_000

/**
 * What a share costs or brings after the fee of a taker, by its price alone: the formula without the
 * rounding of single fills, which depends on their size. Rounded against the trader.
 */
export class NetPrices {
  readonly venue: VenueId
  readonly formula: FeeFormula
  readonly #one: number
  readonly #buys = new Map<number, number>()
  readonly #sells = new Map<number, number>()

  constructor(venue: VenueId, formula: FeeFormula) {
    this.venue = venue
    this.formula = formula
    this.#one = priceOne(venue)
  }

  /** What one share costs that is bought at a price in ticks of the venue, and really delivered. */
  buy(price: number): number {
    return remember(this.#buys, price, () => this.#buy(BigInt(price)))
  }

  /** What one share brings that is sold at a price. */
  sell(price: number): number {
    return remember(this.#sells, price, () => {
      const { units, scale } = this.#fee(BigInt(price))
      return toNet(BigInt(price) * scale - units, BigInt(this.#one) * scale, 'down')
    })
  }

  /**
   * How much of a bought size is delivered, in hundred-millionths of a share: all of it, except where the
   * fee is paid in shares.
   */
  delivered(price: number, size: number): number {
    const whole = size * POW10[SHARE_DECIMALS - VENUES[this.venue].sizeDecimals]!
    if (this.formula.kind !== 'shares') return whole
    const [part, of] = this.#kept(BigInt(price))
    return Number((BigInt(whole) * part) / of)
  }

  /** The least size of the venue to buy so that this much is delivered, in its units. */
  toBuy(price: number, delivered: number): number {
    const unit = BigInt(POW10[SHARE_DECIMALS - VENUES[this.venue].sizeDecimals]!)
    const [part, of] = this.formula.kind === 'shares' ? this.#kept(BigInt(price)) : ALL
    return Number(ceilDivide(BigInt(delivered) * of, part * unit))
  }

  #buy(price: bigint): number {
    const one = BigInt(this.#one)
    if (this.formula.kind === 'shares') {
      const [part, of] = this.#kept(price)
      return toNet(price * of, one * part, 'up')
    }
    const { units, scale } = this.#fee(price)
    return toNet(price * scale + units, one * scale, 'up')
  }

  // Where a fee is paid in shares: the part that is delivered, as a fraction.
  #kept(price: bigint): readonly [bigint, bigint] {
    const rest = BigInt(this.#one) - price
    const bps = BigInt(this.formula.kind === 'shares' ? this.formula.bps : 0)
    const cheaper = price < rest ? price : rest
    return [price * 10_000n - bps * cheaper, price * 10_000n]
  }

  // The fee of one share, in `scale` parts of a tick.
  #fee(price: bigint): { readonly units: bigint; readonly scale: bigint } {
    const { formula } = this
    const one = BigInt(this.#one)
    const rest = one - price
    switch (formula.kind) {
      case 'none':
        return { units: 0n, scale: 1n }
      case 'quadratic':
        return { units: BigInt(formula.taker) * price * rest, scale: RATE_ONE * one }
      case 'curve': {
        const exponent = BigInt(formula.exponent)
        const variance = (price * rest) ** exponent
        // rate × (p × (1 − p))^e is in parts of 1; a tick is 1 / one of it.
        return {
          units: BigInt(formula.rate) * variance * one,
          scale: RATE_ONE * one ** (2n * exponent),
        }
      }
      case 'shares':
        return { units: BigInt(formula.bps) * (price < rest ? price : rest), scale: 10_000n }
    }
  }
}

const RATE_ONE = BigInt(POW10[RATE_DECIMALS]!)
const ALL = [1n, 1n] as const

/** The net prices of a formula at a venue; the same formula gives the same object. */
export function netPricesOf(venue: VenueId, formula: FeeFormula): NetPrices {
  const name = `${venue} ${JSON.stringify(formula)}`
  return remember(made, name, () => new NetPrices(venue, formula))
}

const made = new Map<string, NetPrices>()

function remember<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = known.get(key)
  if (value === undefined) {
    value = make()
    if (known.size < MAX_KNOWN) known.set(key, value)
  }
  return value
}

function toNet(units: bigint, one: bigint, rounding: 'up' | 'down'): number {
  const scaled = units * BigInt(NET_ONE)
  return Number(rounding === 'up' ? ceilDivide(scaled, one) : -ceilDivide(-scaled, one))
}

// Towards +∞.
function ceilDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value > 0n && quotient * divisor !== value ? quotient + 1n : quotient
}
