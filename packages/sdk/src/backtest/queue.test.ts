import { describe, expect, it } from 'vitest'
import { FLAGS } from '../domain/index.ts'
import { isFullRun } from '../domain/run-counts.testing.ts'
import { QUEUE_MODELS, type QueueModel } from './queue.ts'
import { createRandom } from './random.ts'
import { fillsOf, play, send, type Script } from './scripted.testing.ts'
import { recordA, recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')
const rest: Script = [[sec(2), send({ market: M, side: 'buy', price: 4800, size: 10 })]]

function start(bid: number): { tape: TestTape; b: ReturnType<TestTape['instrument']> } {
  const tape = new TestTape()
  const b = tape.instrument('venueb', 'KX-1-A')
  tape.market(sec(0), recordB('KX-1-A'))
  tape.book(sec(1), b, [[4800, c(bid)]], [[5000, c(10)]])
  return { tape, b }
}

async function filled(tape: TestTape, queue: QueueModel, script = rest): Promise<string> {
  const { report } = await play(tape, script, { queue })
  return report.orders_kept.map((order) => order.filled).join(' ')
}

const byModel = async (tape: TestTape, script = rest): Promise<string[]> =>
  Promise.all(QUEUE_MODELS.map((queue) => filled(tape, queue, script)))

describe('a queue', () => {
  it('advances by trades in every model and fills at its front', async () => {
    const { tape, b } = start(100)
    // 100 stand in front. 60 trade (the book first, its print 10 ms later), then 45: 5 reach us.
    tape.change(sec(4), b, [['bid', 4800, c(40)]]).trade(sec(4.01), b, 4800, c(60), 'sell')
    tape.change(sec(5), b, [['bid', 4800, 0]]).trade(sec(5.01), b, 4800, c(45), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    expect(await byModel(tape)).toStrictEqual(['5', '5', '5'])
  })

  it('never has more ahead than is displayed', async () => {
    const { tape, b } = start(100)
    // 50 leave without a trade, wherever they stood: 50 are left in front. 60 join behind, 60 trade.
    tape.change(sec(4), b, [['bid', 4800, c(50)]])
    tape.change(sec(6), b, [['bid', 4800, c(110)]])
    tape.trade(sec(7), b, 4800, c(60), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    expect(await byModel(tape)).toStrictEqual(['10', '10', '10'])
  })

  it('fills in the optimistic model where the proportional one does not', async () => {
    const { tape, b } = start(100)
    // 60 join behind us, 60 leave: all in front (40 left), or 60 × 100/160 (62.5 left), or none.
    tape.change(sec(4), b, [['bid', 4800, c(160)]])
    tape.change(sec(5), b, [['bid', 4800, c(100)]])
    tape.change(sec(7), b, [['ask', 5000, c(9)]])
    tape.trade(sec(8), b, 4800, c(45), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(8)]])
    expect(await byModel(tape)).toStrictEqual(['0', '0', '5'])
  })

  it('fills in the proportional model where the pessimistic one does not', async () => {
    const { tape, b } = start(100)
    tape.change(sec(4), b, [['bid', 4800, c(160)]])
    tape.change(sec(5), b, [['bid', 4800, c(100)]])
    tape.change(sec(7), b, [['ask', 5000, c(9)]])
    // 70 pass the 62.5 in front of the proportional one: 7.5 of its 10.
    tape.trade(sec(8), b, 4800, c(70), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(8)]])
    expect(await byModel(tape)).toStrictEqual(['0', '7.5', '10'])
  })

  it('counts a print before its book change once', async () => {
    const { tape, b } = start(100)
    tape.trade(sec(4), b, 4800, c(60), 'sell').change(sec(4.2), b, [['bid', 4800, c(40)]])
    tape.trade(sec(6), b, 4800, c(40), 'sell').change(sec(6.2), b, [['bid', 4800, 0]])
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    expect(await byModel(tape)).toStrictEqual(['0', '0', '0'])
  })

  it('fills at its own price by a print through it, by no more than was traded', async () => {
    const { tape, b } = start(100)
    tape.trade(sec(4), b, 4700, c(4), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    const result = await play(tape, rest)
    expect(fillsOf(result)).toStrictEqual(['1 buy 0 4800x4 maker print_through'])
  })

  it('fills when the other side reaches its price', async () => {
    const { tape, b } = start(100)
    tape.book(
      sec(4),
      b,
      [[4600, c(5)]],
      [
        [4700, c(3)],
        [4800, c(2)],
        [4900, c(50)],
      ],
    )
    tape.change(sec(9), b, [['ask', 4900, c(49)]])
    const result = await play(tape, rest)
    expect(fillsOf(result)).toStrictEqual([
      '1 buy 0 4800x3 maker book_cross',
      '1 buy 0 4800x2 maker book_cross',
    ])
  })

  it('ignores prints right after entry, which may be older than the order', async () => {
    const { tape, b } = start(0.01)
    tape.trade(sec(2.5), b, 4800, c(5), 'sell').trade(sec(3), b, 4800, c(2), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    expect(await byModel(tape)).toStrictEqual(['1.99', '1.99', '6.99'])
  })

  it('also serves takers of the other outcome', async () => {
    const tape = new TestTape()
    const up = tape.instrument('venuec', '0xc', '0xc-up', 'Up')
    const down = tape.instrument('venuec', '0xc', '0xc-down', 'Down')
    tape.market(sec(0), recordC('0xc'))
    tape
      .book(sec(1), down, [[5000, 1e7]], [[5200, 1e7]])
      .book(sec(1), up, [[4800, 1e7]], [[5000, 1e7]])
    // A buyer of Down at 0.52 is a seller of Up at 0.48; 10 stand in front of us, 3 reach us.
    tape.trade(sec(4), down, 5200, 13e6, 'buy')
    tape.book(sec(9), up, [[4800, 1e7]], [[5000, 1e7]])
    const script: Script = [
      [sec(2), send({ market: 'venuec:0xc', side: 'buy', price: 4800, size: 10 })],
    ]
    const result = await play(tape, script)
    expect(fillsOf(result)).toStrictEqual(['1 buy 0 4800x3 maker print_at_level'])
    expect(result.report.fills_kept[0]!.rows).toStrictEqual([
      'venuec:0xc-down/trade:1',
      'venuec:0xc-up:1',
    ])
  })

  it('orders own orders by arrival', async () => {
    const { tape, b } = start(10)
    tape.trade(sec(6), b, 4800, c(17), 'sell')
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    const buy = send({ market: M, side: 'buy', price: 4800, size: 5 })
    const script: Script = [
      [sec(2), buy],
      [sec(3), buy],
    ]
    expect(await byModel(tape, script)).toStrictEqual(['5 2', '5 2', '5 2'])
  })
})

describe('a venue without trades', () => {
  function polled(venue: 'venuea' | 'venueb'): TestTape {
    const tape = new TestTape()
    const key = venue === 'venuea' ? '7' : 'KX-1-A'
    const own = tape.instrument(venue, key)
    const unit = unitOf(venue)
    tape.market(sec(0), venue === 'venuea' ? recordA(key) : recordB(key))
    const book = (at: number, bid: number, ask = 5000): void => {
      const bids = bid === 0 ? [] : [[4800, bid * unit] as const]
      tape.book(sec(at), own, bids, [[ask, 10 * unit]], FLAGS.full_book)
    }
    book(1, 100)
    book(2, 100)
    // 30 of 100 leave the best level: never, our 10 of 110, or all of us.
    book(60, 70)
    book(120, 70)
    return tape
  }

  it('gives results of resting orders as a bracket', async () => {
    for (const [venue, market] of [
      ['venuea', 'venuea:7'],
      ['venueb', M],
    ] as const) {
      const script: Script = [[sec(3), send({ market, side: 'buy', price: 4800, size: 10 })]]
      const { reports, report } = await play(polled(venue), script, { queue: 'bracket' })
      const [none, some, all] = reports.map(({ orders_kept }) => Number(orders_kept[0]!.filled))
      expect([none, all]).toStrictEqual([0, 10])
      // 30 × 10 / 110, rounded down to the venue's units.
      expect(some).toBe(venue === 'venuea' ? 2.72727272 : 2.72)
      expect(report.bracket).toMatchObject({ maker_fills: [0, 1, 1] })
      expect(reports[2]!.fills_kept[0]).toMatchObject({ evidence: 'snapshot_inferred' })
    }
  })

  it('rejects resting orders with a single model', async () => {
    const script: Script = [
      [sec(3), send({ market: 'venuea:7', side: 'buy', price: 4800, size: 10 })],
      [sec(3), send({ market: 'venuea:7', side: 'buy', price: 5000, size: 4 })],
    ]
    const result = await play(polled('venuea'), script, { queue: 'optimistic' })
    expect(result.report.orders.reasons).toStrictEqual({ bracket_required: 1 })
    expect(fillsOf(result)).toStrictEqual(['2 buy 0 5000x4 taker book_cross'])
  })

  it('fills a crossed price in every model', async () => {
    const tape = new TestTape()
    const a = tape.instrument('venuea', '7')
    tape.market(sec(0), recordA('7'))
    tape.book(sec(1), a, [[4800, 1e10]], [[5000, 1e9]], FLAGS.full_book)
    tape.book(sec(60), a, [[4600, 1e10]], [[4700, 1e9]], FLAGS.full_book)
    const script: Script = [
      [sec(3), send({ market: 'venuea:7', side: 'buy', price: 4800, size: 10 })],
    ]
    const { reports } = await play(tape, script, { queue: 'bracket' })
    for (const { orders_kept, fills_kept } of reports) {
      expect(orders_kept).toMatchObject([{ state: 'filled', filled: '10' }])
      for (const fill of fills_kept) {
        expect(fill).toMatchObject({ price: 4800, evidence: 'snapshot_inferred' })
      }
    }
  })
})

describe('a streamed market of venue B', () => {
  it('is not taken for a polled one by one whole book among the changes', async () => {
    const { tape, b } = start(0)
    tape.change(sec(1.5), b, [['ask', 5000, c(11)]])
    tape.book(sec(3), b, [], [[5000, c(12)]], FLAGS.full_book)
    // The print comes before the next change, and so does an order that rests.
    tape.trade(sec(5), b, 4800, c(4), 'sell')
    const script: Script = [
      ...rest,
      [sec(6), send({ market: M, side: 'buy', price: 4700, size: 1 })],
    ]
    tape.change(sec(9), b, [['ask', 5000, c(9)]])
    tape.book(sec(10), b, [], [], FLAGS.full_book)
    const result = await play(tape, script)
    expect(fillsOf(result)).toStrictEqual(['1 buy 0 4800x4 maker print_at_level'])
    expect(result.report.orders.reasons).toStrictEqual({})
    expect(result.report.markets[0]!.polled).toBe(false)
  })
})

describe('queue models', () => {
  it('never fill more than the next more optimistic one', async () => {
    const rounds = isFullRun ? 2000 : 100
    for (let round = 0; round < rounds; round++) {
      const random = createRandom(round, 'models')
      const { tape, b } = start(50)
      let bid = 50
      for (let at = 1; at < 40; at++) {
        const roll = random.float()
        const size = 1 + random.below(40)
        if (roll < 0.3) tape.change(sec(at), b, [['bid', 4800, c((bid = random.below(120)))]])
        else if (roll < 0.5) tape.trade(sec(at), b, 4800, c(size), 'sell')
        else if (roll < 0.6) tape.trade(sec(at), b, 4700, c(size), 'sell')
        else if (roll < 0.65)
          tape.change(sec(at), b, [
            ['ask', 4800, c(size)],
            ['bid', 4800, 0],
          ])
        else if (roll < 0.7) tape.change(sec(at), b, [['ask', 4800, 0]])
        else if (roll < 0.8) {
          const traded = Math.min(bid, size)
          bid -= traded
          tape.change(sec(at), b, [['bid', 4800, c(bid)]])
          tape.trade(sec(at + 0.1), b, 4800, c(traded), 'sell')
        }
      }
      tape.change(sec(50), b, [['ask', 5000, c(1)]])
      const buy = (size: number) => send({ market: M, side: 'buy', price: 4800, size })
      const script: Script = [
        [sec(1.5 + random.below(5)), buy(1 + random.below(30))],
        [sec(8), buy(5)],
      ]
      const totals = (await byModel(tape, script)).map((text) =>
        text.split(' ').reduce((sum, each) => sum + Number(each), 0),
      )
      expect(totals[0], `round ${round}`).toBeLessThanOrEqual(totals[1]! + 1e-9)
      expect(totals[1], `round ${round}`).toBeLessThanOrEqual(totals[2]! + 1e-9)
    }
  })
})
