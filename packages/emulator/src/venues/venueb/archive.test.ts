import { expect, it, onTestFinished } from 'vitest'
import { startEmulator } from '../../emulator.ts'
import { get } from './client.testing.ts'

type Page = { readonly markets: readonly { readonly ticker: string }[]; readonly cursor: string }

/** Venue B with rounds that settled long ago, which are in the archive. */
async function startArchived(): Promise<(path: string) => Promise<Record<string, unknown>>> {
  const emulator = await startEmulator({
    seed: 5,
    // No round closes for ten minutes.
    start: Date.UTC(2026, 10, 17, 12, 5),
    venues: ['venueb'],
    history: 8,
    markets: { venueb: 2 },
    limits: { archiveMs: 3_600_000 },
    log: { memory: true },
  })
  onTestFinished(() => emulator.close())
  const address = emulator.addresses.venueb!
  return async (path) => (await get(address, path)) as Record<string, unknown>
}

it('a market and its trades are in the archive or in the lists, never in both', async () => {
  const ask = await startArchived()
  const list = async (path: string): Promise<string[]> =>
    ((await ask(path)) as Page).markets.map(({ ticker }) => ticker)
  const archived = await list('/historical/markets?series_ticker=KXBTC15M&limit=1000')
  const atHand = await list('/markets?series_ticker=KXBTC15M&limit=1000')
  expect(archived.length).toBeGreaterThanOrEqual(3)
  expect(atHand.length).toBeGreaterThanOrEqual(4)
  expect(archived.filter((ticker) => atHand.includes(ticker))).toEqual([])
  const { market_settled_ts: cutoff } = await ask('/historical/cutoff')
  const [ticker] = archived
  const { market } = (await ask(`/historical/markets/${ticker}`)) as {
    market: { settlement_ts: string; event_ticker: string }
  }
  expect(Date.parse(market.settlement_ts)).toBeLessThan(Date.parse(cutoff as string))
  expect(await ask(`/markets/${ticker}`)).toHaveProperty('error')
  expect(await ask(`/markets/${ticker}/orderbook`)).toHaveProperty('error')
  expect(await ask(`/historical/markets/${atHand[0]}`)).toHaveProperty('error')
  const candles = 'candlesticks?start_ts=0&end_ts=60&period_interval=1'
  expect(await ask(`/historical/markets/${ticker}/${candles}`)).toMatchObject({ ticker })
  expect(await ask(`/series/KXBTC15M/markets/${ticker}/${candles}`)).toHaveProperty('error')
  // The event stays, without its markets.
  expect(await ask(`/events/${market.event_ticker}?with_nested_markets=true`)).toMatchObject({
    event: { event_ticker: market.event_ticker, markets: [] },
    markets: [],
  })
  expect(await list(`/historical/markets?event_ticker=${market.event_ticker}`)).toEqual([ticker])
  expect(await list(`/historical/markets?tickers=${ticker},${atHand[0]}`)).toEqual([ticker])
})

it('the archive is walked page by page with one filter, and refuses two', async () => {
  const ask = await startArchived()
  const all = ((await ask('/historical/markets?limit=1000')) as Page).markets
  const walked: unknown[] = []
  let pages = 0
  for (let cursor = ''; ;) {
    const page = (await ask(`/historical/markets?limit=2&cursor=${cursor}`)) as Page
    walked.push(...page.markets)
    pages++
    if (page.cursor === '') break
    cursor = page.cursor
  }
  expect(walked).toEqual(all)
  expect(pages).toBe(Math.ceil(all.length / 2))
  const two = '/historical/markets?series_ticker=KXBTC15M&mve_filter=exclude'
  expect(await ask(two)).toMatchObject({
    error: { message: expect.stringContaining('mutually exclusive') },
  })
})
