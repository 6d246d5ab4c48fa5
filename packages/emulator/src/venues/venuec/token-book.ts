import { createHash } from 'node:crypto'
import { printScaled } from '@priorbook/sdk/domain'
import { mirror, ONE } from '../../core/books.ts'
import type { Book, Level, Proposition } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'

/** The book of one outcome token, in its own terms. */
export type TokenBook = {
  /** Best first, as the world and the log of the truth have it. */
  readonly book: Book
  /** 40 hex digits that identify the content of this token's book. */
  readonly hash: string
  /** Sentinels where a side is empty: a bid of 0, an ask of 1. */
  readonly bestBid: string
  readonly bestAsk: string
}

/** Reads the books of both tokens of a market. */
export type ReadBooks = (condition: Condition) => readonly [TokenBook, TokenBook]

/** Creates a reader that computes each state of a book once. */
export function createBookReader(): ReadBooks {
  type Kept = { readonly version: number; readonly books: readonly [TokenBook, TokenBook] }
  const kept = new WeakMap<Proposition, Kept>()
  return (condition) => {
    const { proposition, tokens } = condition
    const known = kept.get(proposition)
    if (known?.version === proposition.version) return known.books
    const { book } = proposition
    const content = contentOf(book)
    const books = [
      tokenBook(book, `${tokens[0]}/${content}`),
      tokenBook(mirror(book), `${tokens[1]}/${content}`),
    ] as const
    kept.set(proposition, { version: proposition.version, books })
    return books
  }
}

/** The ladder as the venue writes it: worst first on both sides. */
export function toLevels(levels: readonly Level[]): { price: string; size: string }[] {
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

const PRICES: string[] = []

function tokenBook(book: Book, content: string): TokenBook {
  return {
    book,
    hash: createHash('sha1').update(content).digest('hex'),
    bestBid: priceText(book.bids[0]?.price ?? 0),
    bestAsk: priceText(book.asks[0]?.price ?? ONE),
  }
}

// One text serves both tokens, as the one ladder is a function of the other.
function contentOf({ bids, asks }: Book): string {
  let text = ''
  for (const { price, size } of bids) text += `${price}:${size},`
  text += '/'
  for (const { price, size } of asks) text += `${price}:${size},`
  return text
}
