import { describe, expect, it } from 'vitest'
import { MAX_REPORT_BYTES, ofFirstOutcome, readReport, tooLarge } from './report-view.ts'

const MARKET = 'venueb:KX-1-A'
const FILL = {
  id: 1,
  order: 1,
  market: MARKET,
  venue: 'venueb',
  outcome: 0,
  side: 'buy',
  liquidity: 'taker',
  price: 4500,
  size: '2',
  fee: '0.02',
  feeShares: '0',
  at: 12_000_000,
  evidence: 'book_cross',
  rows: [],
  bookAge: 0,
}
const REPORT = {
  format: 'priorbook-backtest/1',
  disclaimer: [],
  notices: ['careful'],
  run: { strategy: 'x' },
  headline: { pnl: '1' },
  confidence: {},
  orders: {},
  fills: { count: 2 },
  gaps: { spans: [{ market: MARKET, reason: 'disconnected', start: 20_000_000, end: 30_000_000 }] },
  coverage: {},
  markets: [{ market: MARKET, title: null, pnl: '1', fees: '0.04' }],
  equity: [],
  settlements: [{ market: MARKET, time: 50_000_000, payouts: ['1', '0'], paid: '1' }],
  orders_kept: [{ id: 7, market: MARKET }],
  fills_kept: [FILL, { ...FILL, id: 2, at: 40_000_000, outcome: 1, size: '3' }],
  performance: {},
  prices: [
    {
      market: MARKET,
      points: [
        [10_000_000, 4000, 4500],
        [30_000_000, 4100, null],
      ],
    },
  ],
  queue: [
    { order: 7, at: 11_000_000, ahead: '10.5' },
    { order: 7, at: 40_000_000, ahead: '0' },
  ],
}

function viewOf(report: object) {
  const read = readReport('report.json', JSON.stringify(report))
  if ('trouble' in read) throw new Error(read.trouble.text)
  return read.view
}

describe('the view of a report', () => {
  it('has prices that hold until a gap, the position in the first outcome, and the queue', () => {
    const [market] = viewOf(REPORT).markets
    expect(market).toMatchObject({ venue: 'venueb', marketId: 'KX-1-A', title: undefined })
    expect(market!.prices).toEqual({
      times: [10, 20, 20.000001, 30, 50],
      bids: [0.4, 0.4, null, 0.41, 0.41],
      asks: [0.45, 0.45, null, null, null],
    })
    expect(market!.position.values).toEqual([0, 2, -1, 0, 0])
    expect(market!.queue).toEqual([{ times: [11, 40], values: [10.5, 0] }])
    expect(market!.gaps).toMatchObject([{ start: 20_000_000, end: 30_000_000 }])
    expect(market!.range.from).toBeLessThan(10_000_000)
    expect(market!.range.to).toBeGreaterThan(50_000_000)
  })

  it('lists the market with the largest result first, and none without fills', () => {
    const other = 'venuec:0x1'
    const view = viewOf({
      ...REPORT,
      markets: [...REPORT.markets, { market: other, pnl: '-9' }, { market: 'venuea:1', pnl: '0' }],
      fills_kept: [...REPORT.fills_kept, { ...FILL, market: other, venue: 'venuec' }],
    })
    expect(view.markets.map(({ market }) => market)).toEqual([other, MARKET])
  })

  it('turns fills of the second outcome around', () => {
    expect(ofFirstOutcome(FILL as never)).toEqual({ price: 0.45, isBuy: true })
    const second = { ...FILL, outcome: 1, price: 3000 }
    expect(ofFirstOutcome(second as never)).toEqual({ price: 0.7, isBuy: false })
  })

  it('names what is wrong with a file', () => {
    expect(readReport('x', '{')).toMatchObject({ trouble: { code: 'not_json' } })
    const old = { ...REPORT, queue: undefined }
    expect(readReport('x', JSON.stringify(old))).toMatchObject({ trouble: { code: 'old_report' } })
    expect(tooLarge(MAX_REPORT_BYTES + 1).text).toContain('150 MB')
  })
})
