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

/** Strategies and reports have prices in ten-thousandths: 5200 means 0.52, and 5200.25 means 0.520025. */
export const PRICE_DECIMALS = 4

/** The price 1.0 in ten-thousandths. */
export const PRICE_ONE: number = POW10[PRICE_DECIMALS]!

// The scales of a venue in one look-up, because they are needed several times for each order and quote.
type Scales = {
  /** The price 1.0 in ticks. */
  readonly one: number
  /** Money units that one share costs per tick. */
  readonly perTick: number
  /** One share in units. */
  readonly share: number
  /** The smallest amount that the venue moves, in money units; at least one of ours. */
  readonly step: number
}

const SCALES = Object.fromEntries(
  VENUE_IDS.map((venue) => {
    const { priceDecimals, sizeDecimals, trading } = VENUES[venue]
    // A small integer, so that prices computed from it are too.
    const one = POW10[priceDecimals]! | 0
    const step = POW10[MONEY_DECIMALS - Math.min(trading.amountDecimals, MONEY_DECIMALS)]!
    return [venue, { one, perTick: MONEY_ONE / one, share: POW10[sizeDecimals]!, step }]
  }),
) as Readonly<Record<VenueId, Scales>>

/** The price 1.0 in ticks of the venue, in which the engine counts: what a winning share pays. */
export function priceOne(venue: VenueId): number {
  return SCALES[venue].one
}

/** Money units that one share costs per tick of the venue. */
export function moneyPerTick(venue: VenueId): number {
  return SCALES[venue].perTick
}

/** A price in ten-thousandths, as strategies see it, from ticks of which `one` make 1.0. */
export function shownPrice(ticks: number, one: number): number {
  return one === PRICE_ONE ? ticks : (ticks * PRICE_ONE) / one
}

/** The decimal text of a price in ten-thousandths. */
export function printShownPrice(price: number): string {
  const finest = Math.max(...VENUE_IDS.map((venue) => VENUES[venue].priceDecimals))
  return printScaled(Math.round(price * POW10[finest - PRICE_DECIMALS]!), finest)
}

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

/** The value of a size at a price, rounded to the smallest amount that the venue moves. */
export function notional(
  venue: VenueId,
  priceTicks: number,
  sizeUnits: number,
  rounding: Rounding,
): number {
  const { step, share, perTick } = SCALES[venue]
  return mulDiv(priceTicks * perTick, sizeUnits, step * share, rounding) * step
}

/** The payout of a size at `payout` money units per share, rounded down. */
export function payoutOf(venue: VenueId, payout: number, sizeUnits: number): number {
  return mulDiv(payout, sizeUnits, SCALES[venue].share, 'down')
}

/** The largest size whose cost at a price does not exceed an amount. */
export function affordable(venue: VenueId, priceTicks: number, amount: number): number {
  if (amount <= 0) return 0
  const { share, perTick } = SCALES[venue]
  let size = mulDiv(amount, share, priceTicks * perTick, 'down')
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
