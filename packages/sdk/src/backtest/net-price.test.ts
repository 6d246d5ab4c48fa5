import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { VENUES, type VenueId } from '../domain/index.ts'
import { charge, type FeeFormula } from './fees.ts'
import { MONEY_ONE, notional } from './money.ts'
import { NET_ONE, NetPrices, SHARE_DECIMALS } from './net-price.ts'

const FORMULAS: readonly (readonly [VenueId, FeeFormula])[] = [
  ['venuea', { kind: 'shares', bps: 200 }],
  ['venuea', { kind: 'shares', bps: 0 }],
  ['venueb', { kind: 'quadratic', taker: 70_000, precision: 1 }],
  ['venueb', { kind: 'quadratic', taker: 35_000, precision: 1 }],
  ['venuec', { kind: 'curve', rate: 70_000, exponent: 1, rebate: 0 }],
  ['venuec', { kind: 'curve', rate: 250_000, exponent: 2, rebate: 0 }],
  ['venuec', { kind: 'none' }],
]
const aCase = fc.constantFrom(...FORMULAS).chain(([venue, formula]) =>
  fc.record({
    venue: fc.constant(venue),
    formula: fc.constant(formula),
    price: fc.integer({ min: 1, max: 10 ** VENUES[venue].priceDecimals - 1 }),
  }),
)

describe('net prices', () => {
  it('are what a large fill costs and brings per share, up to the rounding of the venue', () => {
    // A million shares, so that the rounding of a fill is lost in the average.
    const shares = 1_000_000
    fc.assert(
      fc.property(aCase, ({ venue, formula, price }) => {
        const net = new NetPrices(venue, formula)
        const size = shares * 10 ** VENUES[venue].sizeDecimals
        for (const side of ['buy', 'sell'] as const) {
          const amount = notional(venue, price, size, side === 'buy' ? 'up' : 'down')
          const revenue = side === 'buy' ? -amount : amount
          const fill = { venue, liquidity: 'taker', side, price, size, revenue } as const
          const fee = charge(formula, fill, { owed: 0 })
          const cash = (side === 'buy' ? amount + fee.cash : amount - fee.cash) / MONEY_ONE
          const held = (size - fee.shares) / 10 ** VENUES[venue].sizeDecimals
          const each = (side === 'buy' ? net.buy(price) : net.sell(price)) / NET_ONE
          expect(Math.abs(cash / held - each)).toBeLessThan(1e-7)
        }
      }),
    )
  })

  it('never favour the trader, and rise with the price', () => {
    fc.assert(
      fc.property(aCase, ({ venue, formula, price }) => {
        const net = new NetPrices(venue, formula)
        const one = 10 ** VENUES[venue].priceDecimals
        expect(net.buy(price) * one).toBeGreaterThanOrEqual(price * NET_ONE)
        expect(net.sell(price) * one).toBeLessThanOrEqual(price * NET_ONE)
        const next = Math.min(price + 1, one - 1)
        expect(net.buy(next) - net.buy(price)).toBeGreaterThanOrEqual(next - price)
      }),
    )
  })

  it('tell the least size to buy for what is wanted', () => {
    const wanted = fc.integer({ min: 1, max: 10 ** 12 })
    fc.assert(
      fc.property(aCase, wanted, ({ venue, formula, price }, shares) => {
        const net = new NetPrices(venue, formula)
        const size = net.toBuy(price, shares)
        expect(net.delivered(price, size)).toBeGreaterThanOrEqual(shares)
        expect(net.delivered(price, size - 1)).toBeLessThan(shares)
        expect(SHARE_DECIMALS).toBeGreaterThanOrEqual(VENUES[venue].sizeDecimals)
      }),
    )
  })
})
