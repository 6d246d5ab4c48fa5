import { printScaled } from '@priorbook/sdk/domain'
import { mirror, ONE } from '../../core/books.ts'
import type { Book, Level, Proposition } from '../../core/upstream.ts'
import { summaryHash, type BookSummary, type WireLevel } from './book-hash.ts'
import type { Condition } from './conditions.ts'

/** Reads the books of both tokens of a market. */
export type ReadBooks = (condition: Condition) => readonly [TokenBook, TokenBook]

/** Max markets whose books are kept: enough for the busy ones, which are read again and again. */
const KEPT = 1_024

/** Creates a reader that computes each state of a busy book once. */
export function createBookReader(): ReadBooks {
  type Kept = {
    readonly version: number
    readonly tick: number
    readonly books: readonly [TokenBook, TokenBook]
  }
  const kept = new Map<Proposition, Kept>()
  return (condition) => {
    const { proposition } = condition
    const { version, tick, book } = proposition
    const known = kept.get(proposition)
    if (known?.version === version && known.tick === tick) return known.books
    const books = [
      new TokenBook(condition, 0, book),
      new TokenBook(condition, 1, mirror(book)),
    ] as const
    // The market that was read first or changed longest ago goes first.
    kept.delete(proposition)
    kept.set(proposition, { version, tick, books })
    if (kept.size > KEPT) kept.delete(kept.keys().next().value!)
    return books
  }
}

/** One state of the book of one outcome token, in its own terms. */
export class TokenBook {
  /** Best first, as the world and the log of the truth have it. */
  readonly book: Book
  readonly #condition: Condition
  readonly #index: 0 | 1
  #bids: readonly WireLevel[] | undefined
  #asks: readonly WireLevel[] | undefined
  #hash: { readonly time: number; readonly text: string } | undefined

  constructor(condition: Condition, index: 0 | 1, book: Book) {
    this.book = book
    this.#condition = condition
    this.#index = index
  }

  /** The best prices; sentinels where a side is empty: a bid of 0, an ask of 1. */
  get bestBid(): string {
    return priceText(this.book.bids[0]?.price ?? 0)
  }

  get bestAsk(): string {
    return priceText(this.book.asks[0]?.price ?? ONE)
  }

  /** The ladder as the venue writes it: worst first on both sides. */
  get bids(): readonly WireLevel[] {
    return (this.#bids ??= toLevels(this.book.bids))
  }

  get asks(): readonly WireLevel[] {
    return (this.#asks ??= toLevels(this.book.asks))
  }

  /** The hash of the book in a message of this time. */
  hashAt(time: number): string {
    if (this.#hash?.time !== time) {
      this.#hash = { time, text: summaryHash(this.#summary(time, '')) }
    }
    return this.#hash.text
  }

  /** The book as REST gives it. */
  summaryAt(time: number): BookSummary {
    return this.#summary(time, this.hashAt(time))
  }

  #summary(time: number, hash: string): BookSummary {
    const { conditionId, tokens, event, proposition } = this.#condition
    return {
      market: conditionId,
      asset_id: tokens[this.#index],
      timestamp: String(time),
      hash,
      bids: this.bids,
      asks: this.asks,
      min_order_size: '5',
      tick_size: priceText(proposition.tick),
      neg_risk: event.negRiskId !== undefined,
      last_trade_price: lastTradeText(proposition.lastTrade),
    }
  }
}

function toLevels(levels: readonly Level[]): readonly WireLevel[] {
  return levels
    .map(({ price, size }) => ({ price: priceText(price), size: sizeText(size) }))
    .reverse()
}

/** A price as the venue writes it, without trailing zeros. */
export function priceText(price: number): string {
  return (PRICES[price] ??= printScaled(price, 4))
}

/** A size in shares, without trailing zeros. */
export function sizeText(size: number): string {
  return printScaled(size, 6)
}

/** The price of the other outcome's token. */
export function complementOf(price: number): number {
  return ONE - price
}

/** At least three decimals (recorded: 0.510), the same text for both tokens, empty before a trade. */
export function lastTradeText(price: number | undefined): string {
  if (price === undefined) return ''
  const digits = `0.${String(price).padStart(4, '0')}`
  return digits.endsWith('0') ? digits.slice(0, -1) : digits
}

const PRICES: string[] = []
