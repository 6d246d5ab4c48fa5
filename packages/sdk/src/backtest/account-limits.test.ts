import { describe, expect, it } from 'vitest'
import { fillsOf, play, send, type Script } from './scripted.testing.ts'
import { recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

function tape(): TestTape {
  const made = new TestTape()
  const b = made.instrument('venueb', 'KX-1-A')
  const up = made.instrument('venuec', '0xc', '0xc-up', 'Up')
  made.market(sec(0), recordB('KX-1-A')).market(sec(0), recordC('0xc'))
  made.book(sec(1), b, [[4800, c(100)]], [[5000, c(100)]])
  made.book(sec(1), up, [[4800, 1e8]], [[5000, 1e8]])
  made.book(sec(20), b, [[2000, c(100)]], [[2200, c(100)]])
  for (const at of [40, 60]) made.book(sec(at), b, [[4800, c(100)]], [[5000, c(100)]])
  return made
}

const reasonsOf = async (script: Script, limits: object) => {
  const result = await play(tape(), script, { limits })
  expect(result.report.failure).toBeNull()
  return { result, reasons: result.report.orders_kept.map(({ reason }) => reason) }
}

describe('the limit of the position', () => {
  it('counts what is held and what open orders would add, in both outcomes', async () => {
    const { reasons, result } = await reasonsOf(
      [
        [sec(2), send({ market: M, side: 'buy', size: 6 })],
        [sec(3), send({ market: M, side: 'buy', price: 1000, size: 4 })],
        [sec(4), send({ market: M, side: 'buy', price: 1000, size: 1 })],
        // Selling ten closes six and would hold four No; seventeen would be eleven No.
        [sec(5), send({ market: M, side: 'sell', price: 9000, size: 17 })],
        [sec(6), send({ market: M, side: 'sell', price: 9000, size: 16 })],
        [sec(7), send({ market: M, side: 'buy', outcome: 1, amount: '1.04' })],
        [sec(8), send({ market: 'venuec:0xc', side: 'buy', size: 11 })],
        [sec(9), send({ market: 'venuec:0xc', side: 'buy', size: 10 })],
        [sec(10), send({ market: 'venuec:0xc', side: 'sell', size: 10 })],
      ],
      { position: 10 },
    )
    expect(reasons).toStrictEqual([
      undefined,
      'run_end',
      'position_limit',
      'position_limit',
      'run_end',
      'position_limit',
      'position_limit',
      undefined,
      undefined,
    ])
    expect(result.report.run.limits).toStrictEqual({ position: 10 })
  })
})

describe('the limit of the loss', () => {
  it('cancels what rests when it is reached, and lets positions only be reduced', async () => {
    const { reasons, result } = await reasonsOf(
      [
        [sec(2), send({ market: M, side: 'buy', size: 20 })],
        [sec(3), send({ market: M, side: 'buy', price: 1000, size: 1 })],
        // The bid falls to 0.20: 20 × 0.30 and the fee are lost.
        [sec(21), send({ market: M, side: 'buy', size: 1 })],
        [sec(22), send({ market: M, side: 'sell', size: 21 })],
        [sec(23), send({ market: M, side: 'sell', size: 20 })],
        // A recovery of the price does not lift it.
        [sec(41), send({ market: M, side: 'buy', size: 1 })],
      ],
      { loss: '6' },
    )
    expect(reasons).toStrictEqual([
      undefined,
      'loss_limit',
      'loss_limit',
      'loss_limit',
      undefined,
      'loss_limit',
    ])
    expect(fillsOf(result)).toHaveLength(2)
  })
})

describe('the limit of requests', () => {
  it('refuses those beyond it within a second, cancels too, at each venue', async () => {
    const buy = send({ market: M, side: 'buy', price: 1000, size: 1 })
    const { result, reasons } = await reasonsOf(
      [
        [sec(2), buy],
        [sec(2.1), buy],
        [sec(2.2), buy],
        [sec(2.3), ({ cancel }) => cancel(1)],
        [sec(2.4), send({ market: 'venuec:0xc', side: 'buy', price: 1000, size: 5 })],
        [sec(3), buy],
        [sec(3.05), ({ cancel }) => cancel(1)],
        [sec(3.1), ({ cancel }) => cancel(1)],
      ],
      { rate: 2 },
    )
    expect(reasons).toStrictEqual(['cancelled', 'run_end', 'rate_limit', 'run_end', 'run_end'])
    expect(result.report.orders.reasons).toStrictEqual({ rate_limit: 3 })
  })
})

it('a limit that is not positive is refused', async () => {
  for (const limits of [{ position: 0 }, { loss: '-1' }, { rate: 0 }]) {
    await expect(play(tape(), [], { limits })).rejects.toThrow('is not positive')
  }
})
