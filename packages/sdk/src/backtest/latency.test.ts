import { describe, expect, it } from 'vitest'
import { backtest, type BacktestOptions } from './run.ts'
import type { Strategy, StrategyContext } from './strategy.ts'
import { recordB, recordC, sec, T0, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

// The ask is 0.50, from second 10 on 0.60; a gap from 20 to 22, and the last row at 40.
function tape(): TestTape {
  const made = new TestTape()
  const b = made.instrument('venueb', 'KX-1-A')
  made.market(sec(0), recordB('KX-1-A'))
  made.book(sec(1), b, [[4800, c(100)]], [[5000, c(100)]])
  made.change(sec(10), b, [
    ['ask', 5000, 0],
    ['ask', 6000, c(100)],
  ])
  made.trade(sec(11), b, 6000, c(1), 'buy')
  made.gap(sec(20), sec(22), b)
  made.book(sec(22), b, [[4800, c(100)]], [[6100, c(100)]])
  made.book(sec(40), b, [[4800, c(100)]], [[6100, c(90)]])
  return made
}

const second = (now: number): number => (now - T0) / 1e6

async function heard(latency: BacktestOptions['latency'], at: readonly number[]) {
  const lines: string[] = []
  const say = (now: number, ...words: unknown[]): void =>
    void lines.push(`${second(now)} ${words.join(' ')}`)
  const strategy: Strategy = {
    onStart: ({ timerAt }) => at.forEach((time) => timerAt(sec(time))),
    onTimer: (_timer, { now, book, market }) =>
      say(now, 'timer', book(M)?.bestAsk ?? 'no book', market(M)?.inGap === true ? 'gap' : 'open'),
    onBook: (book, { now }) => say(now, 'book', book.bestAsk, second(book.time)),
    onTrade: (trade, { now }) => say(now, 'trade', second(trade.time)),
    onGap: ({ edge }, { now }) => say(now, 'gap', edge),
  }
  const options = latency === undefined ? {} : { latency }
  await backtest({ events: tape().batches(), strategy, queue: 'pessimistic', ...options })
  return lines
}

describe('the latency of the feed', () => {
  it('delays books, trades, gaps and what timers see', async () => {
    expect(await heard({ feed: 2_000_000 }, [2, 3.5, 11.5, 12.5, 21, 22.5])).toStrictEqual([
      '2 timer no book open',
      '3 book 5000 1',
      '3.5 timer 5000 open',
      '11.5 timer 5000 open',
      '12 book 6000 10',
      '12.5 timer 6000 open',
      '13 trade 11',
      '21 timer 6000 open',
      '22 gap open',
      '22.5 timer 6000 gap',
      '24 gap close',
      '24 book 6100 22',
    ])
  })

  it('never changes the order of events, whatever is drawn', async () => {
    const jitter = { kind: 'jitter', base: 0, spread: 30_000_000 } as const
    const plain = await heard(undefined, [])
    const late = await heard({ feed: jitter }, [])
    const words = (lines: readonly string[]): string[] =>
      lines.map((line) => line.slice(line.indexOf(' ') + 1))
    expect(late.length).toBeGreaterThan(2)
    expect(words(late)).toStrictEqual(words(plain).slice(0, late.length))
  })

  it('does not delay the order itself', async () => {
    const strategy: Strategy = {
      onBook: ({ market, sequence }, { buy }) =>
        void (sequence === 1 && buy({ market: market.id, size: 1 })),
    }
    const { report } = await backtest({
      events: tape().batches(),
      strategy,
      queue: 'pessimistic',
      latency: { feed: 2_000_000, entry: 1_000_000 },
    })
    // Seen at 3, it arrives at 4.
    expect(report.fills_kept.map(({ at, price }) => [second(at), price])).toStrictEqual([[4, 5000]])
    expect(report.run.latency).toMatchObject({ feed: 2_000_000, acknowledge: 0 })
  })
})

describe('the latency of acknowledgements', () => {
  it('delays fills, orders, positions and cash, but not the exposure', async () => {
    const lines: string[] = []
    const look = (what: string, { now, position, exposure, cash, orders }: StrategyContext): void =>
      void lines.push(
        [
          second(now),
          what,
          position(M).shares[0],
          exposure(M).shares[0],
          cash('venueb'),
          orders(M).length,
        ].join(' '),
      )
    const strategy: Strategy = {
      onStart: ({ timerAt }) => [2, 4, 7].forEach((at) => timerAt(sec(at))),
      onTimer(_timer, context) {
        if (context.now === sec(2)) context.buy({ market: M, size: 10 })
        look('timer', context)
      },
      onFill: (_fill, context) => look('fill', context),
      onOrder: ({ state }, context) => look(state, context),
    }
    await backtest({
      events: tape().batches(),
      strategy,
      queue: 'pessimistic',
      latency: { entry: 1_000_000, acknowledge: 2_000_000 },
    })
    // Filled at 3, known at 5.
    expect(lines).toStrictEqual([
      '2 timer 0 10 1000 1',
      '4 timer 0 10 1000 1',
      '5 fill 10 10 994.82 1',
      '5 filled 10 10 994.82 0',
      '7 timer 10 10 994.82 0',
    ])
  })
})

describe('pairs that a strategy splits or merges itself', () => {
  it('are known at once, because no answer travels', async () => {
    const made = new TestTape()
    const up = made.instrument('venuec', '0xc', '0xc-up', 'Up')
    made.market(sec(0), recordC('0xc'))
    for (const at of [1, 60]) made.book(sec(at), up, [[4800, 1e8]], [[5000, 1e8]])
    const lines: string[] = []
    const strategy: Strategy = {
      onStart: ({ timerAt }) => [2, 3, 4, 20].forEach((at) => timerAt(sec(at))),
      onTimer(_timer, { now, split, merge, sell, position, cash }) {
        const market = 'venuec:0xc'
        if (now === sec(2)) split(market, 10)
        if (now === sec(3)) merge(market, 4)
        if (now === sec(4)) sell({ market, size: 5 })
        const { shares } = position(market)
        lines.push(`${second(now)} ${shares.join(' ')} ${cash('venuec').toFixed(2)}`)
      },
    }
    const latency = { entry: 1_000_000, acknowledge: 9_000_000 }
    const { report } = await backtest({
      events: made.batches(),
      strategy,
      queue: 'pessimistic',
      latency,
    })
    expect(report.failure).toBeNull()
    // The sale is filled at 5 and known at 14: 5 × 0.48 less the fee of 0.07 × 5 × 0.48 × 0.52.
    expect(lines).toStrictEqual(['2 10 10 990.00', '3 6 6 994.00', '4 6 6 994.00', '20 1 6 996.31'])
  })
})

describe('the exposure', () => {
  it('counts orders on their way, so that a strategy does not order twice', async () => {
    const strategy: Strategy = {
      onBook({ market: { id } }, { buy, sell, exposure, log }) {
        if (exposure(id).shares[0] === 0) buy({ market: id, size: 10 })
        log(JSON.stringify(exposure(id)))
        sell({ market: id, price: 9000, size: 4 })
        buy({ market: id, outcome: 1, amount: '5.2' })
        log(JSON.stringify(exposure(id)))
      },
    }
    const made = new TestTape()
    const b = made.instrument('venueb', 'KX-1-A')
    made.market(sec(0), recordB('KX-1-A'))
    for (const at of [1, 1.01, 1.02]) made.book(sec(at), b, [[4800, c(100)]], [[5000, c(100)]])
    const { report } = await backtest({ events: made.batches(), strategy, queue: 'pessimistic' })
    expect(report.orders_kept.filter(({ side, price }) => side === 'buy' && price === undefined))
      // One of ten, and one for an amount of No with every book: 5.20 buy ten at 0.52.
      .toHaveLength(4)
    const [first, second] = report.logs.map((line) => JSON.parse(line.split(' ')[1]!) as unknown)
    expect(first).toStrictEqual({ market: M, shares: [10, 0], buying: [10, 0], selling: [0, 0] })
    expect(second).toStrictEqual({ market: M, shares: [6, 10], buying: [10, 10], selling: [4, 0] })
  })
})

describe('a cancel that overtakes the replacement that it cancels', () => {
  it('ends both orders once, and nothing trades afterwards', async () => {
    const overtaken: number[] = []
    for (let seed = 0; seed < 24; seed++) {
      const said: string[] = []
      const strategy: Strategy = {
        onStart: ({ timerAt }) => [2, 4].forEach((at) => timerAt(sec(at))),
        onTimer(_timer, { now, buy, cancel, replace }) {
          if (now === sec(2)) buy({ market: M, price: 4500, size: 10 })
          else cancel(replace(1, { price: 5000 }))
        },
        onOrder: ({ id, state, filled }) => void said.push(`${id} ${state} ${filled}`),
      }
      const cancel = { kind: 'measured', micros: [1000, 400_000] } as const
      const { report } = await backtest({
        events: tape().batches(),
        strategy,
        queue: 'pessimistic',
        latency: { entry: 1000, cancel },
        seed,
      })
      const ends = said.filter((line) => !/resting|sent/.test(line))
      expect(new Set(ends.map((line) => line[0]))).toStrictEqual(new Set(['1', '2']))
      expect(ends).toHaveLength(2)
      expect(said.at(-1)).toBe(ends.at(-1))
      if (ends.includes('2 filled 10')) continue
      overtaken.push(seed)
      expect(ends.toSorted()).toStrictEqual(['1 cancelled 0', '2 cancelled 0'])
      expect(report.fills.count).toBe(0)
    }
    expect(overtaken.length).toBeGreaterThan(0)
    expect(overtaken.length).toBeLessThan(24)
  })
})
