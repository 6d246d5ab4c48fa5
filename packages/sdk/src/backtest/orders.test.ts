import { describe, expect, it } from 'vitest'
import type { OrderRequest } from './order.ts'
import { fillsOf, play, send, type Script } from './scripted.testing.ts'
import { recordA, recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

// Asks 10 at 0.50 and 20 at 0.52; bids 30 at 0.48 and 5 at 0.45; nothing changes for a minute.
function quiet(): TestTape {
  const tape = new TestTape()
  const b = tape.instrument('venueb', 'KX-1-A')
  tape.market(sec(0), recordB('KX-1-A'))
  const bids = [
    [4800, c(30)],
    [4500, c(5)],
  ] as const
  const asks = [
    [5000, c(10)],
    [5200, c(20)],
  ] as const
  for (const at of [1, 10, 20, 30, 40, 50, 60]) tape.book(sec(at), b, bids, asks)
  return tape
}

const stateOf = async (request: Partial<OrderRequest>, tape = quiet()) => {
  const script: Script = [[sec(5), send({ market: M, side: 'buy', ...request })]]
  const result = await play(tape, script)
  const { report } = result
  const [order] = report.orders_kept
  return {
    fills: fillsOf(result),
    state: order?.state ?? 'rejected',
    reason: order?.reason ?? Object.keys(report.orders.reasons)[0],
    cash: report.venues[1]!.cash,
  }
}

describe('orders by hand', () => {
  it('a market order walks the ladder', async () => {
    // 10 × 0.50 + 5 × 0.52 = 7.60. Fees: 0.175 → balance to the cent: 5.175 → 5.18 (owed 0.005);
    // 0.07 × 5 × 0.52 × 0.48 = 0.08736 → 0.0874; 2.6874 → 2.69 (owed 0.0076): no whole cent owed.
    expect(await stateOf({ size: 15 })).toStrictEqual({
      fills: ['1 buy 0 5000x10 taker book_cross', '1 buy 0 5200x5 taker book_cross'],
      state: 'filled',
      reason: undefined,
      cash: '992.13',
    })
  })

  it('a market order larger than the book takes everything there', async () => {
    expect(await stateOf({ size: 100 })).toMatchObject({
      fills: ['1 buy 0 5000x10 taker book_cross', '1 buy 0 5200x20 taker book_cross'],
      state: 'cancelled',
      reason: 'ioc',
    })
  })

  it('a limit order takes up to its price and rests with its remainder', async () => {
    expect(await stateOf({ price: '0.50', size: 12 })).toMatchObject({
      fills: ['1 buy 0 5000x10 taker book_cross'],
      state: 'cancelled',
      reason: 'run_end',
    })
  })

  it('IOC and FAK leave nothing behind', async () => {
    for (const timeInForce of ['IOC', 'FAK'] as const) {
      expect(await stateOf({ price: 5000, size: 12, timeInForce })).toMatchObject({
        fills: ['1 buy 0 5000x10 taker book_cross'],
        state: 'cancelled',
        reason: 'ioc',
      })
    }
  })

  it('FOK is filled completely or not at all', async () => {
    expect(await stateOf({ price: 5000, size: 12, timeInForce: 'FOK' })).toMatchObject({
      fills: [],
      reason: 'not_filled_whole',
    })
    expect(await stateOf({ price: 5200, size: 12, timeInForce: 'FOK' })).toMatchObject({
      fills: ['1 buy 0 5000x10 taker book_cross', '1 buy 0 5200x2 taker book_cross'],
      state: 'filled',
    })
  })

  it('post-only never takes', async () => {
    expect(await stateOf({ price: 5000, size: 1, postOnly: true })).toMatchObject({
      fills: [],
      reason: 'would_take',
    })
    expect(await stateOf({ price: 4900, size: 1, postOnly: true })).toMatchObject({
      state: 'cancelled',
      reason: 'run_end',
    })
  })

  it('a buy by amount spends the money', async () => {
    // 5.00 for ten at 0.50, then 1.50 at 0.52: 2.88 contracts for 1.4976.
    expect(await stateOf({ amount: '6.50' })).toMatchObject({
      fills: ['1 buy 0 5000x10 taker book_cross', '1 buy 0 5200x2.88 taker book_cross'],
      state: 'filled',
    })
  })

  it('the other outcome is the complement of the same book', async () => {
    // No at 0.52 is Yes at 0.48: 30 are there.
    expect(await stateOf({ outcome: 'No', size: 3 })).toMatchObject({
      fills: ['1 buy 1 5200x3 taker book_cross'],
    })
  })

  it('a sale without a position at venue B is a purchase of the other outcome', async () => {
    const script: Script = [[sec(5), send({ market: M, side: 'sell', size: 10 })]]
    const { report } = await play(quiet(), script)
    // 10 No at 0.52 = 5.20, fee 0.07 × 10 × 0.48 × 0.52 = 0.17472 → 0.1748, 5.3748 → 5.38.
    expect(report.venues[1]).toMatchObject({ bought: '5.2', fees: '0.18', cash: '994.62' })
  })

  it('reduce-only sells no more than is held', async () => {
    const script: Script = [
      [sec(5), send({ market: M, side: 'sell', size: 1, reduceOnly: true })],
      [sec(11), send({ market: M, side: 'buy', size: 4 })],
      [sec(21), send({ market: M, side: 'sell', size: 9, reduceOnly: true })],
    ]
    const result = await play(quiet(), script)
    expect(fillsOf(result)).toStrictEqual([
      '2 buy 0 5000x4 taker book_cross',
      '3 sell 0 4800x4 taker book_cross',
    ])
    expect(result.report.orders.reasons).toStrictEqual({ reduce_only: 1 })
  })

  it('GTD expires at its time', async () => {
    const script: Script = [
      [
        sec(5),
        send({
          market: M,
          side: 'buy',
          price: 4900,
          size: 1,
          timeInForce: 'GTD',
          expires: sec(25),
        }),
      ],
      [sec(26), ({ log, orders }) => log(`${orders().length} open`)],
    ]
    const { report } = await play(quiet(), script)
    expect(report.orders_kept[0]).toMatchObject({ state: 'expired' })
    expect(report.logs).toStrictEqual([`${sec(26)} 0 open`])
  })

  it('cancel and replace reach the order after their latency', async () => {
    const script: Script = [
      [sec(5), send({ market: M, side: 'buy', price: 4900, size: 3 })],
      [sec(11), ({ replace }) => replace(1, { price: 4800 })],
      [sec(21), ({ cancel }) => cancel(2)],
      [sec(31), ({ cancel }) => cancel(2)],
    ]
    const { report } = await play(quiet(), script, { latency: { entry: 1000, cancel: 2000 } })
    expect(
      report.orders_kept.map(({ state, reason, size }) => [state, reason, size]),
    ).toStrictEqual([
      ['cancelled', 'replaced', '3'],
      ['cancelled', 'cancelled', '3'],
    ])
    expect(report.orders_kept[1]!.arrivedAt).toBe(sec(11) + 2000)
    expect(report.orders.reasons).toStrictEqual({ unknown_order: 1 })
  })

  it('consumed units stay consumed until the level empties; only growth adds to it', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    tape.book(sec(1), b, [[4800, c(1)]], [[5000, c(10)]])
    tape.book(sec(3), b, [[4800, c(1)]], [[5000, c(12)]])
    tape.book(sec(5), b, [[4800, c(1)]], [])
    tape.book(sec(6), b, [[4800, c(1)]], [[5000, c(7)]])
    tape.book(sec(9), b, [[4800, c(1)]], [[5000, c(7)]])
    const buy = send({ market: M, side: 'buy', price: 5000, size: 100, timeInForce: 'IOC' })
    const result = await play(tape, [
      [sec(2), buy],
      [sec(2.5), buy],
      [sec(4), buy],
      [sec(7), buy],
    ])
    expect(fillsOf(result).map((text) => text.split(' ')[3])).toStrictEqual([
      '5000x10',
      '5000x2',
      '5000x7',
    ])
  })

  it('orders meet the book at the time of their arrival', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    tape.book(sec(1), b, [[4800, c(1)]], [[5000, c(10)]])
    tape.book(sec(2), b, [[4800, c(1)]], [[5300, c(10)]])
    tape.book(sec(3), b, [[4800, c(1)]], [[5500, c(10)]])
    const script: Script = [[sec(1.5), send({ market: M, side: 'buy', size: 1 })]]
    const at = async (entry: number): Promise<string> =>
      fillsOf(await play(tape, script, { latency: { entry } }))[0]!.split(' ')[3]!
    expect(await at(499_999)).toBe('5000x1')
    // At the very time of a row the order meets the book after it.
    expect(await at(500_000)).toBe('5300x1')
    expect(await at(1_400_000)).toBe('5300x1')
    const jitter = { kind: 'jitter', base: 100_000, spread: 1_300_000 } as const
    const drawn = fillsOf(await play(tape, script, { latency: { entry: jitter } }))
    expect(fillsOf(await play(tape, script, { latency: { entry: jitter } }))).toStrictEqual(drawn)
    const measured = { kind: 'measured', micros: [600_000] } as const
    expect(fillsOf(await play(tape, script, { latency: { entry: measured } }))[0]).toContain('5300')
  })
})

describe('a venue rejects', () => {
  it.each([
    ['off_tick', { price: 4950, size: 1 }],
    ['invalid_price', { price: Number.NaN, size: 1 }],
    ['invalid_price', { price: 0.5, size: 1 }],
    ['invalid_price', { price: '1.2', size: 1 }],
    ['invalid_size', { price: 4900, size: Number.NaN }],
    ['invalid_size', { price: 4900, size: -1 }],
    ['invalid_size', { price: 4900, size: 0.001 }],
    ['invalid_size', { price: 4900 }],
    ['invalid_amount', { amount: Number.POSITIVE_INFINITY }],
    ['invalid_order', { amount: 5, price: 4900 }],
    ['invalid_order', { price: 4900, size: 1, timeInForce: 'DAY' as never }],
    ['invalid_order', { price: 4900, size: 1, timeInForce: 'GTD' as const }],
    ['invalid_order', { size: 1, postOnly: true }],
    ['unknown_outcome', { outcome: 'Maybe', size: 1 }],
    ['unknown_market', { market: 'venueb:OTHER', size: 1 }],
    ['insufficient_cash', { price: 5000, size: 10_000 }],
    ['expired', { price: 4900, size: 1, timeInForce: 'GTD' as const, expires: sec(2) }],
  ])('%s: %j', async (reason, request) => {
    expect(await stateOf(request)).toMatchObject({ fills: [], reason, cash: '1000' })
  })

  it('orders that would trade with an own order', async () => {
    const script: Script = [
      [sec(5), send({ market: M, side: 'buy', price: 4900, size: 1 })],
      // Selling Yes at 0.49 is buying No at 0.51: both meet the own bid.
      [sec(6), send({ market: M, side: 'sell', price: 4900, size: 1 })],
      [sec(7), send({ market: M, side: 'buy', outcome: 1, price: 5100, size: 1 })],
      // A market sale meets the bid at 0.48 in the book, but would meet 0.49 first.
      [sec(8), send({ market: M, side: 'sell', size: 1 })],
      // Far away from what it takes, an own order does not matter.
      [sec(9), send({ market: M, side: 'sell', price: 9000, size: 1 })],
      [sec(11), send({ market: M, side: 'buy', size: 1 })],
    ]
    const result = await play(quiet(), script)
    expect(result.report.orders.reasons).toStrictEqual({ self_cross: 3 })
    expect(fillsOf(result)).toStrictEqual(['6 buy 0 5000x1 taker book_cross'])
  })

  it('sales without a position and orders below the minimum at venues A and C', async () => {
    const tape = new TestTape()
    const a = tape.instrument('venuea', '7')
    const up = tape.instrument('venuec', '0xc', '0xc-up', 'Up')
    tape.market(sec(0), recordA('7')).market(sec(0), recordC('0xc'))
    for (const at of [1, 9]) {
      tape.book(sec(at), a, [[4800, 1e10]], [[5000, 1e10]])
      tape.book(sec(at), up, [[4800, 1e8]], [[5000, 1e8]])
    }
    const { report } = await play(tape, [
      [sec(2), send({ market: 'venuea:7', side: 'sell', size: 3 })],
      [sec(2), send({ market: 'venuec:0xc', side: 'sell', size: 5 })],
      [sec(2), send({ market: 'venuea:7', side: 'buy', size: 1 })],
      [sec(2), send({ market: 'venuec:0xc', side: 'buy', price: 4800, size: 4 })],
      [sec(2), send({ market: 'venuec:0xc', side: 'buy', price: 4800, size: '5.001' })],
      [sec(2), send({ market: 'venuec:0xc', side: 'buy', size: 1 })],
    ])
    expect(report.orders.reasons).toStrictEqual({
      below_minimum: 3,
      insufficient_position: 2,
      size_step: 1,
    })
  })

  it('all orders while the market is not open', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    const now = (status: 'scheduled' | 'open' | 'paused' | 'closed', more = {}) =>
      recordB('KX-1-A', { status, ...more })
    const order = send({ market: M, side: 'buy', size: 1 })
    tape.market(sec(0), now('scheduled'))
    for (const at of [1, 3, 5, 7, 9, 11, 13]) {
      tape.book(sec(at), b, [[4800, c(1)]], [[5000, c(10)]])
    }
    tape.market(sec(3), now('paused'))
    tape.market(sec(5), now('open'))
    tape.market(sec(7), now('open', { closeTime: sec(7) }))
    tape.market(sec(9), now('closed'))
    const result = await play(tape, [
      [sec(2), order],
      [sec(4), order],
      [sec(6), order],
      [sec(8), order],
      [sec(10), order],
    ])
    expect(fillsOf(result)).toHaveLength(1)
    expect(result.report.orders.reasons).toStrictEqual({
      market_closed: 2,
      market_not_open: 1,
      market_paused: 1,
    })
  })

  it('orders with unknown ticks, unless ticks are assumed', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    for (const at of [1, 9]) tape.book(sec(at), b, [[4800, c(1)]], [[5000, c(10)]])
    const script: Script = [[sec(2), send({ market: M, side: 'buy', size: 1 })]]
    const refused = await play(tape, script)
    expect(refused.report.orders.reasons).toStrictEqual({ rules_unknown: 1 })
    const assumed = await play(tape, script, { assume: { rules: { venueb: { tick: '0.01' } } } })
    expect(fillsOf(assumed)).toHaveLength(1)
    expect(assumed.report.markets[0]).toMatchObject({ tick_source: 'assume.rules' })
  })

  it('orders off the ticks that displayed prices prove, where the record gives none', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A', { native: {} }))
    tape.book(sec(1), b, [[4800, c(1)]], [[5000, c(10)]])
    tape.book(sec(5), b, [[4700, c(1)]], [[5000, c(10)]])
    tape.book(sec(9), b, [[4700, c(1)]], [[5000, c(10)]])
    const at = (price: number) => send({ market: M, side: 'buy', price, size: 1 })
    const { report } = await play(
      tape,
      [
        // 0.48 and 0.50 prove steps of 0.02, 0.47 later steps of 0.01; nothing proves 0.485 or 0.05.
        [sec(2), at(4900)],
        [sec(2), at(4600)],
        [sec(6), at(4900)],
        [sec(6), at(4850)],
        [sec(6), at(500)],
      ],
      { assume: { fees: { venuebMaker: 'none' } } },
    )
    expect(report.orders_kept.map(({ reason }) => reason)).toStrictEqual([
      'rules_unknown',
      'run_end',
      'run_end',
      'rules_unknown',
      'rules_unknown',
    ])
    expect(report.markets[0]!.tick_source).toBe('prices that its books displayed')
  })

  it('every order leads the notices with the reasons, and says what to assume', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    for (const at of [1, 9]) tape.book(sec(at), b, [[4800, c(1)]], [[5000, c(10)]])
    const order = send({ market: M, side: 'buy', size: 1 })
    const { report } = await play(tape, [
      [sec(2), order],
      [sec(3), order],
      [sec(3), send({ market: M, side: 'buy', size: -1 })],
    ])
    expect(report.notices[0]).toMatch(
      /^All 3 orders were refused and nothing was traded\. 2 rules_unknown: .* 1 invalid_size: /,
    )
    expect(report.notices[1]).toContain('--assume venueb-tick=0.01.')
  })
})
