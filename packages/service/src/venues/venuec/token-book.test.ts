import { toMicros, type BookSnapshot, type Level } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { AT, bookMessage, changeMessage, entry } from './fixtures.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { TokenBook } from './token-book.ts'

const normalizer = createVenueCNormalizer()

function bookOf(changes: object = {}): BookSnapshot {
  const [book] = normalizer.frame(bookMessage({ ...changes }), AT).events
  if (book?.kind !== 'snapshot') throw new Error('no book')
  return book
}

function change(book: TokenBook, changes: object): void {
  const [event] = normalizer.frame(changeMessage([entry({ ...changes })]), AT).events
  if (event?.kind !== 'change') throw new Error('no change')
  book.change(event)
}

describe('a token book', () => {
  it('is like the books it was, in any order of levels, and like no other', () => {
    const book = new TokenBook()
    const first = bookOf()
    expect(book.wasLike(first)).toBe(false)
    book.replace(first)
    expect(book.wasLike({ ...first, bids: first.bids.toReversed() })).toBe(true)
    expect(book.wasLike({ ...first, bids: first.asks, asks: first.bids })).toBe(false)
    expect(book.wasLike(bookOf({ bids: [] }))).toBe(false)
    change(book, { price: '0.47', size: '100' })
    const second = { ...first, bids: [...first.bids, level(4700, 100_000_000)] }
    expect(book.wasLike(second)).toBe(true)
    expect(book.wasLike(first)).toBe(true)
    expect(book.wasLike({ ...first, bids: [...first.bids, level(4700, 99_999_999)] })).toBe(false)
  })

  it('comes back to a state when a level comes and goes', () => {
    const book = new TokenBook()
    book.replace(bookOf())
    for (let index = 1; index < 3000; index++) change(book, { price: '0.3', size: String(index) })
    expect(book.wasLike(bookOf())).toBe(false)
    change(book, { price: '0.3', size: '0' })
    change(book, { price: '0.2', size: '0' })
    expect(book.wasLike(bookOf())).toBe(true)
  })

  it('tells sizes apart that differ beyond 2^32', () => {
    const book = new TokenBook()
    const bids = [level(100, 5_000_000_000_000)]
    book.replace({ ...bookOf(), bids })
    expect(book.wasLike({ ...bookOf(), bids: [level(100, 5_000_000_000_000 + 2 ** 32)] })).toBe(
      false,
    )
    expect(book.wasLike({ ...bookOf(), bids })).toBe(true)
  })

  it('knows nothing before a full book and after it was forgotten', () => {
    const book = new TokenBook()
    change(book, {})
    expect(book.isKnown).toBe(false)
    book.replace(bookOf())
    expect(book.isKnown).toBe(true)
    expect(book.source).toBe(toMicros(1_790_000_000_123_000))
    book.forget()
    expect(book.isKnown).toBe(false)
    expect(book.source).toBeUndefined()
    expect(book.wasLike(bookOf())).toBe(false)
  })
})

function level(price: number, size: number): Level {
  return { price, size } as Level
}
