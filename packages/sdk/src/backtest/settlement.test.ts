import { describe, expect, it } from 'vitest'
import type { MarketRecord } from '../domain/index.ts'
import { fillsOf, play, send, type Script } from './scripted.testing.ts'
import { recordA, recordB, recordC, sec, TestTape } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const buyTen: Script = [[sec(2), send({ market: M, side: 'buy', size: 10 })]]

// Ten contracts at 0.50 cost 5.18 with their fee.
function lifeOfB(
  ...steps: readonly (readonly [at: number, more: Partial<MarketRecord>])[]
): TestTape {
  const tape = new TestTape()
  const b = tape.instrument('venueb', 'KX-1-A')
  tape.market(sec(0), recordB('KX-1-A'))
  tape.book(sec(1), b, [[4800, 3000]], [[5000, 1000]])
  tape.book(sec(5), b, [[4800, 3000]], [[5000, 1000]])
  for (const [at, more] of steps) tape.market(sec(at), recordB('KX-1-A', more))
  tape.book(sec(1000), tape.instrument('venueb', 'KX-2-B'), [], [])
  return tape
}

const final = (payouts: readonly string[]): Partial<MarketRecord> => ({
  status: 'resolved',
  resolution: { state: 'final', payouts },
})

describe('a market pays out', () => {
  it.each([
    // 1000 − 5.18 + 10, + 0, + 5 (tie), + 3.75 (scalar 0.375).
    [['1', '0'], '1004.82'],
    [['0', '1'], '994.82'],
    [['0.5', '0.5'], '999.82'],
    [['0.375', '0.625'], '998.57'],
  ])('with payouts %j and cash %s', async (payouts, cash) => {
    const { report } = await play(lifeOfB([20, { status: 'closed' }], [30, final(payouts)]), buyTen)
    expect(report.venues[1]).toMatchObject({ cash })
    expect(report.headline.pnl).toBe(report.headline.pnl_settled)
    expect(report.exposure).toMatchObject({ settled: 1, open: 0, mean_lock_up_s: 28 })
  })

  it('rounded down to cents where the venue keeps cents', async () => {
    // 10 × 0.12345 = 1.2345 → 1.23; the rest is a fee of the settlement.
    const { report } = await play(lifeOfB([30, final(['0.12345', '0.87655'])]), buyTen)
    expect(report.venues[1]).toMatchObject({ cash: '996.05', paid_out: '1.2345', fees: '0.1845' })
    expect(report.headline.settlement_fees_and_rounding).toBe('-0.0045')
  })

  it('when the resolution is final, not when it is proposed or disputed', async () => {
    const tape = lifeOfB(
      [20, { status: 'closed' }],
      [30, { status: 'determined', resolution: { state: 'proposed', payouts: ['1', '0'] } }],
      [40, { status: 'disputed', resolution: { state: 'disputed', payouts: ['1', '0'] } }],
      [50, { status: 'determined', resolution: { state: 'proposed', payouts: ['0', '1'] } }],
      [90, final(['0', '1'])],
    )
    const { report } = await play(tape, buyTen)
    expect(report.venues[1]).toMatchObject({ cash: '994.82', paid_out: '0' })
    expect(report.settlements).toMatchObject([{ time: sec(90), payouts: ['0', '1'], paid: '0' }])
    expect(report.exposure).toMatchObject({ disputed: 1, max_lock_up_s: 88 })
  })

  it('and ties up capital until then', async () => {
    const { report } = await play(
      lifeOfB([20, { status: 'closed' }], [90, final(['1', '0'])]),
      buyTen,
    )
    const bound = report.equity.filter(([at]) => at > sec(20) && at < sec(90))
    expect(bound.every(([, , capital]) => capital === 518_000_000)).toBe(true)
    expect(report.equity.at(-1)![2]).toBe(0)
    expect(report.headline.peak_capital).toBe('5.18')
  })

  it('nothing when it is void without payouts, with a notice', async () => {
    const { report } = await play(lifeOfB([30, { status: 'voided' }]), buyTen)
    expect(report.exposure).toMatchObject({ settled: 0, open: 1, void_unpaid: 1 })
    // Marked at the last bid: 10 × 0.48 − 5.18.
    expect(report.headline).toMatchObject({ pnl: '-0.38', pnl_settled: '0', pnl_open: '-0.38' })
    expect(report.notices.join()).toContain('voided')
  })

  it('when it is void with payouts', async () => {
    const voided = {
      status: 'voided',
      resolution: { state: 'final', payouts: ['0.5', '0.5'] },
    } as const
    const { report } = await play(lifeOfB([30, voided]), buyTen)
    expect(report.venues[1]).toMatchObject({ paid_out: '5' })
  })

  it('by the winning outcome where there are no payouts', async () => {
    const { report } = await play(
      lifeOfB([30, { status: 'resolved', winningOutcome: 'No' }]),
      buyTen,
    )
    expect(report.markets[0]!.payouts).toStrictEqual(['0', '1'])
  })

  it('never by its prices', async () => {
    const tape = lifeOfB([20, { status: 'resolved', resolution: { state: 'final' } }])
    const { report } = await play(tape, buyTen)
    expect(report.markets[0]).toMatchObject({ payouts: null, status: 'resolved' })
    expect(report.headline.pnl_settled).toBe('0')
  })

  it('once: a changed final resolution is counted and not booked', async () => {
    const { report } = await play(lifeOfB([30, final(['1', '0'])], [60, final(['0', '1'])]), buyTen)
    expect(report.venues[1]).toMatchObject({ cash: '1004.82' })
    expect(report.markets[0]).toMatchObject({ late_changes: 1 })
  })

  it('and cancels resting orders when it closes', async () => {
    const script: Script = [[sec(2), send({ market: M, side: 'buy', price: 4900, size: 1 })]]
    const { report } = await play(lifeOfB([20, { status: 'closed' }]), script)
    expect(report.orders_kept[0]).toMatchObject({ state: 'cancelled', reason: 'closed' })
    expect(report.headline.mean_capital).not.toBe('0')
  })
})

describe('pairs', () => {
  it('turn into cash at once at venue B', async () => {
    const script: Script = [
      [sec(2), send({ market: M, side: 'buy', size: 10 })],
      [sec(3), send({ market: M, side: 'buy', outcome: 'No', size: 4 })],
    ]
    const { report } = await play(lifeOfB([30, final(['1', '0'])]), script)
    // 5.18, then 4 No at 0.52: 2.08 + 0.07 × 4 × 0.52 × 0.48 = 0.069888 → 0.0699, 2.1499 → 2.15;
    // 4 come back as pairs, 6 pay at the end.
    expect(report.venues[1]).toMatchObject({ merged: '4', paid_out: '6', cash: '1002.67' })
  })

  it('are merged and split on request at venues A and C', async () => {
    const tape = new TestTape()
    const up = tape.instrument('venuec', '0xc', '0xc-up', 'Up')
    tape.market(sec(0), recordC('0xc'))
    for (const at of [1, 9]) tape.book(sec(at), up, [[4800, 1e8]], [[5000, 1e8]])
    tape.market(
      sec(20),
      recordC('0xc', { status: 'resolved', resolution: { state: 'final', payouts: ['0', '1'] } }),
    )
    const m = 'venuec:0xc'
    const { report } = await play(tape, [
      [sec(2), ({ split, log }) => log(String(split(m, 50)))],
      [sec(3), send({ market: m, side: 'sell', size: 20 })],
      [sec(4), ({ merge, log }) => log(String(merge(m, 31)))],
      [sec(5), ({ merge, log }) => log(String(merge(m)))],
      [sec(6), ({ split, log }) => log(String(split(m, 5000)))],
    ])
    expect(report.logs.map((line) => line.split(' ')[1])).toStrictEqual([
      'true',
      'false',
      'true',
      'false',
    ])
    // −50, + 20 × 0.48 = 9.60, fee 0.07 × 20 × 0.48 × 0.52 = 0.34944, + 30, + 20 Down pay 20.
    expect(report.venues[2]).toMatchObject({
      split: '50',
      sold: '9.6',
      fees: '0.34944',
      merged: '30',
      paid_out: '20',
      cash: '1009.25056',
    })
  })

  it('are fewer at venue A, which takes its fee in shares', async () => {
    const tape = new TestTape()
    const a = tape.instrument('venuea', '7')
    tape.market(sec(0), recordA('7'))
    for (const at of [1, 9]) tape.book(sec(at), a, [[3800, 1e10]], [[4000, 1e10]])
    tape.market(
      sec(20),
      recordA('7', { status: 'resolved', resolution: { state: 'final', payouts: ['0.5', '0.5'] } }),
    )
    const result = await play(tape, [
      [sec(2), send({ market: 'venuea:7', side: 'buy', size: 100 })],
    ])
    expect(fillsOf(result)).toStrictEqual(['1 buy 0 4000x100 taker book_cross'])
    // 100 at 0.40 less 2 shares of fee: 98 shares at 0.50 in a tie.
    expect(result.report.venues[0]).toMatchObject({ bought: '40', paid_out: '49', cash: '1009' })
    expect(result.report.headline.pnl).toBe('9')
  })
})
