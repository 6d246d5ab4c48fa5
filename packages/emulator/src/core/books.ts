import type { Book, Level } from './upstream.ts'

/** The price of a full payout, in ten-thousandths. */
export const ONE = 10_000

/** The book of the second outcome: a bid for the one is an offer of the other at the complement. */
export function mirror({ bids, asks }: Book): Book {
  return { bids: asks.map(complement), asks: bids.map(complement) }
}

/** Money resting in a book, in millionths of a dollar: what its bids pay and what its asks would. */
export function restingMoney({ bids, asks }: Book): number {
  let money = 0
  for (const { price, size } of bids) money += Math.round((price * size) / ONE)
  for (const { price, size } of asks) money += Math.round(((ONE - price) * size) / ONE)
  return money
}

function complement({ price, size }: Level): Level {
  // Whole hundredths of a ten-thousandth: differences of decimals are not exact.
  return { price: Math.round((ONE - price) * 100) / 100, size }
}
