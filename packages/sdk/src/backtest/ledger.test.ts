import { describe, expect, it } from 'vitest'
import { POW10, VENUE_IDS, VENUES, type VenueId } from '../domain/index.ts'
import type { FeeCharge } from './fees.ts'
import { EquityCurve, Ledger, type Position } from './ledger.ts'
import { MONEY_ONE, printMoney } from './money.ts'

const NO_FEE: FeeCharge = { cash: 0, shares: 0, value: 0, rebate: 0 }
const HUNDRED = 100 * MONEY_ONE
const NO_CASH = Object.fromEntries(VENUE_IDS.map((id) => [id, 0])) as Record<VenueId, number>
const CASH = { ...NO_CASH, venuea: HUNDRED, venueb: HUNDRED, venuec: HUNDRED }

// A position in a market whose outcomes are worth 0.60 and 0.40.
function open(venue: VenueId): { ledger: Ledger; position: Position; unit: number } {
  const ledger = new Ledger(CASH)
  const valueOf = (outcome: number): number => (outcome === 0 ? 0.6 : 0.4) * MONEY_ONE
  return {
    ledger,
    position: ledger.open({ venue, valueOf }),
    unit: POW10[VENUES[venue].sizeDecimals]!,
  }
}

describe('a position', () => {
  it('books purchases and sales with their cost', () => {
    const { ledger, position, unit } = open('venuec')
    position.book({ outcome: 0, side: 'buy', price: 5000, size: 10 * unit }, NO_FEE)
    position.book({ outcome: 0, side: 'sell', price: 7000, size: 4 * unit }, NO_FEE)
    expect(position.units).toStrictEqual([6 * unit, 0])
    expect(printMoney(position.cost[0])).toBe('3')
    expect(printMoney(position.account.cash)).toBe('97.8')
    expect(printMoney(ledger.equity())).toBe('301.4')
  })

  it('pays cash fees from the account and share fees from the delivery', () => {
    const { position, unit } = open('venuea')
    const fee = { cash: 0, shares: unit / 10, value: 5_000_000, rebate: 0 }
    position.book({ outcome: 0, side: 'buy', price: 500_000, size: unit }, fee)
    expect(position.units[0]).toBe(0.9 * unit)
    expect(position.account.flows).toMatchObject({ fees: 0, shareFees: 5_000_000 })
    const cashFee = { cash: 1_000_000, shares: 0, value: 1_000_000, rebate: 7 }
    position.book({ outcome: 0, side: 'sell', price: 500_000, size: unit / 2 }, cashFee)
    expect(printMoney(position.account.cash)).toBe('99.74')
    expect(position.account.flows).toMatchObject({ fees: 1_000_000, rebates: 7 })
  })

  it('nets outcomes where the venue does, and sells short by buying the other one', () => {
    const { position, unit } = open('venueb')
    position.book({ outcome: 0, side: 'sell', price: 3000, size: 5 * unit }, NO_FEE)
    expect(position.units).toStrictEqual([0, 5 * unit])
    expect(printMoney(position.account.cash)).toBe('96.5')
    position.book({ outcome: 0, side: 'buy', price: 2000, size: 5 * unit }, NO_FEE)
    expect(position.units).toStrictEqual([0, 0])
    expect(printMoney(position.account.cash)).toBe('100.5')
  })

  it('splits cash into pairs and merges them back', () => {
    const { position, unit } = open('venuec')
    expect(position.split(200 * unit)).toBe(false)
    expect(position.split(30 * unit)).toBe(true)
    expect(position.units).toStrictEqual([30 * unit, 30 * unit])
    expect(position.merge(10 * unit)).toBe(10 * unit)
    expect(position.merge(Infinity)).toBe(20 * unit)
    expect(printMoney(position.account.cash)).toBe('100')
    expect(position.cost).toStrictEqual([0, 0])
  })

  it.each([
    ['venueb', '1.25', '0.005'],
    ['venuec', '1.255', '0'],
  ] as const)('pays out at %s: %s, with a fee of %s', (venue, paid, fee) => {
    const { position, unit } = open(venue)
    position.book({ outcome: 0, side: 'buy', price: 1000, size: (251 * unit) / 100 }, NO_FEE)
    expect(printMoney(position.payOut([MONEY_ONE / 2, 0]))).toBe(paid)
    expect(printMoney(position.account.flows.fees)).toBe(fee)
    expect(position.isEmpty).toBe(true)
  })

  it('keeps cash equal to start and flows', () => {
    for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
      const { position, unit } = open(venue)
      for (let round = 1; round < 50; round++) {
        const side = round % 3 === 0 ? 'sell' : 'buy'
        const outcome = round % 2
        const fee = { cash: round * 17, shares: 0, value: round * 17, rebate: 0 }
        const size = Math.floor((unit * round) / 7)
        const fits = side === 'buy' || venue === 'venueb' || position.units[outcome]! >= size
        if (fits) position.book({ outcome, side, price: 100 + round * 13, size }, fee)
      }
      position.payOut([MONEY_ONE, 0])
      expect(position.account.cash).toBe(position.account.expected)
    }
  })
})

describe('a ledger', () => {
  it('integrates the capital of positions and reservations over time', () => {
    const { ledger, position, unit } = open('venuec')
    ledger.begin(1000)
    position.book({ outcome: 0, side: 'buy', price: 5000, size: 2 * unit }, NO_FEE)
    ledger.noteCapital(position, 1000)
    position.account.reserved = MONEY_ONE
    ledger.noteCapital(position, 2000)
    position.account.reserved = 0
    ledger.noteCapital(position, 3000)
    ledger.finish(4000)
    expect(ledger.capitalPeak).toBe(2 * MONEY_ONE)
    expect(ledger.capitalTime).toBe(4000 * MONEY_ONE)
  })

  it('halves its equity curve when it is full, and keeps peak and drawdown', () => {
    const curve = new EquityCurve(0)
    for (let at = 0; at < 10_000; at++) curve.add(at, at === 5000 ? -3 : at % 7, 0)
    expect(curve.points.length).toBeLessThanOrEqual(2001)
    expect(curve.points[0]!.at).toBe(0)
    expect([curve.peak, curve.drawdown]).toStrictEqual([6, 9])
  })
})
