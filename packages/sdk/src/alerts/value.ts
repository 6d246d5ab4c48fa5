import type { AlertRule } from './rule.ts'

/** A book as rules see it: prices and sizes in units of 10^−12, undefined where a side is empty. */
export interface AlertBook {
  readonly bid: bigint | undefined
  readonly ask: bigint | undefined
  /** The sum of sizes at most `within` from the best price, or of the whole side. */
  depth(side: 'bid' | 'ask', within: bigint | undefined): bigint
}

/** A rule on one book. */
export type BookRule = Extract<AlertRule, { readonly kind: 'price' | 'spread' | 'depth' }>

/** What a rule watches in a book; undefined where the book has no such price. */
export function valueOf(rule: BookRule, book: AlertBook): bigint | undefined {
  const { bid, ask } = book
  switch (rule.kind) {
    case 'depth':
      return book.depth(rule.side, rule.within)
    case 'spread':
      return bid === undefined || ask === undefined ? undefined : ask - bid
    case 'price':
      if (rule.of === 'bid') return bid
      if (rule.of === 'ask') return ask
      // Prices have at most ten decimals, so the sum is even.
      return bid === undefined || ask === undefined ? undefined : (bid + ask) / 2n
  }
}

/** True for a rule on one book. */
export function isBookRule(rule: AlertRule): rule is BookRule {
  return rule.kind === 'price' || rule.kind === 'spread' || rule.kind === 'depth'
}
