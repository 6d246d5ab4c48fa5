import { describe, expect, it } from 'vitest'
import { randomStrategy, randomTape } from '../random-tape.testing.ts'
import { backtest } from '../run.ts'
import { fillsOf, play, send, type Script } from '../scripted.testing.ts'
import type { StrategyContext } from '../strategy.ts'
import { recordB, sec, TestTape } from '../tape.testing.ts'
import { bootstrap } from './evaluation.ts'
import { reportHtml } from './html.ts'
import { printReport, REPORT_TABLES, reportCsv } from './print.ts'
import { niceTicks } from './svg.ts'
import { printWhy } from '../why.ts'

const random = () =>
  backtest({ events: randomTape(2, 800).batches(), strategy: randomStrategy, seed: 5 })

describe('a report', () => {
  it('has exact amounts that add up', async () => {
    const { report } = await random()
    const sum = (values: readonly string[]): number =>
      values.reduce((total, value) => total + Number(value), 0)
    const { headline, markets, evidence, gaps } = report
    expect(sum([headline.pnl_settled, headline.pnl_open])).toBeCloseTo(
      Number(headline.pnl) - Number(headline.settlement_fees_and_rounding),
      6,
    )
    expect(sum(Object.values(evidence).map(({ pnl }) => pnl))).toBeCloseTo(
      sum(markets.map(({ pnl }) => pnl)),
      6,
    )
    expect(sum([gaps.near.pnl, gaps.apart.pnl])).toBeCloseTo(sum(markets.map(({ pnl }) => pnl)), 6)
    const fills = Object.values(evidence).reduce((total, each) => total + each.fills, 0)
    expect(fills).toBe(report.fills.count)
    expect(printReport(report)).not.toMatch(/NaN|Infinity/)
  })

  it('leads with refusals only where nothing arrived: refused cancels do not count as orders', async () => {
    const market = 'venueb:KX-1-A'
    const tape = (): TestTape => {
      const made = new TestTape().market(sec(0), recordB('KX-1-A'))
      const own = made.instrument('venueb', 'KX-1-A')
      for (const at of [1, 9]) made.book(sec(at), own, [[4800, 1000]], [[5000, 1000]])
      return made
    }
    const cancels = ({ cancel }: StrategyContext): void => [7, 8, 9].forEach(cancel)
    const rests = send({ market, side: 'buy', price: 4000, size: 1 })
    const fails = send({ market, side: 'buy', price: '0.4001', size: 1 })
    const noticesOf = async (...acts: Script[number][1][]): Promise<readonly string[]> => {
      const script = acts.map((act, index) => [sec(2 + index), act] as const)
      const { report } = await play(tape(), script)
      expect(report.orders.rejected).toBeGreaterThanOrEqual(report.orders.sent)
      return report.notices
    }
    expect((await noticesOf(rests, cancels)).join()).not.toContain('refused')
    expect((await noticesOf(cancels)).join()).not.toContain('refused')
    expect((await noticesOf(fails, cancels))[0]).toMatch(
      /^All 1 orders were refused and nothing was traded\. 3 unknown_order: .+ 1 off_tick: /,
    )
  })

  it('prints a result of three models from the smallest to the largest, and calls it no bound', async () => {
    const { report } = await random()
    const bracket = {
      pessimistic: '1.25',
      proportional: '-4.5',
      optimistic: '0.75',
      smallest: '-4.5',
      largest: '1.25',
      maker_fills: [1, 2, 3],
      is_one_number: false,
    }
    const html = reportHtml({ ...report, bracket })
    expect(html).toContain(
      '<dt>Result, smallest … largest</dt><dd class="">-4.50 … 1.25</dd><dd class="note">of three queue models, which are guesses about the queue and not bounds: pessimistic 1.25, proportional -4.50, optimistic 0.75;',
    )
    expect(html).not.toMatch(/bracket|lies between/)
    const losses = { ...bracket, pessimistic: '-1', optimistic: '-2', largest: '-1' }
    expect(reportHtml({ ...report, bracket: losses })).toContain(
      '<dd class="loss">-4.50 … -1.00</dd>',
    )
  })

  it('shows its disclaimer in every format', async () => {
    const { report } = await random()
    const words = 'does not reproduce hidden liquidity, queue priority or the market impact'
    expect(report.disclaimer.join()).toContain(words)
    expect(reportHtml(report)).toContain(words)
  })

  it('is one page without network requests, whatever its names contain', async () => {
    const name = `</title><img src=x onerror="alert('1')">`
    const { report } = await backtest({
      events: randomTape(2, 50).batches(),
      strategy: () => ({ ...randomStrategy(), name }),
    })
    const html = reportHtml(report)
    expect(html).not.toContain('<img')
    expect(html).not.toMatch(/https?:|<script|@import|url\(/)
    // Eight plots of the run, and two of each market.
    const traded = report.markets.filter(({ fills }) => fills > 0).length
    expect(traded).toBeGreaterThan(0)
    expect(html.match(/<svg /g)).toHaveLength(8 + 2 * traded)
    expect(html).not.toMatch(/NaN|undefined/)
  })

  it('is also drawn without fills', async () => {
    const tape = new TestTape()
    tape.book(sec(1), tape.instrument('venueb', 'KX-1-A'), [], [])
    const { report } = await backtest({ events: tape.batches(), strategy: {} })
    expect(report.headline).toMatchObject({ pnl: '0', return_on_peak_capital: null })
    expect(reportHtml(report)).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('has CSV tables that are safe to open in a spreadsheet', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A', { title: 'Up, or "down"?' }))
    for (const at of [1, 3]) tape.book(sec(at), b, [[4800, 100]], [[5000, 100]])
    const market = 'venueb:KX-1-A'
    const result = await play(tape, [
      [sec(2), send({ market, side: 'buy', size: 1, tag: '=HYPERLINK("x")' })],
    ])
    expect(fillsOf(result)).toHaveLength(1)
    const { report } = result
    const fills = reportCsv(report, 'fills')
    expect(fills.split('\n')[1]).toBe(
      `1,1,2026-08-06T07:06:42.000000Z,${market},0,buy,taker,0.5,1,0.02,0,book_cross,"[""${market}:1""]",1000000,"'=HYPERLINK(""x"")"`,
    )
    expect(reportCsv(report, 'markets')).toContain('"Up, or ""down""?"')
    for (const table of REPORT_TABLES) {
      const [head = '', ...rows] = reportCsv(report, table).trim().split('\n')
      expect(head).toMatch(/^[a-z_,]+$/)
      expect(rows.length).toBeGreaterThanOrEqual(table === 'settlements' ? 0 : 1)
    }
    const story = printWhy(result.why(1)!)
    expect(story).toContain('book before bids 0.48×1 | asks 0.5×1')
    expect(story).toContain('book after  bids 0.48×1 | asks 0.5×0')
    expect(result.why(99)).toBeUndefined()
  })

  it('scores forecasts beside the mid', async () => {
    const tape = new TestTape()
    const b = tape.instrument('venueb', 'KX-1-A')
    tape.market(sec(0), recordB('KX-1-A'))
    for (const at of [1, 3]) tape.book(sec(at), b, [[4800, 100]], [[5200, 100]])
    const over = {
      status: 'resolved',
      resolution: { state: 'final', payouts: ['1', '0'] },
    } as const
    tape.market(sec(9), recordB('KX-1-A', over))
    const market = 'venueb:KX-1-A'
    const { report } = await play(tape, [
      [sec(2), ({ forecast }) => forecast(market, 0.8)],
      [sec(2), ({ forecast }) => forecast(market, 0.4, 'No')],
      [sec(2), ({ forecast }) => forecast(market, 7)],
    ])
    // ((1 − 0.8)² + (1 − 0.6)²) / 2 = 0.1; the mid's (1 − 0.5)² = 0.25.
    expect(report.calibration.brier).toStrictEqual({
      forecasts: 2,
      strategy: 0.1,
      mid: 0.25,
      strategy_where_mid: 0.1,
    })
    expect(report.baselines).toMatchObject([
      { name: 'always_favourite', pnl: 0.46 },
      { name: 'always_yes', pnl: 0.46 },
      { name: 'mid', pnl: 0.5 },
    ])
  })
})

describe('a confidence band', () => {
  it('comes from resampled events and needs at least two', () => {
    expect(bootstrap([5], 1)).toMatchObject({ events: 1, low: null })
    const band = bootstrap([1, -1, 2, -2, 3, 10], 1)
    expect(bootstrap([1, -1, 2, -2, 3, 10], 1)).toStrictEqual(band)
    expect(band.low!).toBeLessThan(13)
    expect(band.high!).toBeGreaterThan(13)
    expect(bootstrap([1, 1, 1], 9)).toMatchObject({ low: 3, high: 3, loss_share: 0 })
  })
})

describe('ticks', () => {
  it('are round', () => {
    expect(niceTicks(0, 1)).toStrictEqual([0, 0.5, 1])
    expect(niceTicks(-130, 12)).toStrictEqual([-100, -50, 0])
  })
})
