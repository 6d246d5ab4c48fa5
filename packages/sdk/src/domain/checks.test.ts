import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkBook, VIOLATIONS, type CheckedBook, type Violation } from './checks.ts'
import { runsOf } from './run-counts.testing.ts'

const good: CheckedBook = {
  id: 'KXGOLD15M-26AUG102130-30',
  received: 1_785_931_200_000_000,
  one: 100,
  bidPrice: [48, 47, 40],
  bidSize: [100, 2500, 1],
  askPrice: [52, 53],
  askSize: [300, 7],
}

describe('the six checks', () => {
  it('accept a valid book', () => {
    expect(checkBook(good)).toBeUndefined()
  })

  it.each<[name: string, violation: Violation, broken: Partial<CheckedBook>]>([
    ['no native identifier', 'missing_identity', { id: '' }],
    ['no observation time', 'missing_identity', { received: 0 }],
    ['a time before 1970', 'missing_identity', { received: -5 }],
    ['a time that is not a number', 'missing_identity', { received: NaN }],
    ['a time with a fraction', 'missing_identity', { received: 1.5 }],
    ['a price of 0', 'price_out_of_bounds', { bidPrice: [48, 47, 0] }],
    ['a price of 1', 'price_out_of_bounds', { askPrice: [52, 100] }],
    ['a negative price', 'price_out_of_bounds', { bidPrice: [48, 47, -1] }],
    ['a price that is not a number', 'price_out_of_bounds', { askPrice: [NaN, 53] }],
    ['more prices than sizes', 'unequal_lengths', { bidSize: [100, 2500] }],
    ['more sizes than prices', 'unequal_lengths', { askSize: [300, 7, 7] }],
    ['sizes without prices', 'unequal_lengths', { askPrice: [] }],
    ['bids that rise', 'unordered_levels', { bidPrice: [47, 48, 40] }],
    ['asks that fall', 'unordered_levels', { askPrice: [53, 52] }],
    ['a bid twice', 'duplicate_price', { bidPrice: [48, 48, 40] }],
    ['an ask twice', 'duplicate_price', { askPrice: [52, 52] }],
    ['a bid above the ask', 'crossed_book', { bidPrice: [53, 47, 40] }],
    ['a size of 0', 'bad_size', { bidSize: [100, 0, 1] }],
    ['a negative size', 'bad_size', { askSize: [300, -7] }],
    ['a size with a fraction', 'bad_size', { askSize: [300, 0.5] }],
    ['a size beyond 2^53 − 1', 'bad_size', { askSize: [300, 2 ** 53] }],
  ])('name %s', (_name, violation, broken) => {
    expect(checkBook({ ...good, ...broken })).toBe(violation)
  })

  it('accept locked, one-sided and empty books', () => {
    expect(checkBook({ ...good, bidPrice: [52, 47, 40] })).toBeUndefined()
    expect(checkBook({ ...good, bidPrice: [], bidSize: [] })).toBeUndefined()
    expect(checkBook({ ...good, askPrice: [], askSize: [] })).toBeUndefined()
    const none = { bidPrice: [], bidSize: [], askPrice: [], askSize: [] }
    expect(checkBook({ ...good, ...none })).toBeUndefined()
  })

  it('have a sentence for each violation', () => {
    for (const sentence of Object.values(VIOLATIONS)) expect(sentence).toMatch(/^[A-Z].*\.$/)
  })
})

describe('any valid book', () => {
  it('passes, also as typed arrays', () => {
    assertAll(1, (book) => {
      expect(checkBook(book)).toBeUndefined()
      const bidPrice = Uint32Array.from(book.bidPrice)
      const askSize = Float64Array.from(book.askSize)
      expect(checkBook({ ...book, bidPrice, askSize })).toBeUndefined()
    })
  })

  it('without an identity is rejected', () => {
    assertAll(2, (book, pick) => {
      const broken = [{ id: '' }, { received: 0 }, { received: NaN }, { received: -1 }]
      expect(checkBook({ ...book, ...broken[pick(4)] })).toBe('missing_identity')
    })
  })

  it('with a price outside (0, 1) is rejected', () => {
    assertAll(3, (book, pick) => {
      const bad = [0, -1, book.one, book.one + 1, NaN, Infinity, -Infinity][pick(7)]!
      expect(checkBook(replace(book, 'Price', pick, bad))).toBe('price_out_of_bounds')
    })
  })

  it('with a shortened array is rejected', () => {
    assertAll(4, (book, pick) => {
      const array = (['bidPrice', 'bidSize', 'askPrice', 'askSize'] as const)[pick(4)]!
      expect(checkBook({ ...book, [array]: book[array].slice(0, -1) })).toBe('unequal_lengths')
    })
  })

  it('with two swapped levels of a side is rejected', () => {
    assertAll(5, (book, pick) => {
      const side = pick(2) === 0 ? 'bidPrice' : 'askPrice'
      const at = pick(book[side].length - 1)
      const [left, right] = book[side].slice(at, at + 2)
      const prices = book[side].with(at, right!).with(at + 1, left!)
      expect(checkBook({ ...book, [side]: prices })).toBe('unordered_levels')
    })
  })

  it('with a repeated level is rejected', () => {
    assertAll(6, (book, pick) => {
      const side = pick(2) === 0 ? 'bid' : 'ask'
      const at = pick(book[`${side}Price`].length)
      const twice = (values: readonly number[]): number[] => values.toSpliced(at, 0, values[at]!)
      const price = twice(book[`${side}Price`])
      const size = twice(book[`${side}Size`])
      const broken = { ...book, [`${side}Price`]: price, [`${side}Size`]: size }
      expect(checkBook(broken)).toBe('duplicate_price')
    })
  })

  it('with swapped sides is crossed', () => {
    assertAll(7, (book) => {
      const crossed = {
        bidPrice: book.askPrice.toReversed(),
        bidSize: book.askSize,
        askPrice: book.bidPrice.toReversed(),
        askSize: book.bidSize,
      }
      expect(checkBook({ ...book, ...crossed })).toBe('crossed_book')
    })
  })

  it('with an invalid size is rejected', () => {
    assertAll(8, (book, pick) => {
      const bad = [0, -1, 0.5, NaN, Infinity, 2 ** 53][pick(6)]!
      expect(checkBook(replace(book, 'Size', pick, bad))).toBe('bad_size')
    })
  })
})

function assertAll(seed: number, property: (book: Book, pick: Pick) => void): void {
  const pick = fc.nat().map(
    (at): Pick =>
      (length) =>
        at % length,
  )
  fc.assert(fc.property(aBook(), pick, property), { numRuns: runsOf(300), seed })
}

type Pick = (length: number) => number

type Book = CheckedBook & {
  readonly bidPrice: readonly number[]
  readonly bidSize: readonly number[]
  readonly askPrice: readonly number[]
  readonly askSize: readonly number[]
}

// At least two levels a side, so that every mutation has something to break.
function aBook(): fc.Arbitrary<Book> {
  const aSize = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  return fc.constantFrom(100, 1000, 10_000).chain((one) => {
    const prices = fc.uniqueArray(fc.integer({ min: 1, max: one - 1 }), {
      minLength: 4,
      maxLength: 40,
    })
    return fc
      .record({
        prices,
        sizes: fc.array(aSize, { minLength: 40, maxLength: 40 }),
        received: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        cut: fc.nat(),
      })
      .map(({ prices, sizes, received, cut }) => {
        const sorted = prices.toSorted((a, b) => a - b)
        const bids = 2 + (cut % (sorted.length - 3))
        const bidPrice = sorted.slice(0, bids).toReversed()
        const askPrice = sorted.slice(bids)
        const bidSize = sizes.slice(0, bids)
        const askSize = sizes.slice(bids, sorted.length)
        return { id: 'KX', received, one, bidPrice, bidSize, askPrice, askSize }
      })
  })
}

function replace(book: Book, what: 'Price' | 'Size', pick: Pick, value: number): Book {
  const array = `${pick(2) === 0 ? 'bid' : 'ask'}${what}` as const
  return { ...book, [array]: book[array].with(pick(book[array].length), value) }
}
