import type { TokenPlace } from './conditions.ts'
import type { Memory } from './memory.ts'
import { complementOf, priceText, type ReadBooks } from './token-book.ts'

/** What a route tells about the prices of one token. */
export type Quote = (place: TokenPlace) => string

/** The middle between the best prices; an empty side counts as its bound. */
export function midpointReader(readBooks: ReadBooks): Quote {
  return ({ condition, index }) => {
    const { bids, asks } = readBooks(condition)[index].book
    return printHalf((bids[0]?.price ?? 0) + (asks[0]?.price ?? 10_000))
  }
}

/** The distance between the best prices. */
export function spreadReader(readBooks: ReadBooks): Quote {
  return ({ condition, index }) => {
    const { bids, asks } = readBooks(condition)[index].book
    return priceText((asks[0]?.price ?? 10_000) - (bids[0]?.price ?? 0))
  }
}

/** The best price of one side, as documented: of BUY the best bid, of SELL the best ask. */
export function bestReader(readBooks: ReadBooks, side: 'BUY' | 'SELL'): Quote {
  return ({ condition, index }) => {
    const { bids, asks } = readBooks(condition)[index].book
    const best = side === 'BUY' ? bids[0] : asks[0]
    return priceText(best?.price ?? 0)
  }
}

/** Reads a side of a query or a body; undefined where it is neither. */
export function parseSide(text: unknown): 'BUY' | 'SELL' | undefined {
  const side = typeof text === 'string' ? text.toUpperCase() : text
  return side === 'BUY' || side === 'SELL' ? side : undefined
}

/** The last trade in the terms of one token; without one a price of one half and an empty side. */
export function lastTradeOf(
  { condition, index }: TokenPlace,
  memory: Memory,
): { readonly price: string; readonly side: string } {
  const { proposition } = condition
  const { lastTrade } = proposition
  if (lastTrade === undefined) return { price: '0.5', side: '' }
  const isBuy = (memory.lastTaker(proposition) === 'buy') === (index === 0)
  const price = index === 0 ? lastTrade : complementOf(lastTrade)
  return { price: priceText(price), side: isBuy ? 'BUY' : 'SELL' }
}

// Half of a sum of prices in ten-thousandths may end with a five at the fifth decimal.
function printHalf(sum: number): string {
  return String(sum / 20_000)
}
