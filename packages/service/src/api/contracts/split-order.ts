import {
  charge,
  MONEY_DECIMALS,
  notional,
  SHARE_DECIMALS,
  type FeeAccumulator,
} from '@priorbook/sdk/backtest'
import { POW10, VENUES } from '@priorbook/sdk/domain'
import type { NetBook, NetLevel } from './net-book.ts'

/** What an order does at one member. */
export type OrderPart = {
  readonly member: number
  /** In units of the venue. */
  size: number
  /** What is held or sold after a fee in shares, in hundred-millionths. */
  delivered: number
  /** The worst price that is used, in ticks of the venue. */
  limit: number
  levels: number
  /** In money units: the sum of price × size, the value of the fee, and the cash that moves. */
  amount: number
  fee: number
  cash: number
  readonly rounding: FeeAccumulator
}

/** An order split over venues. */
export type SplitOrder = {
  readonly parts: readonly OrderPart[]
  /** Delivered or sold, in hundred-millionths of a share. */
  readonly filled: number
}

/**
 * Takes levels by their net price until a size is delivered (buy) or sold. Fees of fills are those of the venue with
 * its rounding, each level being one fill of its order; so another split may be cheaper by that rounding.
 */
export function splitOrder(
  books: readonly NetBook[],
  levels: readonly NetLevel[],
  side: 'buy' | 'sell',
  size: number,
): SplitOrder {
  const parts = new Map<number, OrderPart>()
  const byMember = new Map(books.map((book) => [book.member, book]))
  let left = size
  for (const level of levels) {
    if (left <= 0) break
    const { fees } = byMember.get(level.member)!
    const { venue } = fees.net
    const taken =
      side === 'buy'
        ? Math.min(level.size, fees.net.toBuy(level.price, left))
        : Math.min(level.size, Math.floor(left / shareUnit(venue)))
    if (taken <= 0) continue
    const part = partOf(parts, level.member)
    const delivered = fill(part, fees, side, level.price, taken)
    left -= Math.min(left, delivered)
  }
  return { parts: [...parts.values()], filled: size - left }
}

function partOf(parts: Map<number, OrderPart>, member: number): OrderPart {
  let part = parts.get(member)
  if (part === undefined) {
    const none = { size: 0, delivered: 0, limit: 0, levels: 0, amount: 0, fee: 0, cash: 0 }
    part = { member, ...none, rounding: { owed: 0 } }
    parts.set(member, part)
  }
  return part
}

function fill(
  part: OrderPart,
  { net, schedule }: NetBook['fees'],
  side: 'buy' | 'sell',
  price: number,
  size: number,
): number {
  const { venue } = net
  const amount = notional(venue, price, size, side === 'buy' ? 'up' : 'down')
  const revenue = side === 'buy' ? -amount : amount
  const order = { venue, liquidity: 'taker', side, price, size, revenue } as const
  const fee = charge(schedule.formula, order, part.rounding)
  const delivered = (size - fee.shares) * shareUnit(venue)
  part.size += size
  part.delivered += delivered
  part.limit = price
  part.levels++
  part.amount += amount
  part.fee += fee.value
  part.cash += side === 'buy' ? amount + fee.cash : amount - fee.cash
  return delivered
}

// Hundred-millionths of a share in a unit of size of a venue.
function shareUnit(venue: NetBook['fees']['net']['venue']): number {
  return POW10[SHARE_DECIMALS - VENUES[venue].sizeDecimals]!
}

/** The average of money over a size, rounded against the trader; undefined where nothing was filled. */
export function averagePrice(
  money: number,
  filled: number,
  side: 'buy' | 'sell',
): { readonly units: bigint; readonly scale: number } | undefined {
  if (filled === 0) return undefined
  const scale = 12
  const numerator = BigInt(money) * 10n ** BigInt(scale + SHARE_DECIMALS - MONEY_DECIMALS)
  const quotient = numerator / BigInt(filled)
  const isExact = quotient * BigInt(filled) === numerator
  return { units: isExact || side === 'sell' ? quotient : quotient + 1n, scale }
}
