import { describe, expect, it } from 'vitest'
import { Ladder } from '../tape/index.ts'
import { matchOrder, type MatchBook, type MatchOrder } from './fills.ts'
import { MONEY_ONE } from './money.ts'

// Venue B counts hundredths of a contract. Bids 30 at 0.48, 5 at 0.45; asks 10 at 0.50, 20 at 0.52.
function quietBook(): MatchBook {
  const ladder = new Ladder(2)
  ladder.apply(48 * 2, 3000)
  ladder.apply(45 * 2, 500)
  ladder.apply(50 * 2 + 1, 1000)
  ladder.apply(52 * 2 + 1, 2000)
  return { ladder, factor: 100, outcome: 0 }
}

function match(order: Partial<MatchOrder>, consumed = new Map<number, number>()) {
  const full = { outcome: 0, bookSide: 0, bookPrice: 9999, remaining: 1500, ...order } as const
  const { fills, units, value, isWhole } = matchOrder(full, quietBook(), consumed, 'venueb')
  return { fills: fills.map(({ price, size }) => [price, size]), units, value, isWhole }
}

describe('an order against a book', () => {
  it('takes the best prices first', () => {
    expect(match({})).toStrictEqual({
      fills: [
        [5000, 1000],
        [5200, 500],
      ],
      units: 1500,
      value: 7.6 * MONEY_ONE,
      isWhole: true,
    })
  })

  it('stops at its limit and at the end of the book', () => {
    expect(match({ bookPrice: 5100 })).toMatchObject({ fills: [[5000, 1000]], isWhole: false })
    expect(match({ bookPrice: 4900 })).toMatchObject({ fills: [], units: 0, value: 0 })
    expect(match({ remaining: 9000 })).toMatchObject({ units: 3000, isWhole: false })
  })

  it('sells to the bids', () => {
    expect(match({ bookSide: 1, bookPrice: 4600 }).fills).toStrictEqual([[4800, 1500]])
    expect(match({ bookSide: 1, bookPrice: 1, remaining: 3100 }).fills).toStrictEqual([
      [4800, 3000],
      [4500, 100],
    ])
  })

  it('sees the other outcome at complementary prices', () => {
    // Buying No sells Yes.
    expect(match({ outcome: 1, bookSide: 1, bookPrice: 1 }).fills).toStrictEqual([[5200, 1500]])
  })

  it('does not take what the run has consumed before', () => {
    const consumed = new Map([[5000 * 2 + 1, 400]])
    expect(match({}, consumed).fills).toStrictEqual([
      [5000, 600],
      [5200, 900],
    ])
    consumed.set(5000 * 2 + 1, 1000)
    expect(match({}, consumed).fills).toStrictEqual([[5200, 1500]])
    expect(consumed.size).toBe(1)
  })

  it('spends an amount of money', () => {
    // $5.00 buys 10 at 0.50; $1.50 buys 2.88 at 0.52 for $1.4976.
    expect(match({ remaining: 0, money: 6.5 * MONEY_ONE })).toMatchObject({
      fills: [
        [5000, 1000],
        [5200, 288],
      ],
      isWhole: true,
    })
    expect(match({ remaining: 0, money: 99 * MONEY_ONE })).toMatchObject({
      units: 3000,
      isWhole: false,
    })
    expect(match({ remaining: 0, money: 1 })).toMatchObject({ fills: [], units: 0 })
  })
})
