import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { ApiReader, placeOf, type ListedMarket } from './api-reader.ts'
import { emulatedVisits } from './emulated-visits.ts'
import { openVisitor } from './visitor.ts'

// A refused request is on the console whoever made it; nothing else may be.
const { service, browser, market, visit } = emulatedVisits(20, (error) =>
  error.includes('status of 40'),
)

const troubleOf = (page: Page) => page.locator('.trouble').first()

describe('what cannot be shown', () => {
  it('is a market that nobody recorded', async () => {
    await visit('/market/venueb/NO-SUCH-MARKET', {}, async (page) => {
      await troubleOf(page).waitFor()
      expect(await troubleOf(page).innerText()).toContain('No such market has been recorded')
      await page.getByRole('link', { name: 'All markets' }).click()
      await page.waitForURL(/\/markets/)
    })
  })

  it('is an address without a page', async () => {
    const response = await fetch(`${service().url}/nowhere`)
    expect(response.status).toBe(401)
    await visit('/market/venuex/1', {}, async (page) => {
      await page.getByText('There is nothing at this address').waitFor()
      expect(await page.getByRole('navigation').count()).toBe(1)
    })
  })

  it('is what an expired key asks for; without it the demonstration goes on', async () => {
    const key = service().keyOf('quant', '--expires', new Date(Date.now() + 1500).toISOString())
    await new Promise((resolve) => setTimeout(resolve, 2500))
    await visit(placeOf(market()), { key }, async (page) => {
      await troubleOf(page).waitFor()
      expect(await troubleOf(page).innerText()).toContain('Your key has expired')
      await page.getByRole('button', { name: 'Show demonstration data' }).click()
      await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
    })
  })

  it('is what the plan does not include', async () => {
    const key = service().keyOf('explorer')
    const other = await new ApiReader(service().url).untilRecorded('venuea', 1)
    await visit(placeOf(other), { key }, async (page) => {
      await troubleOf(page).waitFor()
      const text = await troubleOf(page).innerText()
      expect(text).toContain('Your plan does not include this')
      expect(text).toContain('quant')
    })
  })

  it('is what a mistyped key asks for, and a good one repairs it', async () => {
    const key = service().keyOf('desk')
    await visit('/key', {}, async (page) => {
      await page.getByLabel('Key', { exact: true }).fill('pb_live_thisIsNotAKeyOfAnybody')
      await page.getByRole('button', { name: 'Use this key' }).click()
      await page.getByText('This key is not one of this service').waitFor()
      await page.getByLabel('Key', { exact: true }).fill(key)
      await page.getByRole('button', { name: 'Use this key' }).click()
      await page.getByText('What it allows').waitFor()
      await page.getByText('desk').first().waitFor()
      expect(await page.evaluate(() => localStorage.getItem('priorbook.key'))).toBe(key)
      expect(page.url()).not.toContain(key)
      // Everything else now runs with it, the stream too.
      await page.goto(placeOf(market()))
      await page.locator('.market-head .l-live').waitFor()
      await page.goto('/key')
      await page.getByRole('button', { name: 'Forget my key' }).click()
      expect(await page.evaluate(() => localStorage.getItem('priorbook.key'))).toBe(null)
    })
  })

  it('is the book of a market without data', async () => {
    const rows = (await new ApiReader(service().url).get(
      '/v3/markets?venue=venueb&status=scheduled&order=desc&limit=50',
    )) as ListedMarket[]
    // Venue B announces rounds long before they open: the last of them does not open meanwhile.
    const empty = rows.find(({ coverage }) => coverage.observations === 0)
    expect(empty).toBeDefined()
    await visit(placeOf(empty!), {}, async (page) => {
      await page.getByText('Nothing has been recorded of this market yet').waitFor()
      expect(await page.locator('.no-book').count()).toBe(2)
    })
  })
})

describe('what is large', () => {
  it('is a book of a thousand levels a side', async () => {
    const visitor = await openVisitor(browser(), service().url)
    const { page } = visitor
    const side = (from: number, sign: 1 | -1) => ({
      price: Array.from({ length: 1000 }, (_, level) =>
        ((from + sign * level) / 10_000).toFixed(4),
      ),
      size: Array.from({ length: 1000 }, (_, level) => `${level + 1}.25`),
    })
    await page.route(/orderbook\?/, async (route) => {
      const response = await route.fetch()
      const body = (await response.json()) as { data: { bids: unknown; asks: unknown } }
      body.data.bids = side(4999, -1)
      body.data.asks = side(5001, 1)
      await route.fulfill({ response, json: body })
    })
    const { coverage } = market()
    await page.goto(`${placeOf(market())}?t=${coverage.last_time}`)
    await page.getByText('988 more asks above').first().waitFor()
    await page.getByLabel('every level').check()
    expect(await page.locator('.ladder').first().locator('.bids li').count()).toBe(1000)
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  it('is a list of a hundred thousand markets', async () => {
    const visitor = await openVisitor(browser(), service().url)
    const { page } = visitor
    const template = {
      venue: 'venueb',
      open_time: 1e15,
      close_time: 1.1e15,
      outcomes: [],
      volume: '5',
      coverage: { first_time: 1e15, last_time: 1.05e15, observations: 9, gaps: 1 },
    }
    let pages = 0
    await page.route(/\/v3\/demo\/markets/, async (route) => {
      const query = new URL(route.request().url()).searchParams
      const start = Number(query.get('cursor') ?? 0)
      const limit = Math.min(Number(query.get('limit') ?? 100), 100_000 - start)
      const data = Array.from({ length: limit }, (_, row) => ({
        ...template,
        status: 'closed',
        market_id: `M-${start + row}`,
        title: `Market ${start + row}`,
      }))
      pages++
      const next = start + limit >= 100_000 ? null : String(start + limit)
      await route.fulfill({
        json: {
          data,
          meta: { count: limit, range: null, gaps: [], market: null, schema_version: '3.0' },
          pagination: { next_cursor: next, has_more: next !== null },
        },
      })
    })
    await page.goto('/markets?sort=open_time&status=any')
    await page.locator('.mbody .mrow').first().waitFor()
    let slowest = 0
    while ((await page.locator('.page-head p').innerText()) !== '100,000') {
      slowest = Math.max(
        slowest,
        await page.evaluate(async () => {
          const started = performance.now()
          scrollTo(0, document.documentElement.scrollHeight)
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
          return performance.now() - started
        }),
      )
      await page.waitForTimeout(30)
    }
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await page.getByText('Market 99999', { exact: true }).waitFor()
    const rows = await page.locator('.mbody .mrow').count()
    console.log(
      `100,000 markets, ${pages} pages, ${rows} rows in the page, slowest turn ${slowest.toFixed(0)} ms`,
    )
    expect(rows).toBeLessThan(80)
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })
})
