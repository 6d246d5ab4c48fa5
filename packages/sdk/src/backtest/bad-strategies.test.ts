import { describe, expect, it } from 'vitest'
import { recordB, recordC, sec, T0, TestTape } from './tape.testing.ts'
import { backtest, sweep, trainHoldout } from './run.ts'
import type { BookView, Strategy } from './strategy.ts'

function tape(): TestTape {
  const made = new TestTape()
  const b = made.instrument('venueb', 'KX-1-A')
  made.market(sec(0), recordB('KX-1-A'))
  for (let at = 1; at < 20; at++) {
    made.book(sec(at), b, [[4800, 3000]], [[5000, 100 * at]])
  }
  return made
}

const run = (strategy: Strategy, events = tape().batches()) =>
  backtest({ events, strategy, queue: 'pessimistic' })

describe('a strategy with a memory', () => {
  // Buys one contract of the first market that it sees, and never again.
  const once = (): Strategy => {
    const seen = new Set<string>()
    return {
      onBook({ market }, { buy }) {
        if (!seen.has(market.id)) buy({ market: market.id, size: 1 })
        seen.add(market.id)
      },
    }
  }

  it('gives the same result in all queue models, because each has its own', async () => {
    const { report, reports } = await backtest({ events: tape().batches(), strategy: once })
    expect(report.bracket).toMatchObject({ is_one_number: true })
    expect(reports.map(({ fills }) => fills.count)).toStrictEqual([1, 1, 1])
  })

  it('is run once if it is an object, and the report says so', async () => {
    const { report, reports } = await backtest({ events: tape().batches(), strategy: once() })
    expect(reports).toHaveLength(1)
    expect(report).toMatchObject({ bracket: null, fills: { count: 1 } })
    expect(report.notices.join()).toContain('only the pessimistic queue model was run')
  })

  it('is refused if it is an object and several runs are asked for', async () => {
    const options = { events: tape().batches(), strategy: once() }
    await expect(backtest({ ...options, queue: 'bracket' })).rejects.toThrow('is an object')
    const params = [{ a: 1 }, { a: 2 }]
    await expect(sweep({ ...options, queue: 'optimistic', params })).rejects.toThrow('is an object')
  })
})

describe('a strategy that', () => {
  it('throws is stopped there, and the report names the hook', async () => {
    let calls = 0
    const { report } = await run({
      onBook(book, { buy }) {
        buy({ market: book.market.id, size: 1 })
        if (++calls === 3) throw new RangeError('out of ideas')
      },
    })
    expect(calls).toBe(3)
    expect(report).toMatchObject({
      status: 'failed',
      failure: { hook: 'onBook', at: sec(3), message: 'RangeError: out of ideas' },
      fills: { count: 2 },
    })
    expect(report.notices.join()).toContain('out of ideas')
  })

  it('modifies its views gets an error and changes nothing', async () => {
    const attempts: ((book: BookView) => unknown)[] = [
      (book) => Object.assign(book, { bestAsk: 1 }),
      (book) => Object.assign(book.market, { status: 'open' }),
      (book) => (book.asks() as unknown[]).push({ price: 100, size: 1e9 }),
      (book) => Object.assign(book.asks()[0]!, { price: 100 }),
      (book) => Object.assign(Object.getPrototypeOf(book) as object, { bestAsk: 1 }),
      (book) => Object.defineProperty(Object.getPrototypeOf(book), 'bestAsk', { value: 1 }),
    ]
    for (const attempt of attempts) {
      const { report } = await run({ onBook: (book) => void attempt(book) })
      expect(report.failure?.message).toMatch(/^TypeError/)
      const clean = await run({ onBook: (book, { log }) => log(String(book.bestAsk)) })
      expect(new Set(clean.report.logs.map((line) => line.split(' ')[1]))).toStrictEqual(
        new Set(['5000']),
      )
    }
    const { report } = await run({
      onBook(book) {
        const native = book.market.native as Record<string, unknown>
        native['market'] = 'mine'
      },
      onEnd: ({ market, log }) => log(JSON.stringify(market('venueb:KX-1-A')!.native)),
    })
    expect(report.logs.join()).toContain('price_ranges')
  })

  it('sets timers without end at one instant is stopped', async () => {
    const { report } = await run({
      onStart: ({ timerIn }) => timerIn(0),
      onTimer: (_, { timerIn }) => timerIn(0),
    })
    expect(report.failure?.message).toContain('without end')
  })

  it('sets a timer at an invalid time is stopped', async () => {
    const { report } = await run({ onStart: ({ timerAt }) => timerAt(Number.NaN) })
    expect(report.failure?.hook).toBe('onStart')
  })

  it('sends invalid orders has them rejected and counted', async () => {
    const reasons: string[] = []
    const { report } = await run({
      onStart(context) {
        const { order } = context as unknown as { order: (request: unknown) => void }
        for (const request of [
          undefined,
          null,
          5,
          {},
          { market: {} },
          { market: 'venueb:KX-1-A' },
        ]) {
          order(request)
        }
      },
      onOrder: ({ reason }) => void reasons.push(String(reason)),
    })
    expect(report.status).toBe('complete')
    expect(report.orders).toMatchObject({ sent: 6, rejected: 6, arrived: 0 })
    expect(reasons).toHaveLength(6)
  })
})

describe('a run', () => {
  it('without data throws', async () => {
    await expect(run({}, new TestTape().batches())).rejects.toMatchObject({ code: 'no_data' })
    const only = new TestTape().market(sec(0), recordB('KX-1-A'))
    await expect(run({}, only.batches())).rejects.toMatchObject({ code: 'no_data' })
  })

  it('below the coverage floor throws with the start of the books', async () => {
    const empty = new TestTape().market(sec(0), {
      ...recordB('1'),
      venue: 'venuea',
      asset: 'BTC',
      window: '5m',
    })
    const from = Date.parse('2026-05-01') * 1000
    const to = Date.parse('2026-05-02') * 1000
    const options = { strategy: {}, events: empty.batches(), from, to }
    await expect(backtest(options)).rejects.toThrow('books of venuea begin at 2026-07-26')
  })

  it('that starts below the floor has a notice in its report', async () => {
    const made = new TestTape()
    const a = made.instrument('venuea', '7')
    made.market(sec(0), { ...recordB('7'), venue: 'venuea', asset: 'BTC', window: '15m' })
    made.book(sec(1), a, [[4800, 1]], [[5000, 1]])
    const from = Date.parse('2026-05-01') * 1000
    const { report } = await backtest({ events: made.batches(), strategy: {}, from, to: sec(2) })
    expect(report.coverage.below_floor.join()).toContain('2026-06-26')
    expect(report.notices.join()).toContain('2026-06-26')
  })

  it('with unknown fees throws unless fees are assumed', async () => {
    const made = new TestTape()
    const c = made.instrument('venuec', '0xc', '0xc-up', 'Up')
    const { asset: _, ...record } = recordC('0xc', {
      native: { gamma: { orderPriceMinTickSize: 0.01 } },
    })
    made.market(sec(0), record)
    for (const at of [1, 2, 3]) made.book(sec(at), c, [[4800, 1e9]], [[5000, 1e9]])
    const strategy: Strategy = {
      onBook: (book, { buy }) => void buy({ market: book.market.id, size: 10 }),
    }
    const options = { strategy, queue: 'pessimistic' } as const
    await expect(backtest({ ...options, events: made.batches() })).rejects.toMatchObject({
      code: 'fee_unknown',
    })
    const assumed = await backtest({
      ...options,
      events: made.batches(),
      assume: { fees: { venuec: { kind: 'none' } } },
    })
    expect(assumed.report.markets[0]!.fee_basis).toContain('assumed')
    const quote: Strategy = {
      onBook: (book, { buy }) => void buy({ market: book.market.id, price: 4700, size: 10 }),
    }
    const bare = recordB('KX-1-A', {}, {})
    const b = new TestTape()
    const own = b.instrument('venueb', 'KX-1-A')
    b.market(sec(0), bare).book(sec(1), own, [[4800, 100]], [[5000, 100]])
    b.book(sec(2), own, [[4800, 100]], [[5000, 100]])
    await expect(run(quote, b.batches())).rejects.toThrow('venuebMaker')
  })

  it('chooses parameters on the first part of a range and tests them on the rest', async () => {
    const made = tape()
    const open = (from: number, to: number) => [between(made, from, to)]
    const { best, holdout, train } = await trainHoldout({
      open,
      from: T0,
      split: sec(10),
      to: sec(20),
      params: [{ size: 1 }, { size: 5 }],
      queue: 'pessimistic',
      score: (report) => report.fills.count,
      strategy: ({ size }) => ({
        onBook(book, { buy, position }) {
          const { id } = book.market
          if (position(id).shares[0]! < Number(size)) buy({ market: id, size: 1 })
        },
      }),
    })
    expect(train).toHaveLength(2)
    expect(best.params).toStrictEqual({ size: 5 })
    expect(holdout.report.run.params).toStrictEqual({ size: 5 })
    expect(holdout.report.coverage.observations).toBeLessThan(11)
    const wrong = trainHoldout({ open, from: 5, split: 5, to: 6, params: [{}], strategy: {} })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})

function* between(made: TestTape, from: number, to: number) {
  for (const batch of made.batches()) {
    for (const event of batch) {
      if (event.kind === 'market' || (event.at >= from && event.at < to)) yield event
    }
  }
}
