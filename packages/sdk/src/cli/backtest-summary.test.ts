import { describe, expect, it } from 'vitest'
import type { Report } from '../backtest/index.ts'
import { summarize } from './backtest-summary.ts'

const REPORT = {
  notices: [],
  disclaimer: [],
  run: { queue: 'pessimistic', latency: { entry: 250_000 }, gap_policy: 'cancel' },
  headline: {
    pnl: '19.7',
    pnl_settled: '20',
    pnl_open: '-0.3',
    fees: '0.8',
    peak_capital: '5.3',
    return_on_peak_capital: 3.716_981,
    max_drawdown: '1.1',
  },
  bracket: null,
  confidence: { events: 3, low: null, high: null },
  orders: { sent: 3, rejected: 0, with_fills: 2 },
  fills: { count: 2, taker: 1, maker: 1 },
  gaps: { near: { fills: 0, pnl: '0' } },
  coverage: { observed: 0.985, observations: 16_103, trades: 7 },
  markets: [{ market: 'venueb:A' }, { market: 'venueb:B' }],
} as unknown as Report

describe('the summary of a backtest', () => {
  it('has currencies, percent and the names of its models', () => {
    const text = summarize(REPORT, 'abc')
    expect(text).toContain('result                 19.7 USD\n')
    expect(text).toContain('peak capital           5.3 USD (return 371.7 %)\n')
    expect(text).toContain('observed               98.5 %, 16,103 books, 7 trades\n')
    expect(text).toContain('queue pessimistic; orders arrive after 250 ms; gaps: cancel\n')
  })

  it('names every model of a bracket, and every currency', () => {
    const bracket = {
      pessimistic: '-1',
      proportional: '2',
      optimistic: '-3',
      smallest: '-3',
      largest: '2',
      maker_fills: [0, 1, 2],
      is_one_number: false,
    }
    const markets = [{ market: 'venueb:A' }, { market: 'venuec:0x1' }]
    const confidence = { events: 40, low: -0.5, high: 4.5, is_small: false }
    const text = summarize({ ...REPORT, bracket, markets, confidence } as unknown as Report, 'abc')
    expect(text).toContain(
      'result                 -3 … 2 USD + USDC, smallest to largest of three queue models\n',
    )
    expect(text).toContain(
      'pessimistic -1, proportional 2, optimistic -3 USD + USDC: guesses about the queue, not bounds\n',
    )
    expect(text).toContain('95 % of 40 events resampled: -0.5 to 4.5 USD + USDC\n')
    expect(text).toContain('queue pessimistic, proportional and optimistic;')
  })

  it('names the reasons of refused orders, and gives no band of two events', () => {
    const orders = { sent: 3, rejected: 2, with_fills: 1, reasons: { in_gap: 2 } }
    const confidence = { events: 2, low: -1, high: 1, is_small: true }
    const text = summarize({ ...REPORT, orders, confidence } as unknown as Report, 'abc')
    expect(text).toContain('3 sent, 2 refused (in_gap 2), 1 with fills\n')
    expect(text).toContain('too few events (2) for a band\n')
    expect(text).not.toContain('95 %')
  })
})
