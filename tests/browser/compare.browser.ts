import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { after, GAP, ROUND } from '../api/contracts-tape.ts'
import { ApiReader } from './api-reader.ts'
import { expectInstant, type Consolidated } from './compared.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems, copiedText, openVisitor } from './visitor.ts'

const PAGE = `/contracts/${ROUND}`
const LOOKS = [
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
  ['dark', 390],
] as const

// The browser's clock stands still two minutes after the round began, where that of the server started.
const { url, key, browser, visit } = servedVisits('serve-contracts.ts', {
  withKey: true,
  prepare: (page) => page.clock.setFixedTime(new Date(after(120) / 1000)),
})

let api: ApiReader
beforeAll(() => {
  api = new ApiReader(url(), key())
})

const timeOf = (seconds: number): string =>
  new Date(after(seconds) / 1000).toISOString().replace('Z', '000Z')
const loaded = (page: Page): Promise<void> =>
  page.locator('.compare-page[data-loaded="yes"]').waitFor()
const exactOf = (place: Locator): Promise<string | null> =>
  place.locator('.net').first().getAttribute('data-exact')

// How far the page goes beyond the screen.
const overhang = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

describe('the list of contracts', () => {
  it('has members, net prices and the edge of now, as the interface gives them', async () => {
    await visit('/contracts', {}, async (page) => {
      const row = page.locator(`tr[data-id="${ROUND}"]`)
      await row.waitFor()
      expect(await page.getByRole('link', { name: 'Compare' }).getAttribute('href')).toBe(
        '/contracts',
      )
      expect(await row.innerText()).toContain('BTC up or down in 15m')
      expect(await row.locator('.tags').innerText()).toMatch(/A[^]*B[^]*C/)
      expect(await row.innerText()).toContain('in 13 min')
      expect(await row.innerText()).toContain('2026-11-17 17:30 – 17:45')
      await row.locator('.bid [data-exact]').waitFor()
      const at = timeOf(119)
      const prices = (await api.get(
        `/v3/contracts/${ROUND}/consolidated?at=${at}&number_format=string`,
      )) as Consolidated
      expect(await exactOf(row.locator('.bid'))).toBe(prices.bids.net_price[0])
      expect(await exactOf(row.locator('.ask'))).toBe(prices.asks.net_price[0])
      // By hand: Yes of B at 0.44 with 0.07 × 0.44 × 0.56, sold to A at 0.46: nothing is left.
      expect(prices.asks.net_price[0]).toBe('0.457248')
      expect(await row.locator('td').last().innerText()).toBe('none')
      await row.getByRole('link').click()
      await page.waitForURL(new RegExp(`${PAGE}$`))
      await loaded(page)
    })
  })

  it('is filtered by asset, window and status, and repeats what was asked for', async () => {
    await visit('/contracts?asset=btc&window=15m&status=open', {}, async (page) => {
      await page.locator(`tr[data-id="${ROUND}"]`).waitFor()
      await page.getByLabel('Window').selectOption('5m')
      await page.waitForURL(/window=5m/)
      await page.getByText('No contract matches with status open, asset btc, window 5m').waitFor()
      await page.getByRole('link', { name: 'All contracts' }).click()
      await page.locator(`tr[data-id="${ROUND}"]`).waitFor()
      expect(new URL(page.url()).search).toBe('')
    })
  })

  it.each(LOOKS)('has no barrier in %s at %i pixels', async (scheme, width) => {
    await visit('/contracts', { scheme, width }, async (page) => {
      await page.locator(`tr[data-id="${ROUND}"] .bid [data-exact]`).waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await overhang(page)).toBe(0)
    })
  })
})

describe('the page of a contract', () => {
  it('shows the three books of an instant and their prices after fees', async () => {
    await visit(`${PAGE}?t=${timeOf(20)}`, {}, async (page) => {
      await loaded(page)
      await expectInstant(page, api, ROUND, timeOf(20))
      // By hand: 0.45 + 0.07 × 0.45 × 0.55, and No of C at 0.5 + 0.07 × 0.5 × 0.5.
      const head = page.locator('.compare-head')
      expect(await exactOf(head.locator('.best-ask'))).toBe('0.467325')
      expect(await exactOf(head.locator('.edge'))).toBe('0.015175')
      expect(await head.locator('.edge').innerText()).toMatch(/B[^]*→[^]*C/)
      // Links lead to the same instant of each market.
      const hrefs = await page
        .locator('.members a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
      expect(hrefs).toHaveLength(3)
      for (const href of hrefs) expect(href).toContain(`?t=${timeOf(20)}`)
      await page.locator('.members a').nth(1).click()
      await page.waitForURL(/\/market\/venueb\/KXBTC15M/)
    })
  })

  it('writes the prices of all books in cents where the visitor wants them', async () => {
    await visit(`${PAGE}?t=${timeOf(20)}`, {}, async (page) => {
      await loaded(page)
      const levels = () => page.locator('.cbook .price').allTextContents()
      const before = await levels()
      expect(before.length).toBeGreaterThan(5)
      await page.locator('.settings summary').click()
      await page.getByRole('button', { name: '52.5¢' }).click()
      await expect.poll(async () => (await levels())[0]).not.toBe(before[0])
      expect((await levels()).map(Number)).toEqual(
        before.map((text) => Math.round(Number(text) * 1e6) / 1e4),
      )
    })
  })

  it('says in which terms the members differ, and what it means', async () => {
    await visit(PAGE, {}, async (page) => {
      await loaded(page)
      const terms = page.getByRole('region', { name: 'Is it the same bet?' })
      expect(await terms.innerText()).toContain('Equivalent except settlement source')
      const tie = terms.locator('tr', { hasText: 'tie' }).first()
      expect(await tie.locator('td').allInnerTexts()).toEqual([
        'half',
        'yes',
        'yes',
        expect.stringContaining('Venue A pays half to each'),
      ])
      await terms.getByText('Where the terms come from').click()
      await terms.getByText('greater_or_equal').waitFor()
    })
  })

  it('finds the best way to buy or sell a size', async () => {
    await visit(`${PAGE}?t=${timeOf(45)}`, {}, async (page) => {
      await loaded(page)
      const way = page.locator('.order')
      const expectWay = async (side: string, size: string): Promise<Consolidated['order']> => {
        const path = `/v3/contracts/${ROUND}/consolidated?at=${timeOf(45)}&side=${side}&size=${size}`
        const { order } = (await api.get(`${path}&number_format=string`)) as Consolidated
        await page.locator(`.order[data-side="${side}"][data-size="${order!.size}"]`).waitFor()
        const cells = await way
          .locator('tbody tr')
          .evaluateAll((rows) =>
            rows.map((row) => [
              (row as HTMLElement).dataset['venue'],
              ...[...row.querySelectorAll<HTMLElement>('[data-exact]')].map(
                (cell) => cell.dataset['exact'],
              ),
            ]),
          )
        expect(cells).toEqual(
          order!.parts.map(({ venue, size: own, fee, net_amount: cash }) => [
            venue,
            own,
            fee,
            cash,
          ]),
        )
        expect(await exactOf(way.locator('strong'))).toBe(order!.average_price)
        return order
      }
      await expectWay('buy', '100')
      await page.getByLabel('Size in shares').fill('3.5')
      const small = await expectWay('buy', '3.5')
      // One share at 0.44, two at 0.45 and a half at 0.46, all of venue B.
      expect(small!.parts.map(({ venue, limit_price: limit }) => [venue, limit])).toEqual([
        ['venueb', '0.46'],
      ])
      await page.getByRole('button', { name: 'Sell Yes' }).click()
      await expectWay('sell', '3.5')
      expect(new URL(page.url()).search).toBe(`?t=${timeOf(45)}&side=sell&size=3.5`)
      await page.getByLabel('Size in shares').fill('-1')
      await page.getByText('A positive number with at most 8 decimals').waitFor()
      expect(await way.getAttribute('data-size')).toBe('3.5')
      await page.getByLabel('Size in shares').fill('100000')
      await page.getByText(/The books hold only/).waitFor()
    })
  })

  it('moves all members together with one slider, and with a click into a chart', async () => {
    await visit(PAGE, {}, async (page) => {
      await loaded(page)
      for (const place of [400, 1500, 4300, 9000]) {
        await page.getByLabel('Time shown').evaluate((element, value) => {
          const input = element as HTMLInputElement
          input.value = String(value)
          input.dispatchEvent(new Event('input', { bubbles: true }))
        }, place)
        await expectInstant(page, api, ROUND, await shownTime(page))
      }
      const chart = page.locator('.compare-chart .scrub-area').first()
      const box = (await chart.boundingBox())!
      const before = page.url()
      await page.mouse.click(box.x + box.width / 2, box.y + 40)
      await page.waitForFunction((url) => location.href !== url, before)
      const at = await shownTime(page)
      await expectInstant(page, api, ROUND, at)
      // The line of the instant is at the same place in both parts of the chart.
      const lines = await page
        .locator('.compare-chart .cursor-line')
        .evaluateAll((all) => all.map((line) => line.getBoundingClientRect().left))
      expect(lines).toHaveLength(2)
      expect(Math.abs(lines[0]! - lines[1]!)).toBeLessThan(1)
    })
  })

  it('names what every member offered at the crosshair, zooms, and its address has the span', async () => {
    type Books = {
      readonly members: readonly {
        readonly bids: { readonly price: string[] } | null
        readonly asks: { readonly price: string[] } | null
      }[]
    }
    const span = `from=${timeOf(20)}&to=${timeOf(80)}`
    await visit(`${PAGE}?${span}`, {}, async (page) => {
      await loaded(page)
      const area = page.locator('.compare-chart .scrub-area').first()
      const box = (await area.boundingBox())!
      const output = page.locator('.compare-chart .readout').first()
      // Before, in and after the gap of venue B.
      for (const part of [0.1, 0.25, 0.6, 0.9]) {
        await page.mouse.move(box.x + 46 + part * (box.width - 56), box.y + 60)
        const at = await output.getAttribute('data-at')
        const query = `depth=1&number_format=string&at=${at}`
        const books = (await api.get(`/v3/contracts/${ROUND}/books?${query}`)) as Books
        const lines = (await output.innerText()).split('\n').slice(1)
        const expected = books.members.map(({ bids, asks }) =>
          bids === null ? [] : [bids.price[0], asks!.price[0]].map(Number),
        )
        expect(
          lines.map((line) => [...line.matchAll(/0\.\d+/g)].map(([text]) => Number(text))),
        ).toEqual(expected)
      }
      expect(page.url()).toContain(span)
      await page.mouse.wheel(0, -500)
      await page.waitForFunction((before) => !location.search.includes(before), span)
      await page.keyboard.press('0')
      await page.waitForURL((address) => address.search === '')
    })
  })

  it('hatches the gap of a member, and draws no line across it', async () => {
    await visit(`${PAGE}?t=${timeOf(35)}`, {}, async (page) => {
      await loaded(page)
      await expectInstant(page, api, ROUND, timeOf(35))
      const book = page.locator('.cbook[data-venue="venueb"]')
      expect(await book.innerText()).toContain('Gap: disconnected')
      expect(await page.locator('.cbook .gap-book').count()).toBe(1)
      expect(await page.locator('.members tr[data-venue="venueb"] .no-price').count()).toBe(1)
      const { lanes, lines } = await page.evaluate(readPixels, {
        gap: [GAP.from, GAP.to] as const,
        span: 119,
      })
      // Only the lane of B has two colours in the gap; before and after it all have one.
      expect(lanes.map(({ inside }) => inside > 1)).toEqual([false, true, false])
      expect(lanes.map(({ outside }) => outside)).toEqual([1, 1, 1])
      expect(lines.map(({ inside }) => inside > 0)).toEqual([true, false, true])
      expect(lines.map(({ outside }) => outside > 0)).toEqual([true, true, true])
      // By hand: B and C had an edge up to the gap and after it, B and A too.
      const edges = page.locator('.edges tbody tr')
      const ended = (await edges.locator('td:last-child').allInnerTexts()).toSorted()
      expect(ended).toEqual(['a gap', 'a gap', 'a new price', 'a new price'])
      await edges.first().getByRole('button').click()
      await page.waitForFunction((text) => !location.search.includes(text), timeOf(35))
      await expectInstant(page, api, ROUND, await shownTime(page))
    })
  })

  it('has an address that shows the same to another visitor', async () => {
    let link = ''
    let texts: string[] = []
    const read = (page: Page): Promise<string[]> =>
      page.locator('.compare-page .panel').allInnerTexts()
    await visit(PAGE, {}, async (page) => {
      await loaded(page)
      await page.getByRole('button', { name: 'Middle' }).click()
      await page.getByRole('button', { name: 'Sell Yes' }).click()
      await page.getByLabel('Size in shares').fill('12.25')
      await page.locator('.order[data-size="12.25"]').waitFor()
      await page.getByLabel('Time shown').evaluate((element) => {
        const input = element as HTMLInputElement
        input.value = '3700'
        input.dispatchEvent(new Event('input', { bubbles: true }))
      })
      await expectInstant(page, api, ROUND, await shownTime(page))
      await page.getByRole('button', { name: 'Copy a link to this view' }).click()
      link = await copiedText(page, /^http.*[?&]t=/)
      expect(link).toBe(page.url())
      texts = await read(page)
    })
    const url = new URL(link)
    await visit(url.pathname + url.search, {}, async (page) => {
      await loaded(page)
      await page.locator('.order[data-side="sell"][data-size="12.25"]').waitFor()
      await expect.poll(() => read(page)).toEqual(texts)
      expect(await page.getByRole('button', { name: 'Middle' }).getAttribute('aria-pressed')).toBe(
        'true',
      )
      expect(page.url()).toBe(link)
    })
  })

  it('steps from book to book of any member', async () => {
    await visit(`${PAGE}?t=${timeOf(20)}`, {}, async (page) => {
      await loaded(page)
      // B at 30, then B again after its gap, then A.
      for (const seconds of [30, 40, 50, 60]) {
        await page.locator('body').press('ArrowRight')
        await page.waitForURL((url) => url.search === `?t=${timeOf(seconds)}`)
        await expectInstant(page, api, ROUND, timeOf(seconds))
      }
      await page.locator('body').press('ArrowLeft')
      await expect.poll(() => page.evaluate(() => location.search)).toBe(`?t=${timeOf(50)}`)
    })
  })

  it.each(LOOKS)('has no barrier in %s at %i pixels', async (scheme, width) => {
    await visit(`${PAGE}?t=${timeOf(35)}`, { scheme, width }, async (page) => {
      await loaded(page)
      await page.locator('.cbook').nth(2).waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await overhang(page)).toBe(0)
    })
  })

  it('says what to do about a contract that is not known', async () => {
    const visitor = await openVisitor(browser(), url())
    await visitor.page.goto('/contracts/btc-15m-up-down-20200101T000000Z')
    await visitor.page.getByText('No such contract is known').waitFor()
    await visitor.page.getByRole('link', { name: 'All contracts' }).click()
    await visitor.page.waitForURL(/\/contracts$/)
    // The page is fetched when it is opened.
    const heading = visitor.page.getByRole('heading', { name: 'Compare contracts' })
    await heading.waitFor()
    expect(await heading.count()).toBe(1)
    await visitor.close()
  })
})

// The instant in the address, once the page has settled there.
async function shownTime(page: Page): Promise<string> {
  await page.waitForFunction(() => /[?&]t=/.test(location.search))
  return page.evaluate(() => new URL(location.href).searchParams.get('t')!)
}

// Runs in the page: how many colours a lane has in the gap and beside it, and how many pixels of each member's
// line there are.
function readPixels({ gap, span }: { gap: readonly [number, number]; span: number }) {
  const style = getComputedStyle(document.documentElement)
  const pixelsOf = (canvas: HTMLCanvasElement) => {
    const { width, height } = canvas
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, width, height)
    const xOf = (seconds: number): number => Math.round(46 + (seconds / span) * (width - 56))
    const at = (x: number, y: number): string => {
      const place = (y * width + x) * 4
      return data.slice(place, place + 3).join()
    }
    return { height, xOf, at }
  }
  const lane = pixelsOf(document.querySelector('.compare-lanes canvas')!)
  const chart = pixelsOf(document.querySelector('.compare-chart .uplot canvas')!)
  // Two seconds apart from its bounds, so that neither side touches the other.
  const inside = [gap[0] + 2, gap[1] - 2] as const
  const outside = [gap[1] + 2, gap[1] + 8] as const
  const colours = (y: number, [from, to]: readonly [number, number]): number => {
    const seen = new Set<string>()
    for (let x = lane.xOf(from); x <= lane.xOf(to); x++) {
      for (let down = 3; down < 10; down++) seen.add(lane.at(x, y + down))
    }
    return seen.size
  }
  const count = (name: string, [from, to]: readonly [number, number]): number => {
    const hex = style.getPropertyValue(name).trim().slice(1)
    const wanted = [0, 2, 4].map((place) => parseInt(hex.slice(place, place + 2), 16))
    let found = 0
    for (let x = chart.xOf(from); x <= chart.xOf(to); x++) {
      for (let y = 0; y < chart.height - 22; y++) {
        const own = chart.at(x, y).split(',').map(Number)
        if (own.every((value, index) => Math.abs(value - wanted[index]!) < 40)) found++
      }
    }
    return found
  }
  return {
    lanes: [0, 1, 2].map((place) => {
      const top = 48 + place * 17
      return { inside: colours(top, inside), outside: colours(top, outside) }
    }),
    lines: ['--line-1', '--line-2', '--line-3'].map((name) => ({
      inside: count(name, inside),
      outside: count(name, outside),
    })),
  }
}
