import { describe, expect, it } from 'vitest'
import { parseMicros, VENUES, type MarketRecord, type VenueId } from '../domain/index.ts'
import { charge, type FeeAccumulator, type FeeFormula } from './fees.ts'
import { revenueOf } from './ledger.ts'
import { parseMoney, printMoney } from './money.ts'
import { recordA, recordB, recordC } from './tape.testing.ts'
import { scheduleOf } from './venues/index.ts'

const at = (day: string): number => parseMicros(`${day}T00:00:00Z`)

// Prices are ten-thousandths, as strategies see them.
function fee(
  venue: VenueId,
  formula: FeeFormula,
  side: 'buy' | 'sell',
  shown: number,
  shares: number,
  liquidity: 'taker' | 'maker' = 'taker',
  order: FeeAccumulator = { owed: 0 },
) {
  const size = Math.round(shares * 10 ** VENUES[venue].sizeDecimals)
  const price = Math.round(shown * 10 ** (VENUES[venue].priceDecimals - 4))
  const revenue = revenueOf(venue, side, price, size)
  const {
    cash,
    shares: units,
    value,
    rebate,
  } = charge(formula, { venue, liquidity, side, price, size, revenue }, order)
  return { cash: printMoney(cash), units, value: printMoney(value), rebate: printMoney(rebate) }
}

describe('venue B', () => {
  const quadratic = {
    kind: 'quadratic',
    taker: 70_000,
    maker: 17_500,
    precision: 1_000_000,
  } as const

  it.each([
    // 0.07 × 1 × 0.5 × 0.5 = 0.0175; the balance −0.5175 goes to −0.52: 0.0025 more.
    [1, 5000, '0.02'],
    // 0.07 × 8 × 0.25 = 0.14, a whole cent.
    [8, 5000, '0.14'],
    // 0.07 × 100 × 0.05 × 0.95 = 0.3325; −5.3325 → −5.34.
    [100, 500, '0.34'],
    // 0.07 × 100 × 0.1 × 0.9 = 0.63.
    [100, 1000, '0.63'],
    // 0.07 × 10 × 0.5 × 0.5 = 0.175; −5.175 → −5.18.
    [10, 5000, '0.18'],
    // 0.07 × 3 × 0.99 × 0.01 = 0.002079 → 0.0021; −2.9721 → −2.98.
    [3, 9900, '0.01'],
    // A fraction: 0.07 × 0.5 × 0.25 = 0.00875 → 0.0088; −0.2588 → −0.26.
    [0.5, 5000, '0.01'],
  ])('charges a taker of %d at %d: %s', (count, price, expected) => {
    expect(fee('venueb', quadratic, 'buy', price, count).cash).toBe(expected)
  })

  it('charges makers a quarter of the rate where they pay', () => {
    // 0.0175 × 100 × 0.25 = 0.4375; −50.4375 → −50.44.
    expect(fee('venueb', quadratic, 'buy', 5000, 100, 'maker').cash).toBe('0.44')
    const free = { ...quadratic, maker: 0 }
    expect(fee('venueb', free, 'buy', 5000, 100, 'maker').cash).toBe('0')
  })

  it('charged makers a flat quarter of a cent before July 2025', () => {
    const flat = { ...quadratic, makerFlat: parseMoney('0.0025') }
    // 0.0025 × 100 = 0.25.
    expect(fee('venueb', flat, 'buy', 5000, 100, 'maker').cash).toBe('0.25')
  })

  it('refunds rounding over the fills of one order once it reaches a cent', () => {
    const order = { owed: 0 }
    const fees = Array.from(
      { length: 8 },
      () => fee('venueb', quadratic, 'buy', 5000, 1, 'taker', order).cash,
    )
    // Each owes 0.0025: the fourth and the eighth make a whole cent, 8 × 0.02 − 2 × 0.01 = 0.14.
    expect(fees).toStrictEqual(['0.02', '0.02', '0.02', '0.01', '0.02', '0.02', '0.02', '0.01'])
    expect(order.owed).toBe(0)
  })

  it('never refunds more than the fee of a fill', () => {
    const order = { owed: parseMoney('0.05') }
    expect(fee('venueb', quadratic, 'buy', 5000, 1, 'taker', order).cash).toBe('0')
    // 0.05 + 0.0025 − 0.02.
    expect(printMoney(order.owed)).toBe('0.0325')
  })

  it('rounds the proceeds of a sale down', () => {
    // +0.51 − 0.017493 → 0.0175: 0.4925 → 0.49, so 0.02 in all.
    expect(fee('venueb', quadratic, 'sell', 5100, 1).cash).toBe('0.02')
  })

  it('rounds balances of direct members to $0.0001', () => {
    const direct = { ...quadratic, precision: 10_000 }
    expect(fee('venueb', direct, 'buy', 5000, 1).cash).toBe('0.0175')
  })
})

describe('venue C', () => {
  const crypto = { kind: 'curve', rate: 70_000, exponent: 1, rebate: 200_000 } as const

  it.each([
    // 0.07 × 100 × 0.25 = 1.75.
    [crypto, 100, 5000, '1.75'],
    // 0.07 × 10 × 0.24 × 0.76 = 0.12768 exactly.
    [crypto, 10, 2400, '0.12768'],
    // 0.07 × 1.234567 × 0.33 × 0.67 = 0.019107… → 0.01910.
    [crypto, 1.234567, 3300, '0.0191'],
    // January 2026: 0.25 × 100 × (0.25)² = 1.5625, 1.56 % of a share at 0.50.
    [{ ...crypto, rate: 250_000, exponent: 2 }, 100, 5000, '1.5625'],
    // Spring 2026: 0.072 × 100 × 0.25 = 1.8.
    [{ ...crypto, rate: 72_000 }, 100, 5000, '1.8'],
    // Too small to be charged: 0.07 × 0.001 × 0.01 × 0.99 = 0.00000069.
    [crypto, 0.001, 100, '0'],
  ])('charges takers by %o', (formula, shares, price, expected) => {
    expect(fee('venuec', formula, 'buy', price, shares).cash).toBe(expected)
    expect(fee('venuec', formula, 'sell', price, shares).cash).toBe(expected)
  })

  it('charges makers nothing and reports the rebate separately', () => {
    // A fifth of 1.75.
    expect(fee('venuec', crypto, 'buy', 5000, 100, 'maker')).toMatchObject({
      cash: '0',
      value: '0',
      rebate: '0.35',
    })
  })
})

describe('venue A', () => {
  const shares = { kind: 'shares', bps: 200 } as const

  it('charges a purchase in shares', () => {
    // 2 % × 100 × min(0.4, 0.6) = 0.8 USDT, at 0.40 that is 2 shares.
    const bought = fee('venuea', shares, 'buy', 4000, 100)
    expect(bought).toStrictEqual({ cash: '0', units: 200_000_000, value: '0.8', rebate: '0' })
    // Above 0.50 the other side counts: 2 % × 100 × 0.3 = 0.6 USDT, at 0.70 0.85714286 shares.
    expect(fee('venuea', shares, 'buy', 7000, 100)).toMatchObject({
      value: '0.6',
      units: 85_714_286,
    })
  })

  it('charges prices of six decimals exactly', () => {
    // 2 % × 100 × 0.123457 = 0.246914 USDT, at 0.123457 that is 2 shares.
    expect(fee('venuea', shares, 'buy', 1234.57, 100)).toStrictEqual({
      cash: '0',
      units: 200_000_000,
      value: '0.246914',
      rebate: '0',
    })
    expect(fee('venuea', shares, 'sell', 9999.99, 100).cash).toBe('0.000002')
    // Another venue's formula, with factors beyond 2^53: 0.07 × 100 × 0.123457 × 0.876543 = 0.7575…
    const quadratic = { kind: 'quadratic', taker: 70_000, maker: 0, precision: 1 } as const
    expect(fee('venuea', quadratic, 'buy', 1234.57, 100).cash).toBe('0.7576')
  })

  it('charges a sale in cash and makers nothing', () => {
    expect(fee('venuea', shares, 'sell', 7000, 100)).toMatchObject({ cash: '0.6', units: 0 })
    expect(fee('venuea', shares, 'buy', 4000, 100, 'maker')).toMatchObject({ cash: '0', units: 0 })
  })
})

describe('a fee schedule', () => {
  const none = (record: MarketRecord): MarketRecord => ({ ...record, native: {} })

  it('comes from the market’s record where it has one', () => {
    expect(scheduleOf(recordC('c'), at('2026-08-01'))).toMatchObject({
      basis: 'market',
      formula: { kind: 'curve', rate: 70_000, exponent: 1, rebate: 200_000 },
    })
    expect(scheduleOf(recordA('a'), at('2026-08-01'))).toMatchObject({
      basis: 'market',
      formula: { kind: 'shares', bps: 200 },
    })
    const series = { fee_type: 'quadratic_with_maker_fees', fee_multiplier: 0.5 }
    expect(scheduleOf(recordB('b', {}, series), at('2026-08-01'))).toMatchObject({
      basis: 'market',
      formula: { taker: 35_000, maker: 8_750 },
    })
    const off = recordC('c', { native: { gamma: { feesEnabled: false } } })
    expect(scheduleOf(off, at('2026-08-01'))).toMatchObject({ formula: { kind: 'none' } })
  })

  it('otherwise comes from the dated table', () => {
    const dated = (day: string) => scheduleOf(none(recordC('c')), at(day))
    expect(dated('2025-12-31')).toMatchObject({ basis: 'table', formula: { kind: 'none' } })
    expect(dated('2026-01-20')).toMatchObject({ formula: { rate: 250_000, exponent: 2 } })
    expect(dated('2026-05-01')).toMatchObject({ formula: { rate: 72_000, exponent: 1 } })
    expect(dated('2026-08-01')).toMatchObject({ formula: { rate: 70_000, exponent: 1 } })
    const index = none(recordB('KXINXD-26AUG', { seriesTicker: 'KXINXD' }))
    expect(scheduleOf(index, at('2026-08-01'))).toMatchObject({ formula: { taker: 35_000 } })
    expect(scheduleOf(none(recordB('KXBTC-1')), at('2026-08-01'))).toMatchObject({
      formula: { taker: 70_000 },
    })
  })

  it('is unknown where neither has one, unless it is assumed', () => {
    const then = at('2026-03-15')
    expect(scheduleOf(none(recordC('c')), then)).toHaveProperty('unknown')
    const assume = { venuec: { kind: 'none' } } as const
    expect(scheduleOf(none(recordC('c')), then, assume)).toMatchObject({ basis: 'assumed' })
    const { asset: _, ...politics } = none(recordC('c'))
    expect(scheduleOf(politics, at('2026-08-01'))).toHaveProperty('unknown')
    // Whether makers pay on a series of B is not in the table.
    const series = scheduleOf(none(recordB('KXBTC-1')), at('2026-08-01'))
    expect('formula' in series && 'maker' in series.formula).toBe(false)
    const assumed = scheduleOf(none(recordB('KXBTC-1')), at('2026-08-01'), {
      venuebMaker: 'quadratic',
    })
    expect(assumed).toMatchObject({ formula: { maker: 17_500 } })
  })
})
