import { describe, expect, it } from 'vitest'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import { divide, parseExact, printExact } from '../execution/exact.ts'
import {
  A_MARKET,
  at,
  B_MARKET,
  C_MARKET,
  C_TOKENS,
  createCatalogueStore,
} from '../pages/fixture.testing.ts'
import { CATALOGUE_ROUTES } from './index.ts'
import { violations } from '../pages/schema.testing.ts'

async function caller(): Promise<TestCaller> {
  return createTestCaller(CATALOGUE_ROUTES, {
    store: await createCatalogueStore(),
    now: () => at(400),
  })
}

const A = `/v3/venuea-prediction/${A_MARKET}/execution`
const B = `/v3/venueb/${B_MARKET}/execution`
const C = `/v3/btc/markets/${C_MARKET}/execution`
const DISCLAIMER =
  'The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.'
const schema = CATALOGUE_ROUTES.find((route) => route.id === 'venueb_execution')!.data

describe('an execution', () => {
  it('walks the book exactly and shows its evidence', async () => {
    const call = await caller()
    const { body, text } = await call.get(`${B}?side=buy&size=5&at=2026-08-05T12:00:55.5Z`)
    expect(violations(schema, body.data)).toEqual([])
    // 1 × 0.44 + 2 × 0.45 + 2 × 0.46 = 2.26
    expect(body.data).toMatchObject({
      side: 'buy',
      outcome: 'Yes',
      size: 5,
      filled_size: 5,
      is_complete: true,
      cost: 2.26,
      vwap: 0.452,
      vwap_is_exact: true,
      best_price: 0.44,
      worst_price: 0.46,
      price_range: 0.02,
      levels: { price: [0.44, 0.45, 0.46], size: [1, 2, 2] },
      fee: { amount: 0.09, rate: 0.07, reason: null },
      evidence: {
        row_id: `venueb:${B_MARKET}:5`,
        sequence: 5,
        is_complement: false,
        received_time: '2026-08-05T12:00:50.000000Z',
        book_age_ms: 5500,
        next_gap: null,
      },
      disclaimer: DISCLAIMER,
    })
    expect(text).toContain('"vwap":0.452')
  })

  it('marks a price whose digits never end as rounded', async () => {
    const call = await caller()
    const { body, text } = await call.get(`${B}?side=buy&size=6&at=2026-08-05T12:00:50Z`)
    // (0.44 + 0.90 + 3 × 0.46) / 6 = 2.72 / 6 = 0.4533…
    expect(body.data).toMatchObject({ cost: 2.72, vwap_is_exact: false })
    expect(text).toContain('"vwap":0.453333333333333333,')
  })

  it('sells into bids, and takes the other outcome as the complement', async () => {
    const call = await caller()
    const at50 = '&at=2026-08-05T12:00:50Z'
    const sell = await call.get(`${B}?side=sell&size=11${at50}`)
    // 10 × 0.41 + 1 × 0.40 = 4.5
    expect(sell.body.data).toMatchObject({
      cost: 4.5,
      levels: { price: [0.41, 0.4], size: [10, 1] },
    })
    const no = await call.get(`${B}?side=buy&size=10&outcome=no${at50}`)
    // Buying no takes the bids of yes: 1 − 0.41.
    expect(no.body.data).toMatchObject({
      outcome: 'No',
      vwap: 0.59,
      evidence: { is_complement: true },
    })
  })

  it('reports the filled size when the book is too thin', async () => {
    const call = await caller()
    const { body } = await call.get(`${B}?side=buy&size=100&at=2026-08-05T12:00:50Z`)
    expect(body.data).toMatchObject({ is_complete: false, filled_size: 6.33 })
    expect(body.meta['notice']).toMatchObject({ code: 'insufficient_depth', filled_size: 6.33 })
  })

  it('answers nothing inside a gap or before the first book, never the stale book', async () => {
    const call = await caller()
    const inside = await call.get(`${B}?side=buy&size=1&at=2026-08-05T12:00:35Z`)
    expect(inside.body.data).toBeNull()
    expect(inside.body.meta).toMatchObject({
      disclaimer: DISCLAIMER,
      notice: { code: 'disconnected', last_before: { sequence: 3 } },
    })
    const early = await call.get(`${B}?side=buy&size=1&at=2026-08-05T10:00:00Z`)
    expect(early.body.meta['notice']).toMatchObject({ code: 'before_capture' })
    const before = await call.get(`${B}?side=buy&size=1&at=2026-08-05T11:30:00Z`)
    expect(before.body.meta['notice']).toMatchObject({ code: 'market_not_open' })
    const first = await call.get(`${B}?side=buy&size=1&at=2026-08-05T12:00:05Z`)
    expect(first.body.meta['notice']).toMatchObject({ code: 'no_book' })
    const closed = await call.get(`${A}?side=buy&size=1&at=2026-08-05T12:06:00Z`)
    expect(closed.body.meta['notice']).toMatchObject({ code: 'market_closed' })
  })

  it('answers nothing for an instant that has not come', async () => {
    const call = await caller()
    for (const asked of ['at=2026-08-06T12:00:00Z', 'latency_ms=60000&at=2026-08-05T12:06:00Z']) {
      const { body } = await call.get(`${B}?side=buy&size=1&${asked}`)
      expect(body.data).toBeNull()
      expect(body.meta['notice']).toMatchObject({ code: 'in_the_future' })
    }
  })

  it('measures the distance to the next gap', async () => {
    const call = await caller()
    const { body } = await call.get(`${B}?side=buy&size=1&at=2026-08-05T12:00:29.75Z`)
    expect(body.data).toMatchObject({
      evidence: { sequence: 2, next_gap: { reason: 'disconnected', distance_ms: 250 } },
    })
  })

  it('computes the fee by the schedule of the record', async () => {
    const call = await caller()
    const c = await call.get(`${C}?side=buy&size=10&outcome=up&at=2026-08-05T12:00:30Z`)
    // 10 × 0.07 × 0.6 × 0.4
    expect(c.body.data).toMatchObject({ token_id: C_TOKENS[0], fee: { amount: 0.168, rate: 0.07 } })
    const a = await call.get(`${A}?side=buy&size=6&at=2026-08-05T12:00:30Z`)
    // 200 bps on 5 × min(0.52, 0.48) + 1 × min(0.55, 0.45)
    expect(a.body.data).toMatchObject({ fee: { amount: 0.057, rate: 200 } })
  })
})

describe('exact fractions', () => {
  it('print the parsed number', () => {
    for (const text of ['0', '1', '0.07', '123456789012345678901.000000000000000001', '-2.5']) {
      expect(printExact(parseExact(text)!)).toBe(text)
    }
    for (const text of ['', '1e-7', '.5', '1.', 'NaN', '0x1'])
      expect(parseExact(text)).toBeUndefined()
  })

  it('round half up where digits do not end', () => {
    const of = (a: string, b: string) => divide(parseExact(a)!, parseExact(b)!)
    expect(of('1', '8')).toEqual({ text: '0.125', isExact: true })
    expect(of('2', '3')).toEqual({ text: '0.666666666666666667', isExact: false })
    expect(of('0.3', '0.1')).toEqual({ text: '3', isExact: true })
  })
})
