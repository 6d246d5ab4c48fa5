import type { OrderBook } from '@priorbook/sdk/client'
import { POW10, printScaled, VENUES } from '@priorbook/sdk/domain'
import { microsOf, microsOrAbsent } from './time.ts'

/**
 * One side of a book, best first: prices in ticks and sizes in the venue's units, both exact. Typed
 * arrays pass from a worker to the page without a copy.
 */
export type Levels = { readonly ticks: Int32Array; readonly units: Float64Array }

/** A book at one instant. */
export type Book = {
  readonly sequence: number
  readonly received: number
  readonly source: number | undefined
  /** Decimals of the ticks. */
  readonly decimals: number
  /** Decimals of the units. */
  readonly sizeDecimals: number
  readonly bids: Levels
  readonly asks: Levels
}

/** A copy of the SDK's book; undefined while it is stale. */
export function toBook(order: OrderBook): Book | undefined {
  if (order.isStale || order.receivedTime === undefined) return undefined
  const { ladder, sizeDecimals } = order
  const decimals = VENUES[order.venue].priceDecimals
  const factor = POW10[decimals]! / ladder.one
  const side = ({ price, size }: LadderSide): Levels => ({
    ticks: Int32Array.from(price, (ticks) => ticks * factor),
    units: Float64Array.from(size),
  })
  return {
    sequence: order.sequence,
    received: microsOf(order.receivedTime),
    source: microsOrAbsent(order.sourceTime),
    decimals,
    sizeDecimals,
    bids: side(ladder.bids()),
    asks: side(ladder.asks()),
  }
}

type LadderSide = ReturnType<OrderBook['ladder']['bids']>

/** The book of the other outcome: bids and asks swap, at one minus their price. */
export function complementOf(book: Book): Book {
  const one = POW10[book.decimals]!
  const flip = ({ ticks, units }: Levels): Levels => ({
    ticks: ticks.map((tick) => one - tick),
    units,
  })
  return { ...book, bids: flip(book.asks), asks: flip(book.bids) }
}

/** Best prices, mid and spread as exact text; undefined where a side is empty. */
export function quoteOf({ bids, asks, decimals }: Book): {
  readonly bid: string | undefined
  readonly ask: string | undefined
  readonly mid: string | undefined
  readonly spread: string | undefined
} {
  const bid = bids.ticks.at(0)
  const ask = asks.ticks.at(0)
  const hasBoth = bid !== undefined && ask !== undefined
  return {
    bid: bid === undefined ? undefined : printScaled(bid, decimals),
    ask: ask === undefined ? undefined : printScaled(ask, decimals),
    // The mid may have half a tick, so it has one more decimal.
    mid: hasBoth ? printScaled((bid + ask) * 5, decimals + 1) : undefined,
    spread: hasBoth ? printScaled(ask - bid, decimals) : undefined,
  }
}
