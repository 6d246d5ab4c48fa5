import type { BookSnapshot, Level } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { BookStates } from './book-states.ts'

const SOURCE = 1_790_000_000_123_000
const BIDS = [level(4800, 15_250_000), level(4900, 20_000_000)]
const ASKS = [level(5200, 25_000_000), level(5300, 60_000_000)]

/** A book whose states are remembered, with the sizes that its changes need. */
class Rig {
  readonly states = new BookStates()
  readonly #sizes = new Map<number, number>()
  #journal = 0

  replace({ bids, asks, source }: BookSnapshot): void {
    for (const key of this.#sizes.keys()) this.#set(key, 0)
    for (const { price, size } of bids) this.#set(price * 2, size)
    for (const { price, size } of asks) this.#set(price * 2 + 1, size)
    this.states.remember(source ?? 0, ++this.#journal)
  }

  bid(price: number, size: number, source = SOURCE): void {
    this.#set(price * 2, size)
    this.states.remember(source, ++this.#journal)
  }

  isLike(book: BookSnapshot): boolean {
    return this.states.relate(book) === 'same'
  }

  #set(key: number, size: number): void {
    this.states.change(key, this.#sizes.get(key) ?? 0, size)
    this.#sizes.set(key, size)
  }
}

describe('the states of a book', () => {
  it('hold the books it was, in any order of levels, and no other', () => {
    const rig = new Rig()
    const first = bookOf()
    expect(rig.isLike(first)).toBe(false)
    rig.replace(first)
    expect(rig.isLike({ ...first, bids: BIDS.toReversed() })).toBe(true)
    expect(rig.isLike({ ...first, bids: ASKS, asks: BIDS })).toBe(false)
    expect(rig.isLike(bookOf({ bids: [] }))).toBe(false)
    rig.bid(4700, 100_000_000)
    expect(rig.isLike({ ...first, bids: [...BIDS, level(4700, 100_000_000)] })).toBe(true)
    expect(rig.isLike(first)).toBe(true)
    expect(rig.isLike({ ...first, bids: [...BIDS, level(4700, 99_999_999)] })).toBe(false)
  })

  it('repeat when a level comes and goes', () => {
    const rig = new Rig()
    rig.replace(bookOf())
    for (let index = 1; index < 3000; index++) rig.bid(3000, index)
    expect(rig.isLike(bookOf())).toBe(false)
    rig.bid(3000, 0)
    rig.bid(2000, 0)
    expect(rig.isLike(bookOf())).toBe(true)
  })

  it('differ where sizes differ beyond 2^32', () => {
    const rig = new Rig()
    const bids = [level(100, 5_000_000_000_000)]
    rig.replace(bookOf({ bids }))
    const larger = [level(100, 5_000_000_000_000 + 2 ** 32)]
    expect(rig.isLike(bookOf({ bids: larger }))).toBe(false)
    expect(rig.isLike(bookOf({ bids }))).toBe(true)
  })

  it('place a book that they do not hold by its time', () => {
    const rig = new Rig()
    rig.replace(bookOf())
    rig.bid(3000, 1, SOURCE + 10_000)
    const at = (ms: number): BookSnapshot => bookOf({ bids: [], source: SOURCE + ms * 1000 })
    const relate = (ms: number): string => rig.states.relate(at(ms))
    expect(relate(-1)).toBe('older')
    expect(relate(0)).toBe('differs')
    expect(relate(9)).toBe('differs')
    expect(relate(10)).toBe('ahead')
    expect(relate(11)).toBe('ahead')
    for (let index = 0; index < 1100; index++) rig.bid(3000, 2, SOURCE + (77 + index) * 1000)
    expect(relate(152)).toBe('older')
    expect(relate(154)).toBe('differs')
  })

  it('do not count the state that the compared book led to itself', () => {
    const rig = new Rig()
    expect(rig.states.relate(bookOf({ journal: 1 }))).toBe('first')
    rig.replace(bookOf())
    expect(rig.states.relate(bookOf({ journal: 1 }))).toBe('first')
    expect(rig.states.relate(bookOf({ journal: 2 }))).toBe('same')
    rig.bid(4700, 5, SOURCE + 10_000)
    const own = bookOf({ bids: [...BIDS, level(4700, 5)], source: SOURCE + 10_000, journal: 2 })
    expect(rig.states.relate(own)).toBe('ahead')
  })

  it('are none before a full book and after they were cleared', () => {
    const rig = new Rig()
    rig.replace(bookOf())
    rig.states.clear()
    expect(rig.states.relate(bookOf())).toBe('first')
  })
})

function bookOf(
  changes: {
    bids?: readonly Level[]
    asks?: readonly Level[]
    source?: number
    journal?: number
  } = {},
): BookSnapshot {
  const book = { kind: 'snapshot', bids: BIDS, asks: ASKS, source: SOURCE, journal: 0, ...changes }
  return book as unknown as BookSnapshot
}

function level(price: number, size: number): Level {
  return { price, size } as Level
}
