import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { at, GAP, QUIET, ROUND, SAMPLED } from '../api/charts-tape.ts'
import { ApiReader } from './api-reader.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems, copiedText } from './visitor.ts'

const { url, key, visit } = servedVisits('serve-charts.ts', { withKey: true })

const PAGE = `/market/venuec/${ROUND}`
const iso = (seconds: number): string => new Date(at(seconds) / 1000).toISOString()

type Range = { readonly from: number; readonly to: number }

async function drawn(page: Page): Promise<void> {
  await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
}

/** The span of the charts, in microseconds. */
async function shownRange(page: Page): Promise<Range> {
  const canvas = page.locator('.heatmap canvas')
  return canvas.evaluate((element) => {
    const { from = '', to = '' } = (element as HTMLElement).dataset
    return { from: Number(from), to: Number(to) }
  })
}

const spanOf = ({ from, to }: Range): number => to - from

/** Waits until the address has the span of the charts, and nothing moves any more. */
async function settled(page: Page): Promise<Range> {
  await page.waitForFunction(() => {
    const { from } = document.querySelector<HTMLElement>('.heatmap canvas')!.dataset
    const query = new URLSearchParams(location.search).get('from')
    return query !== null && Math.abs(Date.parse(query) * 1000 - Number(from)) < 1000
  })
  return shownRange(page)
}

/** The middle of the chart of a panel. */
async function middleOf(page: Page, panel: string): Promise<{ x: number; y: number }> {
  const area = page.getByRole('region', { name: panel, exact: true }).locator('.scrub-area')
  await area.scrollIntoViewIfNeeded()
  const box = (await area.boundingBox())!
  // Without the margins of the chart.
  return { x: box.x + 46 + (box.width - 56) / 2, y: box.y + box.height / 2 }
}

/** The newest interval that the chart asked for, from the panel's own list of requests. */
async function askedInterval(page: Page): Promise<string | null> {
  const code = page.getByRole('region', { name: 'Depth over time' }).locator('.calls code')
  const asked = (await code.allTextContents()).find((text) => text.includes('/snapshots'))
  return new URLSearchParams(asked?.split('?')[1] ?? '').get('interval')
}

/** The values at the crosshair by panel, and its instant. */
async function crosshair(page: Page): Promise<{ at: number; texts: Record<string, string> }> {
  return page.evaluate(() => {
    const outputs = [...document.querySelectorAll<HTMLElement>('.panel .readout')]
    const instants = new Set(outputs.map((output) => output.dataset['at']))
    if (instants.size !== 1) throw new Error(`${instants.size} instants at once`)
    const texts = outputs.map((output) => [
      output.closest('.panel')!.getAttribute('aria-label')!,
      output.textContent,
    ])
    return { at: Number([...instants][0]), texts: Object.fromEntries(texts) }
  })
}

type Row = { readonly bids: { price: string[] }; readonly asks: { price: string[] } }

/** What the interface answers for the first outcome at an instant, in its own digits. */
async function bookAt(api: ApiReader, micros: number): Promise<Row | undefined> {
  const path = `/v3/venuec/markets/${ROUND}/orderbook?number_format=string&token_id=71&at=${micros}`
  return ([await api.get(path)].flat()[0] ?? undefined) as Row | undefined
}

/** A price with at least two decimals. */
const withCents = (text: string): string => text.padEnd(4, '0')

async function referenceAt(api: ApiReader, micros: number): Promise<string> {
  const path = `/v3/reference/BTC?feed=twap60&order=desc&limit=1&number_format=string&end_time=${micros + 1}`
  return ((await api.get(path)) as { price: string }[])[0]!.price
}

describe('the charts of a market', () => {
  it('zoom around the pointer with the wheel, and read finer data', async () => {
    await visit(PAGE, {}, async (page) => {
      await drawn(page)
      expect(await askedInterval(page)).toBe('5s')
      const whole = await shownRange(page)
      const { x, y } = await middleOf(page, 'Depth over time')
      const under = (range: Range): number => (range.from + range.to) / 2
      await page.mouse.move(x, y)
      for (let turns = 0; turns < 6; turns++) await page.mouse.wheel(0, -240)
      const near = await settled(page)
      expect(spanOf(near)).toBeLessThan(spanOf(whole) / 5)
      expect(Math.abs(under(near) - under(whole))).toBeLessThan(spanOf(whole) / 100)
      await expect.poll(() => askedInterval(page)).toBe('1s')
      for (let turns = 0; turns < 12; turns++) await page.mouse.wheel(0, 240)
      await expect.poll(async () => spanOf(await shownRange(page))).toBe(spanOf(whole))
      await page.waitForURL((address) => address.search === '')
      // There is nothing more to show: the wheel moves the page again.
      await page.evaluate(() => scrollTo(0, 0))
      const first = await middleOf(page, 'Price and spread')
      await page.mouse.move(first.x, first.y)
      await page.mouse.wheel(0, 240)
      await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(0)
    })
  })

  it('move with a drag, with Shift and the wheel, and with the keyboard', async () => {
    const path = `${PAGE}?from=${iso(-1500)}&to=${iso(-1200)}`
    await visit(path, {}, async (page) => {
      await drawn(page)
      const start = await shownRange(page)
      expect(start).toEqual({ from: at(-1500), to: at(-1200) })
      const { x, y } = await middleOf(page, 'Price and spread')
      await page.mouse.move(x, y)
      await page.mouse.down()
      await page.mouse.move(x - 50, y, { steps: 5 })
      await page.mouse.move(x - 200, y, { steps: 5 })
      await page.mouse.up()
      const dragged = await settled(page)
      expect(spanOf(dragged)).toBe(spanOf(start))
      const inner = await page
        .locator('.heatmap .scrub-area')
        .evaluate((area) => area.clientWidth - 56)
      const moved = (200 / inner) * spanOf(start)
      expect(Math.abs(dragged.from - start.from - moved)).toBeLessThan(spanOf(start) / 200)
      // A drag is not a press: the page still follows its present.
      expect(new URL(page.url()).searchParams.get('t')).toBeNull()
      await page.keyboard.down('Shift')
      await page.mouse.wheel(0, -200)
      await page.keyboard.up('Shift')
      await expect.poll(async () => (await shownRange(page)).from).toBeLessThan(dragged.from)
      const aside = await shownRange(page)
      await page.keyboard.press('Shift+ArrowRight')
      await expect.poll(async () => (await shownRange(page)).from).toBeGreaterThan(aside.from)
      await page.keyboard.press('+')
      await expect.poll(async () => spanOf(await shownRange(page))).toBe(spanOf(start) / 2)
      await page.keyboard.press('-')
      await expect.poll(async () => spanOf(await shownRange(page))).toBe(spanOf(start))
      await page.keyboard.press('0')
      await page.waitForURL((address) => address.search === '')
    })
  })

  it('follow two fingers', async () => {
    await visit(PAGE, {}, async (page) => {
      await drawn(page)
      const whole = await shownRange(page)
      const { x, y } = await middleOf(page, 'Price and spread')
      const session = await page.context().newCDPSession(page)
      const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...places: number[]) =>
        session.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: places.map((place, id) => ({ x: x + place, y, id })),
        })
      await touch('touchStart', -60)
      await touch('touchStart', -60, 60)
      for (const apart of [90, 120, 180, 240]) await touch('touchMove', -apart, apart)
      await touch('touchEnd')
      const near = await settled(page)
      // Four times as far apart: a quarter of the span, around the same middle.
      expect(spanOf(near) / spanOf(whole)).toBeCloseTo(0.25, 1)
      const middle = (range: Range): number => (range.from + range.to) / 2
      expect(Math.abs(middle(near) - middle(whole))).toBeLessThan(spanOf(whole) / 50)
    })
  })

  it('name the same instant in every panel, with what the interface answers for it', async () => {
    const api = new ApiReader(url(), key())
    await visit(`${PAGE}?from=${iso(-700)}&to=${iso(100)}`, {}, async (page) => {
      await drawn(page)
      await page.locator('.reference-chart canvas').waitFor()
      const { x, y } = await middleOf(page, 'Price and spread')
      for (const shift of [-400, -260, -90, 0, 77, 250, 401]) {
        await page.mouse.move(x + shift, y)
        const { at: instant, texts } = await crosshair(page)
        const row = (await bookAt(api, instant))!
        const [bid, ask] = [withCents(row.bids.price[0]!), withCents(row.asks.price[0]!)]
        const clock = new Date(instant / 1000).toISOString().slice(11, 23)
        const middle = (Number(bid) * 1e4 + Number(ask) * 1e4) / 2 / 1e4
        expect(texts['Price and spread']).toBe(
          `${clock} · bid ${bid} · ask ${ask} · middle ${middle.toFixed(5).replace(/0+$/, '')}`,
        )
        expect(texts['Depth over time']).toContain(`at ${bid} · ask`)
        const price = await referenceAt(api, instant)
        expect(texts['Reference price']!.replace(',', '')).toBe(`${clock} · ${price} USD`)
      }
      await page.mouse.move(10, 10)
      expect(await page.locator('.readout').allTextContents()).toEqual(['', '', ''])
      // What the crosshair named is what a press shows.
      await page.mouse.move(x, y)
      const { at: instant } = await crosshair(page)
      await page.mouse.click(x, y)
      await page.waitForURL((address) => address.searchParams.has('t'))
      const time = new URL(page.url()).searchParams.get('t')!
      expect(time).toBe(`${new Date(instant / 1000).toISOString().slice(0, 23)}999Z`)
    })
  })

  it('draw the book that was valid where a quiet span begins, and nothing in a gap', async () => {
    const quiet = `${PAGE}?from=${iso(QUIET.from + 60)}&to=${iso(QUIET.from + 120)}`
    await visit(quiet, {}, async (page) => {
      await drawn(page)
      const { x, y } = await middleOf(page, 'Price and spread')
      await page.mouse.move(x, y)
      expect((await crosshair(page)).texts['Price and spread']).toMatch(/bid 0\.\d+ · ask/)
    })
    const lost = `${PAGE}?from=${iso(GAP.from + 30)}&to=${iso(GAP.from + 90)}`
    await visit(lost, {}, async (page) => {
      await page.locator('.heatmap canvas').waitFor()
      const { x, y } = await middleOf(page, 'Price and spread')
      await page.waitForTimeout(500)
      await page.mouse.move(x, y)
      expect((await crosshair(page)).texts['Price and spread']).toContain('disconnected')
    })
  })

  it('take an exact span, and give a link that shows the same again', async () => {
    let [link, before] = ['', { at: 0, texts: {} as Record<string, string> }]
    await visit(PAGE, {}, async (page) => {
      await drawn(page)
      await page.locator('.exact-range summary').click()
      await page.getByLabel('From', { exact: true }).fill('2026-08-09T11:58:00.500')
      await page.getByLabel('To', { exact: true }).fill('2026-08-09T12:03:00.250')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      expect(await settled(page)).toEqual({ from: at(-119.5), to: at(180.25) })
      await page.getByRole('button', { name: 'Down', exact: true }).click()
      const { x, y } = await middleOf(page, 'Price and spread')
      await page.mouse.click(x, y)
      await page.waitForURL(/outcome=1/)
      before = await crosshair(page)
      expect(before.texts['Price and spread']).toContain('bid 0.')
      await page.getByRole('button', { name: 'Copy a link to this view' }).click()
      link = await copiedText(page, /^http.*outcome=1/)
    })
    await visit(link.slice(url().length), {}, async (page) => {
      await drawn(page)
      expect(await shownRange(page)).toEqual({ from: at(-119.5), to: at(180.25) })
      expect(
        await page.getByRole('button', { name: 'Down', exact: true }).getAttribute('aria-pressed'),
      ).toBe('true')
      const { x, y } = await middleOf(page, 'Price and spread')
      await page.mouse.move(x, y)
      expect(await crosshair(page)).toEqual(before)
      expect(page.url()).toBe(link)
    })
  })

  it('have samples at the crosshair, of any part of the past', async () => {
    const api = new ApiReader(url(), key())
    const path = `/market/venuea/${SAMPLED}?from=${iso(-2900)}&to=${iso(-2600)}`
    await visit(path, {}, async (page) => {
      await drawn(page)
      const { x, y } = await middleOf(page, 'Samples')
      await expect
        .poll(async () => {
          await page.mouse.move(x, y)
          return (await crosshair(page)).texts['Samples']
        })
        .toMatch(/chance 0/)
      const { at: instant, texts } = await crosshair(page)
      const market = `/v3/venuea-prediction/${SAMPLED}`
      const found = ['chance', 'price', 'last_trade'].map(async (metric) => {
        const query = `metric=${metric}&order=desc&limit=1&number_format=string&token_id=11&end_time=${instant + 1}`
        const rows = (await api.get(`${market}/timeseries?${query}`)) as Record<string, string>[]
        return `${metric.replace('_', ' ')} ${rows[0]![metric]}`
      })
      expect(texts['Samples']).toContain((await Promise.all(found)).join(' · '))
    })
  })

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)('have no barrier in %s at %i pixels', async (scheme, width) => {
    await visit(`${PAGE}?from=${iso(-700)}&to=${iso(100)}`, { scheme, width }, async (page) => {
      await drawn(page)
      await page.locator('.exact-range summary').click()
      expect(await accessibilityProblems(page)).toEqual([])
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(over).toBe(0)
    })
  })
})
