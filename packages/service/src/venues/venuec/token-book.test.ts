import { toMicros, type BookSnapshot, type Level, type Micros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { AT, bookMessage, changeMessage, entry, TIMESTAMP } from './fixtures.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { TokenBook } from './token-book.ts'

const SOURCE = 1_790_000_000_123_000

const normalizer = createVenueCNormalizer()

function bookOf(changes: object = {}): BookSnapshot {
  const [book] = normalizer.frame(bookMessage({ ...changes }), AT).events
  if (book?.kind !== 'snapshot') throw new Error('no book')
  return book
}

function change(book: TokenBook, changes: object, timestamp = TIMESTAMP): void {
  const message = { ...changeMessage([entry({ ...changes })]), timestamp }
  const [event] = normalizer.frame(message, AT).events
  if (event?.kind !== 'change') throw new Error('no change')
  book.change(event)
}

describe('a token book', () => {
  it('is like the books it was, in any order of levels, and like no other', () => {
    const book = new TokenBook()
    const first = bookOf()
    expect(isLike(book, first)).toBe(false)
    book.replace(first)
    expect(isLike(book, { ...first, bids: first.bids.toReversed() })).toBe(true)
    expect(isLike(book, { ...first, bids: first.asks, asks: first.bids })).toBe(false)
    expect(isLike(book, bookOf({ bids: [] }))).toBe(false)
    change(book, { price: '0.47', size: '100' })
    const second = { ...first, bids: [...first.bids, level(4700, 100_000_000)] }
    expect(isLike(book, second)).toBe(true)
    expect(isLike(book, first)).toBe(true)
    expect(isLike(book, { ...first, bids: [...first.bids, level(4700, 99_999_999)] })).toBe(false)
  })

  it('comes back to a state when a level comes and goes', () => {
    const book = new TokenBook()
    book.replace(bookOf())
    for (let index = 1; index < 3000; index++) change(book, { price: '0.3', size: String(index) })
    expect(isLike(book, bookOf())).toBe(false)
    change(book, { price: '0.3', size: '0' })
    change(book, { price: '0.2', size: '0' })
    expect(isLike(book, bookOf())).toBe(true)
  })

  it('tells sizes apart that differ beyond 2^32', () => {
    const book = new TokenBook()
    const bids = [level(100, 5_000_000_000_000)]
    book.replace({ ...bookOf(), bids })
    const larger = [level(100, 5_000_000_000_000 + 2 ** 32)]
    expect(isLike(book, { ...bookOf(), bids: larger })).toBe(false)
    expect(isLike(book, { ...bookOf(), bids })).toBe(true)
  })

  it('tells by the time what a book is that it never was', () => {
    const book = new TokenBook()
    book.replace(bookOf())
    change(book, { price: '0.3', size: '1' }, '1790000000133')
    const strange = bookOf({ bids: [] })
    const at = (ms: number): BookSnapshot => ({
      ...strange,
      source: (SOURCE + ms * 1000) as Micros,
    })
    expect(book.relate(at(-1))).toBe('older')
    expect(book.relate(at(0))).toBe('differs')
    expect(book.relate(at(9))).toBe('differs')
    expect(book.relate(at(10))).toBe('ahead')
    expect(book.relate(at(11))).toBe('ahead')
    for (let index = 0; index < 1100; index++) {
      change(book, { price: '0.3', size: '2' }, String(1_790_000_000_200 + index))
    }
    expect(book.relate(at(152))).toBe('older')
    expect(book.relate(at(154))).toBe('differs')
  })

  it('knows nothing before a full book and after it was forgotten', () => {
    const book = new TokenBook()
    change(book, {})
    expect(book.isKnown).toBe(false)
    book.replace(bookOf())
    expect(book.isKnown).toBe(true)
    expect(book.source).toBe(toMicros(SOURCE))
    book.forget()
    expect(book.isKnown).toBe(false)
    expect(book.source).toBeUndefined()
    expect(isLike(book, bookOf())).toBe(false)
  })
})

function isLike(book: TokenBook, other: BookSnapshot): boolean {
  return book.relate(other) === 'same'
}

function level(price: number, size: number): Level {
  return { price, size } as Level
}
