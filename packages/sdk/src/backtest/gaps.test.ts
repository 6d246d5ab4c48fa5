import { describe, expect, it } from 'vitest'
import { fillsOf, play, send, type Script } from './scripted.testing.ts'
import { recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

// A bid rests behind 10 at 0.48. From 10 to 20 s nothing is observed; trades around it.
function tape(): TestTape {
  const made = new TestTape()
  const b = made.instrument('venueb', 'KX-1-A')
  made.market(sec(0), recordB('KX-1-A'))
  made.book(sec(1), b, [[4800, c(10)]], [[5000, c(10)]])
  made.book(sec(10), b, [[4800, c(10)]], [[5000, c(10)]])
  made.gap(sec(10), sec(20), b)
  made.trade(sec(15), b, 4700, c(50), 'sell')
  made.book(sec(20), b, [[4800, c(7)]], [[5000, c(10)]])
  made.trade(sec(25), b, 4800, c(9), 'sell')
  made.book(sec(60), b, [[4800, c(7)]], [[5000, c(10)]])
  return made
}

const rest: Script = [[sec(2), send({ market: M, side: 'buy', price: 4800, size: 5 })]]

describe('a gap', () => {
  it('cancels resting orders at its start', async () => {
    const { report } = await play(tape(), rest)
    expect(report.orders_kept[0]).toMatchObject({ state: 'cancelled', reason: 'gap', filled: '0' })
    expect(report.gaps).toMatchObject({ count: 1, seconds: 10, orders_cancelled: 1 })
    expect(report.gaps.spans).toStrictEqual([
      { market: M, reason: 'disconnected', start: sec(10), end: sec(20) },
    ])
  })

  it('freezes them with that policy: none fills in it, and all go to the end of the queue after it', async () => {
    const result = await play(tape(), rest, { gapPolicy: 'freeze' })
    // 7 are displayed after the gap; of the 9 that trade, 2 reach us.
    expect(fillsOf(result)).toStrictEqual(['1 buy 0 4800x2 maker print_at_level'])
    expect(result.report.gaps.near.fills).toBe(1)
  })

  it('rejects orders that arrive in it, also those that would take', async () => {
    const order = send({ market: M, side: 'buy', size: 1 })
    const script: Script = [
      [sec(10), order],
      [sec(15), order],
      [sec(21), order],
      [sec(40), order],
    ]
    const result = await play(tape(), script)
    expect(fillsOf(result)).toHaveLength(2)
    expect(result.report.orders.reasons).toStrictEqual({ in_gap: 2 })
    expect(result.report.gaps).toMatchObject({
      orders_refused: 2,
      near: { fills: 1 },
      apart: { fills: 1 },
    })
  })

  it('counts fills shortly before it as near', async () => {
    const script: Script = [[sec(5), send({ market: M, side: 'buy', size: 1 })]]
    const { report } = await play(tape(), script)
    expect(report.gaps).toMatchObject({ near: { fills: 1 }, apart: { fills: 0 } })
    expect(report.gaps.near.pnl).toBe(report.headline.pnl)
    const { report: strict } = await play(tape(), script, { nearGap: 1_000_000 })
    expect(strict.gaps).toMatchObject({ near: { fills: 0 }, apart: { fills: 1 } })
  })

  it('is reported to the strategy without its end', async () => {
    const seen: string[] = []
    await play(tape(), [], {
      strategy: { onGap: (gap, { now }) => void seen.push(`${now} ${JSON.stringify(gap)}`) },
    })
    expect(seen).toStrictEqual([
      `${sec(10)} {"market":"${M}","edge":"open","reason":"disconnected","start":${sec(10)}}`,
      `${sec(20)} {"market":"${M}","edge":"close","reason":"disconnected","start":${sec(10)}}`,
    ])
  })

  it('of one token applies to both outcomes', async () => {
    const made = new TestTape()
    const up = made.instrument('venuec', '0xc', '0xc-up', 'Up')
    const down = made.instrument('venuec', '0xc', '0xc-down', 'Down')
    made.market(sec(0), recordC('0xc'))
    for (const at of [1, 5, 9]) made.book(sec(at), up, [[4800, 1e9]], [[5000, 1e9]])
    made.book(sec(1), down, [[5000, 1e9]], [[5200, 1e9]])
    made.gap(sec(3), undefined, down)
    const { report } = await play(made, [
      [sec(6), send({ market: 'venuec:0xc', side: 'buy', size: 10 })],
    ])
    expect(report.orders.reasons).toStrictEqual({ in_gap: 1 })
  })

  it('with the reason market_closed cancels orders and is not a loss', async () => {
    const made = new TestTape()
    const b = made.instrument('venueb', 'KX-1-A')
    made.market(sec(0), recordB('KX-1-A'))
    made.book(sec(1), b, [[4800, c(10)]], [[5000, c(10)]])
    made.book(sec(10), b, [[4800, c(10)]], [[5000, c(10)]])
    made.gap(sec(10), undefined, b, 'market_closed')
    made.book(sec(30), made.instrument('venueb', 'KX-2-B'), [], [])
    const { report } = await play(made, rest)
    expect(report.orders_kept[0]).toMatchObject({ state: 'cancelled', reason: 'closed' })
    expect(report.gaps).toMatchObject({ count: 0, seconds: 0 })
    expect(report.coverage.observed).toBe(1)
  })

  it('that a later row heals keeps the levels which that row does not name', async () => {
    const made = new TestTape()
    const b = made.instrument('venueb', 'KX-1-A')
    made.market(sec(0), recordB('KX-1-A'))
    made.book(
      sec(1),
      b,
      [
        [4800, c(10)],
        [4700, c(3)],
      ],
      [[5000, c(10)]],
    )
    made.gap(sec(10), sec(20), b)
    made.heal(sec(20), b, [['bid', 4700, c(4)]])
    made.trade(sec(25), b, 4800, c(12), 'sell')
    made.change(sec(60), b, [['ask', 5100, c(1)]])
    const seen: string[] = []
    const script: Script = [
      ...rest,
      [
        sec(21),
        ({ book }) => {
          const { bidLevels, askLevels, bestBid, bestAsk } = book(M)!
          seen.push(`${bidLevels} ${askLevels} ${bestBid} ${bestAsk}`)
          seen.push(JSON.stringify(book(M)!.bids()))
        },
      ],
    ]
    const result = await play(made, script, { gapPolicy: 'freeze' })
    expect(result.report.failure).toBeNull()
    expect(seen).toStrictEqual([
      '2 1 4800 5000',
      '[{"price":4800,"size":10},{"price":4700,"size":4}]',
    ])
    // Behind the 10 that are still displayed.
    expect(fillsOf(result)).toStrictEqual(['1 buy 0 4800x2 maker print_at_level'])
    // The plot begins again after the gap, though the prices are those of before.
    expect(result.report.prices[0]!.points.map(([at]) => at)).toContain(sec(20))
  })
})
