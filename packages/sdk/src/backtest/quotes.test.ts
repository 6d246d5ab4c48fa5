import { describe, expect, it } from 'vitest'
import { createRandom } from './random.ts'
import { randomTape } from './random-tape.testing.ts'
import { backtest } from './run.ts'
import type { BookView, LevelView, Strategy, StrategyContext } from './strategy.ts'
import { recordA, recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

const M = 'venueb:KX-1-A'
const c = (count: number): number => count * unitOf('venueb')

async function run(tape: TestTape, strategy: Strategy) {
  const { report } = await backtest({ events: tape.batches(), strategy, queue: 'pessimistic' })
  expect(report.failure).toBeNull()
  return report
}

describe('onQuote', () => {
  it('is called when a best price or its size changes, and only then', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    tape.book(sec(1), b, [[4800, c(5)]], [[5000, c(5)]])
    tape.change(sec(2), b, [['bid', 4700, c(9)]])
    tape.change(sec(3), b, [['bid', 4800, c(6)]])
    tape.change(sec(4), b, [['ask', 5100, c(1)]])
    tape.change(sec(5), b, [['ask', 5000, 0]])
    tape.change(sec(6), b, [['bid', 4700, 0]])
    tape.change(sec(7), b, [['bid', 4800, 0]])
    tape.gap(sec(8), sec(9), b)
    tape.book(sec(9), b, [], [[5100, c(1)]])
    const seen: string[] = []
    await run(tape, {
      onQuote: ({ bestBid, bidSize, bestAsk, askSize, time }) =>
        void seen.push(`${(time - sec(0)) / 1e6}: ${bidSize}@${bestBid} ${askSize}@${bestAsk}`),
    })
    expect(seen).toStrictEqual([
      '1: 5@4800 5@5000',
      '3: 6@4800 5@5000',
      '5: 6@4800 1@5100',
      '7: 0@null 1@5100',
    ])
  })

  it('misses no change that onBook sees, over random tapes', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const quotes: string[] = []
      const changes: string[] = []
      const last = new Map<string, string>()
      const text = ({ market, bestBid, bidSize, bestAsk, askSize }: BookView): string =>
        [market.id, bestBid, bidSize, bestAsk, askSize].join(' ')
      await run(randomTape(seed, 200, true, 'all'), {
        onQuote: (book) => void quotes.push(text(book)),
        onBook(book) {
          const now = text(book)
          if (last.get(book.market.id) !== now) changes.push(now)
          last.set(book.market.id, now)
        },
      })
      expect(quotes).toStrictEqual(changes)
      expect(quotes.length).toBeGreaterThan(50)
    }
  })
})

/** The mean price of a size by adding up copies of levels. */
function meanPrice(levels: readonly LevelView[], size: number): number | null {
  let left = size
  let value = 0
  for (const level of levels) {
    const taken = Math.min(left, level.size)
    value += taken * level.price
    left -= taken
  }
  return left > 1e-9 ? null : value / size
}

const sumOf = (levels: readonly LevelView[]): number =>
  levels.reduce((sum, { size }) => sum + size, 0)

describe('helpers of a book', () => {
  it('agree with its levels, for both outcomes', async () => {
    const random = createRandom(3, 'sizes')
    const compared: [got: number | null, expected: number | null][] = []
    await run(randomTape(7, 400, true, 'all'), {
      onBook({ market }, { book }) {
        for (const outcome of [0, 1]) {
          const own = book(market.id, outcome)!
          const size = 1 + random.below(120)
          for (const [side, levels] of [
            ['buy', own.asks()],
            ['sell', own.bids()],
          ] as const) {
            compared.push([own.vwap(side, size), meanPrice(levels, size)])
          }
          const depth = 1 + random.below(4)
          const bids = sumOf(own.bids(depth))
          const asks = sumOf(own.asks(depth))
          const lean = bids + asks === 0 ? null : (bids - asks) / (bids + asks)
          compared.push([own.imbalance(depth), lean])
          const { bestBid, bestAsk, bidSize, askSize } = own
          const hasBoth = bestBid !== null && bestAsk !== null
          const price = hasBoth
            ? (bestBid * askSize + bestAsk * bidSize) / (bidSize + askSize)
            : null
          compared.push([own.microprice, price])
          expect(own.vwap('buy', Number.NaN)).toBeNull()
          expect(own.vwap('buy', 0)).toBeNull()
        }
      },
    })
    const isClose = ([got, expected]: (typeof compared)[number]): boolean =>
      got === null || expected === null ? got === expected : Math.abs(got - expected) < 1e-6
    expect(compared.filter((pair) => !isClose(pair))).toStrictEqual([])
    expect(compared.filter(([got]) => got !== null).length).toBeGreaterThan(500)
  })
})

describe('helpers of the context', () => {
  it('know fees, ticks and the time to the close', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    const up = tape.instrument('venuec', '0xc', '0xc-up', 'Up')
    const a = tape.instrument('venuea', '7')
    tape.market(sec(0), recordB('KX-1-A', { closeTime: sec(61) as never }))
    tape.market(sec(0), recordC('0xc')).market(sec(0), recordA('7'))
    for (const own of [b, up, a]) tape.book(sec(1), own, [[4800, 1e8]], [[5000, 1e8]])
    const answers: unknown[] = []
    await run(tape, {
      onEnd({ fee, ticks, secondsToClose }: StrategyContext) {
        const ten = { side: 'buy', price: 5000, size: 10 } as const
        answers.push(fee({ market: M, ...ten }), fee({ market: M, ...ten, liquidity: 'maker' }))
        // 10 × 0.07 × 0.25 at C; 2 % of 10 × 0.50 at A.
        answers.push(fee({ market: 'venuec:0xc', ...ten }), fee({ market: 'venuea:7', ...ten }))
        answers.push(fee({ market: 'venueb:OTHER', ...ten }), fee({ market: M, ...ten, size: -1 }))
        answers.push(ticks(M), ticks('venueb:OTHER'), secondsToClose(M), secondsToClose('venuea:7'))
      },
    })
    expect(answers).toStrictEqual([
      0.18,
      0,
      0.175,
      0.1,
      undefined,
      undefined,
      [{ from: 0, to: 10_000, step: 100 }],
      [],
      60,
      undefined,
    ])
  })
})
