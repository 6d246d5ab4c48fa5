import { describe, expect, it } from 'vitest'
import { play, send, type Script } from './scripted.testing.ts'
import { recordB, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

describe('the drawdown', () => {
  it('counts a fall that lasts less than a second', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    const at = (seconds: number, bid: number, ask: number): void =>
      void tape.book(sec(seconds), b, [[bid, c(1000)]], [[ask, c(1000)]])
    at(1, 4900, 5000)
    at(10, 4900, 5000)
    at(10.1, 100, 200)
    at(10.9, 4900, 5000)
    at(60, 4900, 5000)
    const { report } = await play(tape, [[sec(2), send({ market: M, side: 'buy', size: 100 })]])
    // 100 × 0.50 and the fee of 1.75 were paid; at 0.01 they are worth 1.
    expect(report.headline.max_drawdown).toBe('50.75')
  })
})

describe('the return on peak capital', () => {
  it('is never below −100 %: losses that were paid are capital too', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    const script: [number, Script[number][1]][] = []
    for (let round = 0; round < 4; round++) {
      const start = 1 + round * 10
      tape.book(sec(start), b, [[4900, c(100)]], [[5000, c(100)]])
      tape.book(sec(start + 5), b, [[100, c(100)]], [[200, c(100)]])
      script.push([sec(start + 1), send({ market: M, side: 'buy', size: 10 })])
      script.push([sec(start + 6), send({ market: M, side: 'sell', size: 10 })])
    }
    tape.book(sec(60), b, [[4900, c(100)]], [[5000, c(100)]])
    const { report } = await play(tape, script)
    const { pnl, peak_capital: peak, return_on_peak_capital: share } = report.headline
    expect(Number(pnl)).toBeLessThan(-20)
    expect(share!).toBeGreaterThanOrEqual(-1)
    // Three rounds were lost before the last purchase of 5.18: 10 × 0.01 less a cent came back of each.
    expect(peak).toBe('20.45')
  })
})
