import { describe, expect, it } from 'vitest'
import { fillsOf, play, send, type Script } from './scripted.testing.ts'
import type { StrategyContext } from './strategy.ts'
import { recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

function marketB(more: Parameters<typeof recordB>[1] = {}): {
  tape: TestTape
  b: ReturnType<TestTape['instrument']>
} {
  const tape = new TestTape()
  const b = tape.instrument('venueb', 'KX-1-A')
  tape.market(sec(0), recordB('KX-1-A', more))
  tape.book(sec(1), b, [[4800, c(100)]], [[5000, c(100)]])
  return { tape, b }
}

const logCash = ({ cash, log }: StrategyContext): void => log(String(cash('venueb')))
const sell = (price: number, more = {}) =>
  send({ market: M, side: 'sell', price, size: 10, ...more })
const buyTen = send({ market: M, side: 'buy', size: 10 })
const linesOf = ({ report }: Awaited<ReturnType<typeof play>>): string[] =>
  report.logs.map((line) => line.split(' ')[1]!)

describe('orders that rest', () => {
  it('cover only one of three sales of the same units; the others set cash aside', async () => {
    const { tape, b } = marketB()
    tape.change(sec(9), b, [['ask', 5000, c(90)]])
    // The bid rises through all three sales.
    tape.book(sec(10), b, [[6500, c(100)]], [[7000, c(100)]])
    tape.change(sec(20), b, [['ask', 7000, c(90)]])
    // 10 × 0.50 and the fee of 0.18: 2.82 are left of 8. A sale at 0.60 without units needs 4.00 and the
    // fee: both others are refused.
    const script: Script = [
      [sec(2), buyTen],
      [sec(3), sell(6000)],
      [sec(4), sell(6000)],
      [sec(5), sell(6000)],
      [sec(6), logCash],
      [sec(15), logCash],
    ]
    const poor = await play(tape, script, { cash: 8 })
    expect(poor.report.orders.reasons).toStrictEqual({ insufficient_cash: 2 })
    expect(linesOf(poor)).toStrictEqual(['2.82', '8.82'])
    // With 20 there is enough for all; cash is set aside for two of them.
    const rich = await play(tape, script, { cash: 20 })
    expect(rich.report.orders.reasons).toStrictEqual({})
    expect(Number(linesOf(rich)[0])).toBeLessThan(20 - 5.18 - 2 * 4)
    expect(fillsOf(rich).filter((line) => line.includes('sell'))).toHaveLength(3)
    expect(Number(linesOf(rich)[1])).toBeGreaterThanOrEqual(0)
  })

  it('free the units of a cancelled order for the next one', async () => {
    const { tape, b } = marketB()
    tape.change(sec(20), b, [['ask', 5000, c(90)]])
    const script: Script = [
      [sec(2), buyTen],
      [sec(3), sell(6000)],
      [sec(4), sell(6000)],
      [sec(5), logCash],
      [sec(6), ({ cancel }) => cancel(2)],
      [sec(7), logCash],
    ]
    const [before, after] = linesOf(await play(tape, script, { cash: 20 }))
    expect(Number(before)).toBeLessThan(11)
    expect(after).toBe('14.82')
  })

  it('end with their market by the clock, without a row after it, and free their cash', async () => {
    const { tape } = marketB({ closeTime: sec(10) as never })
    const other = tape.instrument('venueb', 'KX-2-A')
    for (const at of [1, 30]) tape.book(sec(at), other, [[4800, c(1)]], [[5000, c(1)]])
    const result = await play(
      tape,
      [
        [sec(2), send({ market: M, side: 'buy', price: 4000, size: 10 })],
        [sec(9), logCash],
        [sec(11), logCash],
      ],
      { cash: 20 },
    )
    expect(result.report.orders_kept[0]).toMatchObject({ state: 'cancelled', reason: 'closed' })
    expect(Number(linesOf(result)[0])).toBeLessThan(16)
    expect(linesOf(result)[1]).toBe('20')
  })

  it('end at a close time that moved while they rested', async () => {
    const { tape, b } = marketB({ closeTime: sec(100) as never })
    tape.market(sec(5), recordB('KX-1-A', { closeTime: sec(10) as never }))
    tape.market(sec(6), recordB('KX-1-A', { closeTime: sec(15) as never }))
    tape.change(sec(60), b, [['ask', 5000, c(90)]])
    const states = async (at: number): Promise<string> => {
      const { report } = await play(tape, [
        [sec(2), send({ market: M, side: 'buy', price: 4000, size: 10 })],
        [sec(at), ({ orders, log }) => log(String(orders().length))],
      ])
      return report.logs[0]!.split(' ')[1]!
    }
    expect(await states(14.9)).toBe('1')
    expect(await states(15.1)).toBe('0')
  })
})

describe('a reduce-only order', () => {
  it('at rest never opens a position at a venue that nets outcomes', async () => {
    const { tape, b } = marketB()
    tape.change(sec(9), b, [['ask', 5000, c(90)]])
    tape.book(sec(10), b, [[6500, c(100)]], [[7000, c(100)]])
    tape.change(sec(20), b, [['ask', 7000, c(90)]])
    const result = await play(tape, [
      [sec(2), buyTen],
      [sec(3), sell(6000, { reduceOnly: true })],
      // Seven of the ten are sold otherwise, which leaves three to reduce.
      [sec(4), send({ market: M, side: 'sell', size: 7 })],
      [sec(15), ({ position, log }) => log(JSON.stringify(position(M).shares))],
    ])
    expect(fillsOf(result).at(-1)).toBe('2 sell 0 6000x3 maker book_cross')
    expect(linesOf(result)).toStrictEqual(['[0,0]'])
  })

  it('ends where nothing is left to reduce', async () => {
    const { tape, b } = marketB()
    tape.change(sec(20), b, [['ask', 5000, c(90)]])
    const { report } = await play(tape, [
      [sec(2), buyTen],
      [sec(3), sell(6000, { reduceOnly: true })],
      [sec(4), send({ market: M, side: 'sell', size: 10 })],
    ])
    expect(report.orders_kept[1]).toMatchObject({ state: 'cancelled', reason: 'reduce_only' })
  })
})

describe('a replacement without a size', () => {
  it('orders what is left when it arrives, not what was left when it was sent', async () => {
    const { tape, b } = marketB()
    // Six of the ten are filled while the replacement is on its way.
    tape.book(sec(5), b, [[4800, c(100)]], [[4900, c(6)]])
    tape.book(sec(6), b, [[4800, c(100)]], [[5000, c(100)]])
    tape.book(sec(10), b, [[4500, c(100)]], [[4600, c(100)]])
    tape.change(sec(20), b, [['ask', 4600, c(90)]])
    const script: Script = [
      [sec(2), send({ market: M, side: 'buy', price: 4900, size: 10 })],
      [sec(4.5), ({ replace }) => replace(1, { price: 4700 })],
    ]
    const result = await play(tape, script, { latency: { entry: 0, cancel: 1_000_000 } })
    expect(fillsOf(result)).toStrictEqual([
      '1 buy 0 4900x6 maker book_cross',
      '2 buy 0 4700x4 maker book_cross',
    ])
  })
})

describe('an order that takes', () => {
  it('closes a position without any free cash', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A', {}, { fee_type: 'quadratic', fee_multiplier: 0 }))
    for (const at of [1, 20]) tape.book(sec(at), b, [[4800, c(100)]], [[5000, c(100)]])
    const result = await play(
      tape,
      [
        [sec(2), send({ market: M, side: 'buy', price: 5000, size: 10, timeInForce: 'IOC' })],
        // Sets the rest of the cash aside, a cent of it for rounding.
        [sec(3), send({ market: M, side: 'buy', price: 100, size: '0.01' })],
        [sec(4), logCash],
        [sec(5), send({ market: M, side: 'sell', size: 10 })],
      ],
      { cash: '5.0101' },
    )
    expect(linesOf(result)).toStrictEqual(['0'])
    expect(result.report.orders.reasons).toStrictEqual({})
    expect(result.report.venues[1]!.cash).toBe('4.8101')
  })

  it('is not held to the minimum of resting orders, if it cannot rest', async () => {
    const tape = new TestTape()
    const up = tape.instrument('venuec', '0xc', '0xc-up', 'Up')
    tape.market(sec(0), recordC('0xc'))
    for (const at of [1, 9]) tape.book(sec(at), up, [[4800, 1e8]], [[5000, 1e8]])
    const order = { market: 'venuec:0xc', side: 'buy', price: 5000, size: 3 } as const
    const result = await play(tape, [
      [sec(2), send({ ...order, timeInForce: 'IOC' })],
      [sec(3), send({ ...order, timeInForce: 'FOK' })],
      [sec(4), send(order)],
    ])
    expect(fillsOf(result)).toHaveLength(2)
    expect(result.report.orders.reasons).toStrictEqual({ below_minimum: 1 })
  })
})
