import type { VenueId } from '../domain/index.ts'
import type { Ladder } from '../tape/index.ts'
import { affordable, MONEY_ONE, notional } from './money.ts'

/** The recorded book that an order meets, in its own outcome. */
export type MatchBook = {
  readonly ladder: Ladder
  /** Ticks of the venue per tick of the ladder. */
  readonly factor: number
  readonly outcome: number
}

/** An order as the book sees it. */
export type MatchOrder = {
  readonly outcome: number
  /** Side (0 is a bid) and limit in the book's own outcome. */
  readonly bookSide: 0 | 1
  readonly bookPrice: number
  readonly remaining: number
  /** Money to spend instead of `remaining`. */
  readonly money?: number | undefined
}

/** One level that an order takes from; the price is in the book's own outcome. */
export type LevelFill = {
  readonly bookPrice: number
  readonly size: number
  /** The price in the order's outcome, and the value at it in money units. */
  readonly price: number
  readonly value: number
}

/** What the recorded book gives an order. */
export type Match = {
  readonly fills: readonly LevelFill[]
  readonly units: number
  /** Money units. */
  readonly value: number
  /** True where the order is filled completely. */
  readonly isWhole: boolean
}

// A buy by amount counts as complete once it has less than a cent left.
const AMOUNT_LEFT = MONEY_ONE / 100

const NOTHING: Match = { fills: [], units: 0, value: 0, isWhole: false }

/**
 * Matches an order against the other side of a recorded book, best price first, up to its limit.
 * Changes nothing: `consumed` are the units of each level (price × 2 + side) that earlier fills of the
 * run have used up, because the recorded book does not know about them.
 */
export function matchOrder(
  order: MatchOrder,
  book: MatchBook,
  consumed: ReadonlyMap<number, number>,
  venue: VenueId,
): Match {
  const { ladder, factor } = book
  const isBid = order.bookSide === 0
  // Most orders that rest meet nothing.
  const best = isBid ? ladder.bestAsk : ladder.bestBid
  const isApart = isBid ? best * factor > order.bookPrice : best * factor < order.bookPrice
  if (isApart && order.money === undefined && order.remaining > 0) return NOTHING
  const one = ladder.one * factor
  const otherSide = isBid ? 1 : 0
  const end = isBid ? ladder.one : 0
  const fills: LevelFill[] = []
  let units = 0
  let value = 0
  for (
    let tick = isBid ? ladder.bestAsk : ladder.bestBid;
    tick !== end;
    tick = isBid ? ladder.nextAsk(tick) : ladder.nextBid(tick)
  ) {
    const bookPrice = tick * factor
    if (isBid ? bookPrice > order.bookPrice : bookPrice < order.bookPrice) break
    const available =
      ladder.sizeAt(tick * 2 + otherSide) - (consumed.get(bookPrice * 2 + otherSide) ?? 0)
    if (available <= 0) continue
    const price = order.outcome === book.outcome ? bookPrice : one - bookPrice
    const wanted =
      order.money === undefined
        ? order.remaining - units
        : affordable(venue, price, order.money - value)
    const size = Math.min(available, wanted)
    if (size <= 0) break
    const cost = notional(venue, price, size, 'up')
    fills.push({ bookPrice, size, price, value: cost })
    units += size
    value += cost
    if (size < available || (order.money === undefined && units >= order.remaining)) break
  }
  const isWhole =
    order.money === undefined ? units >= order.remaining : order.money - value < AMOUNT_LEFT
  return { fills, units, value, isWhole }
}
