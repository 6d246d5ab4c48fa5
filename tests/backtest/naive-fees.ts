const CENT = 1_000_000n

/**
 * The fees of one order at venue B by the published rules, in 10^−8 dollars: rate × contracts × p × (1 − p), the
 * balance down to the cent, and whole cents of what that took given back. `rate` counts hundredths.
 */
export class NaiveFees {
  private readonly rate: bigint
  private owed = 0n

  constructor(rate: bigint) {
    this.rate = rate
  }

  /** The fee of one fill; prices count 10^−4, sizes 10^−2. */
  charge(price: number, size: number, isBuy: boolean): bigint {
    const product = this.rate * BigInt(size) * BigInt(price) * BigInt(10_000 - price)
    const fee = ceil(product, 10_000n * 10_000n) / 10_000n
    const revenue = BigInt(price) * BigInt(size) * 100n * (isBuy ? -1n : 1n)
    const change = revenue - fee
    const rounding = change - floor(change, CENT)
    this.owed += rounding
    const whole = floor(this.owed, CENT)
    const most = floor(fee + rounding, CENT)
    const refund = whole < most ? whole : most
    this.owed -= refund
    return fee + rounding - refund
  }
}

function ceil(value: bigint, step: bigint): bigint {
  return (value >= 0n ? (value + step - 1n) / step : value / step) * step
}

function floor(value: bigint, step: bigint): bigint {
  return -ceil(-value, step)
}
