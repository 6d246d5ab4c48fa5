import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { randomStrategy, randomTape } from '../random-tape.testing.ts'
import { backtest } from '../run.ts'
import { play, send } from '../scripted.testing.ts'
import { recordB, sec, TestTape } from '../tape.testing.ts'
import { compareReports } from './comparison.ts'
import { comparisonHtml } from './comparison-html.ts'
import { reportHtml } from './html.ts'
import { parseReport, type ReportFileError } from './parse.ts'
import { printReport } from './print.ts'
import { sharpeOf, sortinoOf } from './ratios.ts'
import { marketPaths } from './round-trips.ts'

const MARKET = 'venueb:KX-1-A'
const WON = { status: 'resolved', resolution: { state: 'final', payouts: ['1', '0'] } } as const
const DAY_S = 86_400

describe('Sharpe and Sortino by day', () => {
  // numpy: x = [4, -1, 2, 0, 1]; x.mean() / x.std(); x.mean() / sqrt(mean(minimum(x, 0)²)).
  const days = [4, -1, 2, 0, 1]

  it('are the mean over the spread, for a day and a year of 365', () => {
    expect(sharpeOf(days)).toMatchObject({ daily: 0.697486, annual: 13.325448 })
    expect(sortinoOf(days)).toMatchObject({ daily: 2.683282, annual: 51.264022 })
  })

  it('have the standard error that many samples of the same kind scatter by', () => {
    // A generator of its own, and no formula: the spread of the ratio over repeated samples.
    let state = 12_345
    const uniform = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 8) / 2 ** 24
    }
    const sample = (): number[] =>
      Array.from({ length: 60 }, () => 0.1 + uniform() + uniform() + uniform() - 1.5)
    for (const ratioOf of [sharpeOf, sortinoOf]) {
      const made = Array.from({ length: 400 }, () => ratioOf(sample()))
      const ratios = made.map(({ daily }) => daily!)
      const mean = ratios.reduce((sum, one) => sum + one, 0) / ratios.length
      const spread = Math.sqrt(
        ratios.reduce((sum, one) => sum + (one - mean) ** 2, 0) / ratios.length,
      )
      const said = made.reduce((sum, one) => sum + one.daily_error!, 0) / made.length
      expect(said / spread).toBeGreaterThan(0.85)
      expect(said / spread).toBeLessThan(1.15)
    }
  })

  it('are unknown for one day, and without any spread', () => {
    const unknown = { daily: null, annual: null, daily_error: null, annual_error: null }
    expect(sharpeOf([5])).toEqual(unknown)
    expect(sharpeOf([])).toEqual(unknown)
    expect(sharpeOf([2, 2, 2])).toEqual(unknown)
    expect(sortinoOf([1, 2, 3])).toEqual(unknown)
  })
})

describe('round trips', () => {
  it('end flat or paid out, with the amounts of the fills', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    tape.book(sec(1), b, [[4800, 10_000]], [[5000, 10_000]])
    tape.book(sec(4), b, [[6000, 10_000]], [[6200, 10_000]])
    tape.book(sec(8), b, [[6000, 10_000]], [[6200, 10_000]])
    tape.market(sec(9), recordB('KX-1-A', WON))
    const order = { market: MARKET, size: 2 } as const
    const { report } = await play(tape, [
      [sec(2), send({ ...order, side: 'buy' })],
      [sec(5), send({ ...order, side: 'sell' })],
      [sec(6), send({ ...order, side: 'buy', outcome: 1 })],
    ])
    const { round_trips: trips } = report.performance
    expect(trips).toMatchObject({ count: 2, won: 1, lost: 1, open: 0, win_rate: 0.5 })
    const [first, second] = report.fills_kept.map(({ fee }) => Number(fee))
    // Bought 2 at 0.50 and sold at 0.60; then bought 2 of the loser at 0.40.
    expect(Number(trips.best)).toBeCloseTo(0.2 - first! - second!, 8)
    expect(Number(trips.worst)).toBeCloseTo(-0.8 - Number(report.fills_kept[2]!.fee), 8)
    const [path] = marketPaths(report.fills_kept, report.settlements)
    const units = path!.steps.map((step) => step.units)
    expect(units).toEqual([units[0], 0, -units[0]!, 0])
    expect(Number(trips.best) + Number(trips.worst)).toBeCloseTo(Number(report.headline.pnl), 6)
  })

  it('add up to the results of their markets, over random orders on all venues', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const { report } = await backtest({
        events: randomTape(seed, 1500).batches(),
        strategy: randomStrategy(),
        seed,
        queue: 'pessimistic',
      })
      let checked = 0
      for (const { market, trips } of marketPaths(report.fills_kept, report.settlements)) {
        const result = report.markets.find((one) => one.market === market)!
        if (trips.some(({ end }) => end === undefined)) continue
        const sum = trips.reduce((total, { pnl }) => total + pnl, 0) / 1e8
        // Venues round each fill and payout to their smallest amount.
        expect(Math.abs(sum - Number(result.pnl))).toBeLessThan(1e-4 * (result.fills + 1))
        checked++
      }
      expect(checked).toBeGreaterThan(0)
    }
  })
})

describe('the traces of a report', () => {
  it('hold the result of every day, the prices of the first outcome and the queue', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    const midnight = DAY_S * Math.ceil(sec(0) / 1e6 / DAY_S) - sec(0) / 1e6
    tape.book(sec(1), b, [[4800, 1000]], [[5000, 1000]])
    tape.book(sec(3), b, [[4700, 1000]], [[5000, 1000]])
    tape.book(sec(midnight + 5), b, [[5500, 1000]], [[5700, 1000]])
    tape.book(sec(midnight + 9), b, [[5200, 1000]], [])
    const { report } = await play(tape, [
      [sec(2), send({ market: MARKET, side: 'buy', size: 1 })],
      [sec(2), send({ market: MARKET, side: 'buy', size: 1, price: '0.47' })],
    ])
    const { days } = report.performance
    expect(days).toHaveLength(2)
    const total = days.reduce((sum, { pnl }) => sum + Number(pnl), 0)
    expect(total).toBeCloseTo(Number(report.headline.pnl), 8)
    // The first book after midnight ends the first day: the share was worth its bid of 0.55.
    expect(Number(days[0]!.pnl)).toBeCloseTo(0.05 - Number(report.headline.fees), 8)
    expect(report.prices).toEqual([
      {
        market: MARKET,
        points: [
          [sec(1), 4800, 5000],
          [sec(3), 4700, 5000],
          [sec(midnight + 5), 5500, 5700],
          [sec(midnight + 9), 5200, null],
        ],
      },
    ])
    expect(report.queue).toEqual([{ order: 2, at: sec(2), ahead: '0' }])
    const html = reportHtml(report, { explorer: 'http://127.0.0.1:8780/' })
    expect(html).toContain('http://127.0.0.1:8780/market/venueb/KX-1-A?t=')
    expect(html).toContain('Price and fills of venueb:KX-1-A')
  })

  it('are bounded for one market, whatever the number of its books', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    for (let at = 1; at < 4000; at++) {
      tape.book(sec(at), b, [[4000 + (at % 9) * 100, 1000]], [[5000, 1000]])
    }
    const { report } = await play(tape, [[sec(2), send({ market: MARKET, side: 'buy', size: 1 })]])
    const [{ points } = { points: [] }] = report.prices
    expect(points.length).toBeGreaterThan(100)
    expect(points.length).toBeLessThanOrEqual(300)
    expect(points.at(-1)![0] - points[0]![0]).toBeGreaterThan(3_900_000_000)
  })
})

describe('a report file', () => {
  it('is read back as it was written', async () => {
    const { report } = await backtest({
      events: randomTape(2, 400).batches(),
      strategy: randomStrategy(),
    })
    expect(parseReport(printReport(report))).toEqual(JSON.parse(printReport(report)))
  })

  it.each([
    ['not_json', () => 'PBX\u0001'],
    ['not_a_report', () => '[1, 2]'],
    ['not_a_report', () => '{"format": "priorbook-tape/3"}'],
    ['other_format', (text: string) => text.replace('backtest/1', 'backtest/2')],
    ['old_report', (text: string) => text.replace('"performance"', '"other"')],
    ['damaged', (text: string) => text.replace('"headline"', '"other"')],
    ['damaged', (text: string) => text.replaceAll('"side": "', '"side": "x')],
    ['not_json', (text: string) => text.slice(0, -20)],
  ] as const)('that is wrong is refused as %s', async (code, change) => {
    const { report } = await backtest({
      events: randomTape(2, 400).batches(),
      strategy: randomStrategy(),
    })
    expect(report.fills_kept.length).toBeGreaterThan(0)
    const text = change(printReport(report))
    expect(refusalOf(text)).toEqual({ name: 'ReportFileError', code, hasHint: true })
  })
})

function refusalOf(text: string): object | undefined {
  try {
    parseReport(text)
    return undefined
  } catch (error) {
    const { name, code, hint } = error as ReportFileError
    return { name, code, hasHint: hint !== '' }
  }
}

describe('two reports', () => {
  it('are compared figure by figure, market by market, with what they do not share', async () => {
    const run = async (seed: number) =>
      (
        await backtest({
          events: randomTape(2, 800).batches(),
          strategy: randomStrategy(),
          queue: 'pessimistic',
          seed,
        })
      ).report
    const [first, second] = [await run(5), await run(6)]
    const comparison = compareReports(first, second)
    const result = comparison.figures[0]!
    expect(result).toMatchObject({ first: first.headline.pnl, second: second.headline.pnl })
    const exact = Number(second.headline.pnl) - Number(first.headline.pnl)
    expect(Number(result.difference)).toBeCloseTo(exact, 7)
    expect(result.isBetter).toBe(exact > 0)
    expect(comparison.differences).toEqual([['seed', '5', '6']])
    const sum = comparison.markets.reduce((total, one) => total + Number(one.difference), 0)
    const own = (report: typeof first): number =>
      report.markets.reduce((total, { pnl }) => total + Number(pnl), 0)
    expect(sum).toBeCloseTo(own(second) - own(first), 6)
    const html = comparisonHtml(first, second, ['a <b>', 'c'])
    expect(html).not.toMatch(/https?:|<script|NaN|undefined|a <b>/)
    const none = compareReports(first, first)
    expect(none.differences).toEqual([])
    expect(none.figures.every(({ difference }) => Number(difference) === 0)).toBe(true)
  })

  it('give the same page every time', async () => {
    const { report } = await backtest({
      events: randomTape(3, 200).batches(),
      strategy: randomStrategy(),
    })
    const digest = (): string =>
      createHash('sha256')
        .update(comparisonHtml(report, report, ['a', 'b']))
        .digest('hex')
    expect(digest()).toBe(digest())
  })
})
