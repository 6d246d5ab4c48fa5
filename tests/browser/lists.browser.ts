import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { ApiReader, placeOf } from './api-reader.ts'
import { emulatedVisits } from './emulated-visits.ts'

const PHONE = { width: 390, height: 844 }

// A refused key and an address without a page are on the console whoever asked for them.
const { service, market, visit } = emulatedVisits(20, (error) => /status of 40[14]/.test(error), [
  '--speed',
  '20',
])

const reader = () => new ApiReader(service().url)
const rowOf = (page: Page, id: string) => page.locator('.mbody .mrow', { hasText: id })

describe('a list of markets', () => {
  it('repeats what was searched for where nothing matches, and says nothing else', async () => {
    await visit('/markets?q=zzqqxx&venue=venueb', {}, async (page) => {
      const note = page.locator('.note')
      await note.waitFor()
      expect(await note.innerText()).toContain('No market matches “zzqqxx”, on Venue B')
      expect(await page.getByLabel('Search').inputValue()).toBe('zzqqxx')
      expect(await page.locator('main').innerText()).not.toContain('open now')
      await note.getByRole('link', { name: 'All markets' }).click()
      await page.locator('.mbody .mrow').first().waitFor()
      expect(new URL(page.url()).search).toBe('')
    })
    await visit('/events?q=zzqqxx', {}, async (page) => {
      await page.getByText('No event matches “zzqqxx”').waitFor()
      await page.getByRole('link', { name: 'Search all events' }).click()
      await page.waitForURL(/q=zzqqxx.*status=all|status=all.*q=zzqqxx/)
    })
  })

  it('keeps the search where only markets that have ended match', async () => {
    const ended = await reader().untilResolved('venueb', 20)
    await visit(`/markets?q=${ended.market_id}`, {}, async (page) => {
      const remark = page.locator('.remark')
      await remark.waitFor()
      expect(await remark.innerText()).toBe(
        `No open market matches “${ended.market_id}”, so those of every status are listed.`,
      )
      const row = rowOf(page, ended.market_id)
      expect(await row.count()).toBe(1)
      expect(await page.locator('.mbody .mrow').count()).toBe(1)
    })
  })

  it('shows the winner of an ended market, and no price of its last book', async () => {
    // Venue A sends no empty book at the end.
    const ended = await reader().untilResolved('venuea', 20)
    await visit(`/markets?status=resolved&q=${ended.market_id}`, {}, async (page) => {
      const row = rowOf(page, ended.market_id)
      await row.waitFor()
      expect(await row.locator('.winner').innerText()).toBe(ended.winning_outcome)
      expect(await row.locator('.bid').innerText()).toBe('–')
      expect(await row.locator('.ask').innerText()).toBe('–')
      expect(await row.locator('.cover').getAttribute('title')).toMatch(/books, [01] gaps?$/)
    })
  })

  it('follows a market to its end while it is open', async () => {
    await visit('/markets?venue=venuea', {}, async (page) => {
      await page.locator('.page-head .l-live').waitFor()
      await page.locator('.mbody .mrow .s-open').first().waitFor()
      // A tie has no winner.
      const over = page.locator('.mbody .mrow', { has: page.locator('.winner') }).first()
      await over.waitFor({ timeout: 60_000 })
      expect(await over.locator('.s-resolved').count()).toBe(1)
      expect(await over.locator('.bid').innerText()).toBe('–')
      expect(await over.locator('.winner').innerText()).toMatch(/Up|Down/)
    })
  })

  it.each([{}, PHONE])('tells markets with the same title apart: %o', async (look) => {
    await visit('/markets?q=KXBTCD&venue=venueb', look, async (page) => {
      await page.locator('.mbody .mrow').nth(2).waitFor()
      const shown = await page.locator('.mbody .mrow').evaluateAll((rows) =>
        rows.map((row) => {
          const words = row.querySelector<HTMLElement>('.particular')
          const box = words?.getBoundingClientRect()
          const line = words?.parentElement?.getBoundingClientRect()
          const isWhole = box !== undefined && line !== undefined && box.right <= line.right + 1
          return {
            title: row.querySelector('.mname')!.textContent,
            words: words?.textContent,
            isWhole,
          }
        }),
      )
      expect(shown.map(({ isWhole }) => isWhole)).not.toContain(false)
      const titles = new Set(shown.map(({ title }) => title))
      expect(titles.size).toBeLessThan(shown.length)
      const names = new Set(shown.map(({ title, words }) => `${title} ${words}`))
      expect(names.size).toBe(shown.length)
    })
  })
})

describe('a spread', () => {
  it('is called one, in the ladder and on a phone', async () => {
    // Others of the hour have strikes far from the price, so that one of their sides may be empty.
    const round = await reader().untilRecorded('venueb', 20, '&series=KXBTC15M')
    const { first_time: first, last_time: last } = round.coverage
    // In the middle of its life a market has both sides; at its end one of them may be empty.
    const middle = new Date((Date.parse(first) + Date.parse(last)) / 2).toISOString()
    await visit(`${placeOf(round)}?t=${middle}`, {}, async (page) => {
      const row = page.locator('.spread-row').first()
      await row.waitFor()
      const [, spread] = /spread ([\d.]+)/.exec(await row.innerText())!
      const facts = await page.locator('.head-facts').innerText()
      const [bid, ask] = [/bid\s+([\d.]+)/, /ask\s+([\d.]+)/].map((one) =>
        Number(one.exec(facts)![1]),
      )
      expect(Number(spread)).toBeCloseTo(ask! - bid!, 9)
    })
    await visit('/markets', PHONE, async (page) => {
      const row = page.locator('.mbody .mrow').first()
      await row.waitFor()
      expect(await row.innerText()).toMatch(/Spread/)
      // No figure runs into its neighbour.
      const rights = await row
        .locator('.num:visible')
        .evaluateAll((cells) => cells.map((cell) => cell.scrollWidth <= cell.clientWidth))
      expect(rights).not.toContain(false)
      expect(await page.locator('main').innerText()).not.toContain('±')
    })
  })
})

describe('a day of the calendar', () => {
  it('with books is never drawn as one without', async () => {
    await visit('/coverage', {}, async (page) => {
      const today = new Date().toISOString().slice(0, 10)
      const days = page.locator(`.day[aria-label^="${today}"]`)
      await days.nth(10).waitFor()
      expect(await page.locator(`.day.c-missing[aria-label^="${today}"]`).count()).toBe(0)
      for (const fill of await page.locator(`.day[aria-label^="${today}"] i`).all()) {
        const share = await fill.evaluate(
          (element) => element.clientHeight / element.parentElement!.clientHeight,
        )
        expect(share).toBeGreaterThan(0.3)
      }
      // Venue A has no trades without an endpoint of its chain.
      const trades = page
        .getByRole('group', { name: /^trades · BTC ETH BNB/ })
        .locator('.day.c-none')
      expect(await trades.last().getAttribute('aria-label')).toBe(`${today}: no trades recorded`)
    })
  })
})

describe('an address', () => {
  it('without a page is a page that says so', async () => {
    await visit('/', {}, async (page) => {
      const response = await page.goto('/nope')
      expect(response!.status()).toBe(404)
      await page.getByText('There is nothing at this address').waitFor()
      await page.getByRole('link', { name: 'Markets', exact: true }).click()
      await page.waitForURL(/\/markets$/)
    })
  })
})

describe('a key that is refused', () => {
  it('is explained on its page without a link to the same page', async () => {
    await visit('/key', {}, async (page) => {
      await page.getByLabel('Key', { exact: true }).fill('pb_live_thisIsNotAKeyOfAnybody')
      await page.getByRole('button', { name: 'Use this key' }).click()
      const trouble = page.locator('.trouble')
      await trouble.waitFor()
      expect(await trouble.innerText()).toContain('begins with pb_live_ and has 44 characters')
      expect(await trouble.innerText()).not.toContain('key page')
      expect(await trouble.getByRole('link').count()).toBe(0)
    })
  })
})

describe('a phone', () => {
  it('shows the order book above the charts', async () => {
    await visit(placeOf(market()), PHONE, async (page) => {
      await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
      const topOf = (selector: string) =>
        page
          .locator(selector)
          .first()
          .evaluate((element) => element.getBoundingClientRect().top)
      expect(await topOf('.book-panel')).toBeLessThan(await topOf('.market-main .panel, .chart'))
    })
  })

  it('shows every figure of the recorder', async () => {
    await visit('/status', PHONE, async (page) => {
      await page.locator('.venues tbody tr').nth(2).waitFor()
      const cells = await page.locator('.venues tbody td').evaluateAll((all) =>
        all.map((cell) => {
          const { left, right } = cell.getBoundingClientRect()
          const isInside = left >= 0 && right <= innerWidth && cell.scrollWidth <= cell.clientWidth
          return { head: cell.getAttribute('data-head'), isInside }
        }),
      )
      expect(cells).toHaveLength(33)
      expect(cells.filter(({ isInside }) => !isInside)).toEqual([])
      expect(new Set(cells.map(({ head }) => head)).size).toBe(11)
    })
  })
})
