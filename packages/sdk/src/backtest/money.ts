import {
  decimalText,
  parseScaled,
  POW10,
  printScaled,
  VENUES,
  type VenueId,
} from '../domain/index.ts'

/** Money is kept as whole numbers of 10^−8 of a venue's collateral: exact up to 90 million. */
export const MONEY_DECIMALS = 8

/** One unit of collateral (a dollar, a USDC, a USDT) in money units. */
export const MONEY_ONE: number = POW10[MONEY_DECIMALS]!

/** Prices of all venues are whole ten-thousandths: 5200 is 0.52. */
export const PRICE_DECIMALS = 4

/** The price 1.0, which a winning share pays. */
export const PRICE_ONE: number = POW10[PRICE_DECIMALS]!

/** What one share costs at a price of one tick, in money units. */
export const MONEY_PER_TICK: number = MONEY_ONE / PRICE_ONE

/** Which way a division is rounded; towards the trader's loss is chosen by the caller. */
export type Rounding = 'down' | 'up'

/** (a × b) / divisor of whole numbers, exact at any size; only the quotient must be a safe integer. */
export function mulDiv(a: number, b: number, divisor: number, rounding: Rounding): number {
  const product = a * b
  if (Number.isSafeInteger(product)) {
    const quotient = Math.floor(product / divisor)
    // A quotient of doubles can be rounded up to the next whole number.
    const exact = quotient * divisor > product ? quotient - 1 : quotient
    return rounding === 'up' && exact * divisor !== product ? exact + 1 : exact
  }
  return divideBig(BigInt(a) * BigInt(b), BigInt(divisor), rounding)
}

/** The quotient of whole numbers, rounded down (towards −∞) or up (towards +∞). */
export function divideBig(value: bigint, divisor: bigint, rounding: Rounding): number {
  let quotient = value / divisor
  const rest = value - quotient * divisor
  if (rest !== 0n && rest > 0n === (rounding === 'up')) quotient += rounding === 'up' ? 1n : -1n
  return Number(quotient)
}

// The finest amount that a venue moves: B a hundredth of a cent per contract unit, C a millionth of a
// USDC, A (18 decimals on the chain) what we keep.
const STEPS: Readonly<Record<VenueId, number>> = { venuea: 1, venueb: 1, venuec: 100 }

/** What `size` units at a price cost or bring, rounded against the trader to the venue's finest amount. */
export function notional(
  venue: VenueId,
  priceTicks: number,
  sizeUnits: number,
  rounding: Rounding,
): number {
  const step = STEPS[venue]
  const divisor = step * POW10[VENUES[venue].sizeDecimals]!
  return mulDiv(priceTicks * MONEY_PER_TICK, sizeUnits, divisor, rounding) * step
}

/** What a number of shares pays at a payout of 10^−8 a share; rounded down. */
export function payoutOf(venue: VenueId, payout: number, sizeUnits: number): number {
  return mulDiv(payout, sizeUnits, POW10[VENUES[venue].sizeDecimals]!, 'down')
}

/** The largest size whose cost at a price is not above an amount. */
export function affordable(venue: VenueId, priceTicks: number, amount: number): number {
  if (amount <= 0) return 0
  const share = POW10[VENUES[venue].sizeDecimals]!
  let size = mulDiv(amount, share, priceTicks * MONEY_PER_TICK, 'down')
  while (size > 0 && notional(venue, priceTicks, size, 'up') > amount) size--
  return size
}

/** Reads an amount of money as text or number, such as `250` or `'0.05'`. */
export function parseMoney(value: unknown): number {
  return parseScaled(decimalText(value), MONEY_DECIMALS)
}

/** Prints money units as decimal text. */
export function printMoney(units: number): string {
  return printScaled(units, MONEY_DECIMALS)
}
