import {
  decimalText,
  parseScaled,
  POW10,
  printScaled,
  VENUES,
  VENUE_IDS,
  type VenueId,
} from '../domain/index.ts'

/** Money is a whole number of 10^−8 of the venue's collateral: exact up to 90 million. */
export const MONEY_DECIMALS = 8

/** One unit of collateral (a dollar, a USDC, a USDT) in money units. */
export const MONEY_ONE: number = POW10[MONEY_DECIMALS]!

/** Prices of all venues are whole ten-thousandths: 5200 means 0.52. */
export const PRICE_DECIMALS = 4

/** The price 1.0: what a winning share pays. */
export const PRICE_ONE: number = POW10[PRICE_DECIMALS]!

/** Money units that one share costs per ten-thousandth of its price. */
export const MONEY_PER_TICK: number = MONEY_ONE / PRICE_ONE

/** Direction of rounding; callers choose the one that costs the trader. */
export type Rounding = 'down' | 'up'

/** a × b / divisor of whole numbers, exact at any size; only the quotient must be a safe integer. */
export function mulDiv(a: number, b: number, divisor: number, rounding: Rounding): number {
  const product = a * b
  if (Number.isSafeInteger(product)) {
    const quotient = Math.floor(product / divisor)
    // A division of doubles can round up to the next whole number.
    const exact = quotient * divisor > product ? quotient - 1 : quotient
    return rounding === 'up' && exact * divisor !== product ? exact + 1 : exact
  }
  return divideBig(BigInt(a) * BigInt(b), BigInt(divisor), rounding)
}

/** Divides whole numbers, rounding towards −∞ (down) or +∞ (up). */
export function divideBig(value: bigint, divisor: bigint, rounding: Rounding): number {
  let quotient = value / divisor
  const rest = value - quotient * divisor
  if (rest !== 0n && rest > 0n === (rounding === 'up')) quotient += rounding === 'up' ? 1n : -1n
  return Number(quotient)
}

// The smallest amount that a venue moves, in money units; at least one of ours.
const STEPS = Object.fromEntries(
  VENUE_IDS.map((venue) => {
    const { amountDecimals } = VENUES[venue].trading
    return [venue, POW10[MONEY_DECIMALS - Math.min(amountDecimals, MONEY_DECIMALS)]!]
  }),
) as Readonly<Record<VenueId, number>>

/** The value of a size at a price, rounded to the smallest amount that the venue moves. */
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

/** The payout of a size at `payout` money units per share, rounded down. */
export function payoutOf(venue: VenueId, payout: number, sizeUnits: number): number {
  return mulDiv(payout, sizeUnits, POW10[VENUES[venue].sizeDecimals]!, 'down')
}

/** The largest size whose cost at a price does not exceed an amount. */
export function affordable(venue: VenueId, priceTicks: number, amount: number): number {
  if (amount <= 0) return 0
  const share = POW10[VENUES[venue].sizeDecimals]!
  let size = mulDiv(amount, share, priceTicks * MONEY_PER_TICK, 'down')
  while (size > 0 && notional(venue, priceTicks, size, 'up') > amount) size--
  return size
}

/** Parses an amount of money, such as `250` or `'0.05'`, into money units. */
export function parseMoney(value: unknown): number {
  return parseScaled(decimalText(value), MONEY_DECIMALS)
}

/** Prints money units as decimal text. */
export function printMoney(units: number): string {
  return printScaled(units, MONEY_DECIMALS)
}
