import { POW10, VENUES, type VenueId } from '../domain/index.ts'
import type { FeeCharge } from './fees/index.ts'
import { MONEY_ONE, mulDiv, notional, payoutOf, PRICE_ONE } from './money.ts'

/** Where the money of a venue's account went, in money units; with the start they give the cash. */
export type Flows = {
  bought: number
  sold: number
  fees: number
  /** Fees paid in shares, by value; not part of the cash. */
  shareFees: number
  paidOut: number
  merged: number
  split: number
  /** What makers would have got from a daily pool; not part of the cash. */
  rebates: number
}

/** The holdings of one market. */
export type Holding = {
  /** Units by outcome. */
  readonly units: number[]
  /** What the units cost with fees, money units by outcome. */
  readonly cost: number[]
  /** Units set aside for resting sells, by outcome. */
  readonly reserved: number[]
}

/** One account per venue: collateral of one venue cannot pay at another. */
export class Account {
  readonly venue: VenueId
  readonly start: number
  cash: number
  /** Cash set aside for resting orders. */
  reserved = 0
  readonly flows: Flows = {
    bought: 0,
    sold: 0,
    fees: 0,
    shareFees: 0,
    paidOut: 0,
    merged: 0,
    split: 0,
    rebates: 0,
  }

  constructor(venue: VenueId, start: number) {
    this.venue = venue
    this.start = start
    this.cash = start
  }

  get free(): number {
    return this.cash - this.reserved
  }

  /** Cash by the flows alone: must always equal `cash`. */
  get expected(): number {
    const { bought, sold, fees, paidOut, merged, split } = this.flows
    return this.start - bought + sold - fees + paidOut + merged - split
  }
}

/** The signed change of cash of a fill before its fee, rounded against the trader. */
export function revenueOf(
  venue: VenueId,
  side: 'buy' | 'sell',
  price: number,
  size: number,
): number {
  return side === 'buy' ? -notional(venue, price, size, 'up') : notional(venue, price, size, 'down')
}

/**
 * Books a fill. At venue B an account never holds both outcomes: pairs turn into money at once, and a
 * sale of what is not held is a purchase of the other outcome.
 */
export function bookFill(
  account: Account,
  holding: Holding,
  outcome: number,
  side: 'buy' | 'sell',
  price: number,
  size: number,
  charge: FeeCharge,
): void {
  const { flows, venue } = account
  flows.fees += charge.cash
  flows.rebates += charge.rebate
  if (charge.shares > 0) flows.shareFees += charge.value
  account.cash -= charge.cash
  if (side === 'buy') {
    buy(account, holding, outcome, price, size, charge)
  } else {
    const held = Math.min(size, holding.units[outcome]!)
    if (held > 0) sell(account, holding, outcome, price, held)
    if (size > held) {
      buy(account, holding, 1 - outcome, PRICE_ONE - price, size - held, charge)
    }
  }
  if (venue === 'venueb') mergePairs(account, holding, Infinity)
}

/** Turns pairs into money; gives the number of units merged. */
export function mergePairs(account: Account, holding: Holding, most: number): number {
  const { units } = holding
  const pairs = Math.min(most, units[0]!, units[1]!)
  if (pairs <= 0) return 0
  for (const outcome of [0, 1]) release(holding, outcome, pairs)
  const money = payoutOf(account.venue, MONEY_ONE, pairs)
  account.cash += money
  account.flows.merged += money
  return pairs
}

/** Turns money into pairs; gives false where the cash does not suffice. */
export function splitPairs(account: Account, holding: Holding, size: number): boolean {
  const money = mulDiv(MONEY_ONE, size, POW10[VENUES[account.venue].sizeDecimals]!, 'up')
  if (money > account.free) return false
  account.cash -= money
  account.flows.split += money
  const half = Math.floor(money / 2)
  holding.units[0]! += size
  holding.units[1]! += size
  holding.cost[0]! += money - half
  holding.cost[1]! += half
  return true
}

/** Pays a market out; payouts are money units a share. Venue B keeps cents: the rest is its fee. */
export function payOut(
  account: Account,
  holding: Holding,
  payouts: readonly number[],
): { readonly paid: number; readonly fee: number } {
  let paid = 0
  for (const [outcome, units] of holding.units.entries()) {
    paid += payoutOf(account.venue, payouts[outcome] ?? 0, units)
    release(holding, outcome, units)
  }
  const fee = account.venue === 'venueb' ? paid % CENT : 0
  account.cash += paid - fee
  account.flows.paidOut += paid
  account.flows.fees += fee
  return { paid, fee }
}

const CENT = 1_000_000

function buy(
  account: Account,
  holding: Holding,
  outcome: number,
  price: number,
  size: number,
  charge: FeeCharge,
): void {
  const cost = notional(account.venue, price, size, 'up')
  account.cash -= cost
  account.flows.bought += cost
  holding.units[outcome]! += size - charge.shares
  holding.cost[outcome]! += cost + charge.cash
}

function sell(
  account: Account,
  holding: Holding,
  outcome: number,
  price: number,
  size: number,
): void {
  const proceeds = notional(account.venue, price, size, 'down')
  account.cash += proceeds
  account.flows.sold += proceeds
  release(holding, outcome, size)
}

// The cost of what leaves is its part of the cost of what was held.
function release(holding: Holding, outcome: number, size: number): void {
  const held = holding.units[outcome]!
  if (size === 0) return
  const part =
    size === held ? holding.cost[outcome]! : mulDiv(holding.cost[outcome]!, size, held, 'down')
  holding.units[outcome] = held - size
  holding.cost[outcome]! -= part
}
