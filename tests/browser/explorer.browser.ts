import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiReader, labelsOn, placeOf, type ListedMarket } from './api-reader.ts'
import { calmPace } from './emulated-visits.ts'
import { exported } from './exported.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import {
  accessibilityProblems,
  copiedText,
  expectBook,
  openBrowser,
  openVisitor,
  type Visitor,
} from './visitor.ts'

const VENUES = ['venuea', 'venueb', 'venuec'] as const

let service: ServiceProcess
let browser: Browser
let api: ApiReader
let markets: Record<string, ListedMarket>

beforeAll(async () => {
  service = await createService(['--upstream', 'emulator', '--workers', '1', ...calmPace()])
  await service.start()
  browser = await openBrowser()
  api = new ApiReader(service.url)
})

afterAll(async () => {
  await browser?.close()
  await service?.destroy()
})

async function visit(path: string, run: (visitor: Visitor) => Promise<void>, look = {}) {
  const visitor = await openVisitor(browser, service.url, look)
  try {
    await visitor.page.goto(path)
    await run(visitor)
    expect(visitor.errors).toEqual([])
  } finally {
    await visitor.close()
  }
}

const heat = (page: Page) => page.locator('.heatmap canvas[data-ready="yes"]').first()

describe('the explorer over emulated venues', () => {
  it('shows a depth heatmap with live data soon after the first page view', async () => {
    const started = Date.now()
    await visit('/', async ({ page }) => {
      await heat(page).waitFor()
      await page.locator('.featured .l-live').waitFor()
      const seconds = (Date.now() - started) / 1000
      console.log(`heatmap with live data ${seconds.toFixed(1)} s after the first page view`)
      const before = await page.locator('.ladder').first().getAttribute('data-sequence')
      await page.waitForFunction(
        (sequence) => document.querySelector('.ladder')?.getAttribute('data-sequence') !== sequence,
        before,
      )
      expect(await page.locator('.featured .ladder').count()).toBe(2)
    })
    markets = Object.fromEntries(
      await Promise.all(VENUES.map(async (venue) => [venue, await api.untilRecorded(venue, 120)])),
    ) as Record<string, ListedMarket>
  })

  it('lists markets with live quotes, and keeps its filters in the address', async () => {
    await visit('/markets', async ({ page }) => {
      await page.locator('.mbody .mrow').first().waitFor()
      await page.locator('.page-head .l-live').waitFor()
      const quotes = () => page.locator('.mbody').innerText()
      const before = await quotes()
      await page.waitForFunction(
        (text) => (document.querySelector('.mbody') as HTMLElement).innerText !== text,
        before,
      )
      await page.getByLabel('Venue').selectOption('venueb')
      await page.waitForURL(/venue=venueb/)
      await page.waitForFunction(
        () => document.querySelectorAll('.mbody .venue-tag:not(.venueb)').length === 0,
      )
      await page.getByLabel('Search').fill('no such market at all')
      await page.getByText('No market matches').waitFor()
      await page.getByLabel('Search').fill('')
      await page.locator('.mbody .mrow a').first().click()
      await page.waitForURL(/\/market\/venueb\//)
      await heat(page).waitFor()
      await page.goBack()
      expect(page.url()).toContain('venue=venueb')
    })
  })

  it.each(VENUES)(
    'shows a market of %s, the same as the interface at ten random times',
    async (venue) => {
      const market = markets[venue]!
      await visit(placeOf(market), async ({ page }) => {
        await heat(page).waitFor()
        await page.getByLabel('every level').check()
        const labels = await labelsOn(page)
        expect(labels).toEqual(venue === 'venueb' ? ['Yes', 'No'] : ['Up', 'Down'])
        const random = createRandom(7)
        let compared = 0
        for (let turn = 0; turn < 10; turn++) {
          const at = await scrubTo(page, 200 + Math.floor(random() * 9600))
          for (const [outcome, label] of labels.entries()) {
            const expected = await api.bookAt(market, at, outcome)
            await expectBook(page, label, expected)
            if (expected !== undefined) compared += expected.asks.length + expected.bids.length
          }
        }
        expect(compared).toBeGreaterThan(200)
        if (venue === 'venuea') await page.getByLabel('Samples').locator('canvas').first().waitFor()
      })
    },
  )

  it('plays, pauses and steps, and everything follows', async () => {
    const market = markets['venueb']!
    await visit(placeOf(market), async ({ page }) => {
      await heat(page).waitFor()
      await page.getByLabel('every level').check()
      const first = await scrubTo(page, 1000)
      await page.getByLabel('Speed').selectOption('10')
      const paused = await page.locator('time.clock').innerText()
      await page.getByRole('button', { name: 'Play' }).click()
      await page.waitForFunction(
        (text) => document.querySelector<HTMLElement>('time.clock')?.innerText !== text,
        paused,
      )
      await page.getByRole('button', { name: 'Pause' }).click()
      const at = await settled(page)
      expect(at > first).toBe(true)
      await expectBook(page, 'Yes', await api.bookAt(market, at, 0))
      await page.locator('body').press('ArrowRight')
      await page.waitForFunction((text) => !location.search.includes(text), at)
      const next = await settled(page)
      expect(next > at).toBe(true)
      await expectBook(page, 'No', await api.bookAt(market, next, 1))
      const shown = await page.locator('time.clock').innerText()
      expect(shown.startsWith(next.slice(0, 23).replace('T', ' '))).toBe(true)
      // The link carries market and time: another visitor sees the same.
      await page.reload()
      await page.getByLabel('every level').check()
      await settled(page)
      await expectBook(page, 'Yes', await api.bookAt(market, next, 0))
      await page.getByRole('button', { name: 'Live' }).click()
      await page.waitForFunction(() => location.search === '')
    })
  })

  it('gives the requests behind a panel, and native identifiers, to copy', async () => {
    const market = markets['venuec']!
    await visit(placeOf(market), async ({ page }) => {
      await heat(page).waitFor()
      const panel = page.getByRole('region', { name: 'Depth over time' })
      await panel.locator('.calls summary').click()
      await panel.getByRole('button', { name: /as curl/ }).click()
      const curl = await copiedText(page, /^curl .*'http[^']+'/s)
      const [, address] = /'(http[^']+)'/.exec(curl)!
      const answer = (await (await fetch(address!)).json()) as { data: unknown[] }
      expect(answer.data.length).toBeGreaterThan(0)
      await panel.getByRole('button', { name: /as TypeScript/ }).click()
      const code = await copiedText(page, /\.snapshots\(\{ interval:/)
      expect(code).toContain(`market_id: '${market.market_id}'`)
      await page.getByRole('button', { name: 'Copy market_id' }).click()
      expect(await copiedText(page, /^\w+$/)).toBe(market.market_id)
    })
  })

  it('shows coverage day by day, and what the recorder does', async () => {
    await visit('/coverage', async ({ page, errors }) => {
      const today = page.locator('.venue-calendar').nth(1).locator('.day.c-degraded').last()
      await today.click()
      await page.waitForURL(/day=\d{4}-\d\d-\d\d/)
      await page.locator('.day-gaps .reasons li').first().waitFor()
      await page.locator('.day-gaps tbody tr').first().waitFor()
      const head = page.locator('.day-gaps th', { hasText: 'What' })
      const keys = async () =>
        (await page.locator('.day-gaps .gap-key').allInnerTexts()).map((text) =>
          text === 'whole venue' ? '' : text,
        )
      for (const [order, sign] of [
        ['descending', -1],
        ['ascending', 1],
      ] as const) {
        await head.getByRole('button').click()
        await expect.poll(() => head.getAttribute('aria-sort')).toBe(order)
        const shown = await keys()
        const byKey = (a: string, b: string): number => sign * (a < b ? -1 : a > b ? 1 : 0)
        expect(shown).toEqual(shown.toSorted(byKey))
      }
      await expectDayFiles(page)
      // The failure that the export got over.
      expect(errors.splice(0)).toEqual([expect.stringContaining('status of 503')])
      expect(await accessibilityProblems(page)).toEqual([])
    })
    await visit('/status', async ({ page }) => {
      await page.locator('.venues tbody tr').nth(2).waitFor()
      const messages = () =>
        page.locator('.venues tbody tr').first().locator('td').nth(3).innerText()
      const before = await messages()
      await page.waitForFunction(
        (text) =>
          document.querySelectorAll('.venues tbody tr')[0]!.querySelectorAll('td')[3]!
            .textContent !== text,
        before,
      )
      expect(await page.locator('.venues .s-recording').count()).toBe(3)
    })
  })

  it.each(['light', 'dark'] as const)('has no accessibility problem in %s', async (scheme) => {
    const places = ['/', '/markets', '/coverage', '/status', '/key', placeOf(markets['venuea']!)]
    for (const path of places) {
      for (const width of [1440, 390]) {
        await visit(
          path,
          async ({ page }) => {
            await page.waitForTimeout(1200)
            const shots = process.env['PRIORBOOK_SHOTS']
            if (shots !== undefined) {
              const name = path.split('/')[1] === '' ? 'start' : path.split('/')[1]
              await page.screenshot({ path: join(shots, `${name}-${scheme}-${width}.png`) })
            }
            const problems = await accessibilityProblems(page)
            const overflow = await page.evaluate(
              () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
            )
            expect({ path, width, problems, overflow }).toEqual({
              path,
              width,
              problems: [],
              overflow: 0,
            })
          },
          { scheme, width, height: 844 },
        )
      }
    }
  })
})

describe('a restart of the server', () => {
  it('is survived by an open page, and leaves a gap that is drawn as one', async () => {
    const market = await api.busiest('venueb')
    const visitor = await openVisitor(browser, service.url)
    const { page } = visitor
    try {
      await page.goto(placeOf(market))
      await heat(page).waitFor()
      await page.locator('.market-head .l-live').waitFor()
      await service.stop()
      await page.locator('.link-word.l-connecting').waitFor()
      await service.start()
      await page.locator('.market-head .l-live').waitFor()
      const before = await page.locator('.ladder').first().getAttribute('data-sequence')
      const moved = page.waitForFunction(
        (sequence) => {
          const now = document.querySelector('.ladder')?.getAttribute('data-sequence')
          return now !== null && now !== undefined && now !== sequence
        },
        before,
        // An emulated market may pause for a minute.
        { timeout: 90_000 },
      )
      await moved.catch(async (error: unknown) => {
        const shown = await page.locator('.market-head').innerText()
        const known = await api.get(`/v3/markets?venue=venueb&q=${market.market_id}`)
        const state = `row ${before} of ${JSON.stringify(known).slice(0, 1000)}`
        throw new Error(`${String(error)}: the page stays at ${state} and shows ${shown}`)
      })
      type Gap = { reason: string; start_time: string; end_time: string | null }
      const path = `/v3/gaps?venue=venueb&market=${market.market_id}`
      const data = (await api.get(path)) as Gap[]
      const gap = data.find(
        ({ reason, end_time: end }) => reason === 'recorder_down' && end !== null,
      )!
      expect(gap).toBeDefined()
      const row = page.locator('.gap-table tbody tr', { hasText: 'recorder down' }).first()
      await row.waitFor()
      const share = await hatchedShare(page, Date.parse(gap.start_time), Date.parse(gap.end_time!))
      expect(share.inside).toBeGreaterThan(0.97)
      expect(share.outside).toBeLessThan(0.6)
      const middle = (Date.parse(gap.start_time) + Date.parse(gap.end_time!)) / 2
      await page.goto(`${placeOf(market)}?t=${new Date(middle).toISOString()}`)
      await page.getByText('Gap: recorder down').first().waitFor()
      // Only what a server that is away must say: requests that found nobody.
      const own = visitor.errors.filter((text) => !/ERR_|WebSocket|Failed to load/.test(text))
      expect(own).toEqual([])
    } finally {
      await visitor.close()
    }
  })
})

/** Moves the slider and gives the instant that the address names when the books are there. */
async function scrubTo(page: Page, value: number): Promise<string> {
  const before = page.url()
  await page.getByLabel('Time shown').evaluate((element, next) => {
    const input = element as HTMLInputElement
    input.value = String(next)
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }, value)
  await page.waitForURL((url) => url.href !== before && url.search !== '')
  return settled(page)
}

async function settled(page: Page): Promise<string> {
  await page.waitForTimeout(150)
  await page.locator('.ladders:not(.seeking)').waitFor()
  await page.waitForTimeout(50)
  return new URL(page.url()).searchParams.get('t')!
}

/** How much of the heatmap is drawn in the two colours of the hatch, inside a span and outside. */
async function hatchedShare(page: Page, fromMs: number, toMs: number) {
  return page.evaluate(
    ([from, to]) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.heatmap canvas')!
      const context = canvas.getContext('2d')!
      const style = getComputedStyle(document.documentElement)
      const channel = (name: string): number[] => {
        const value = Number.parseInt(style.getPropertyValue(name).trim().slice(1), 16)
        return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
      }
      const [line, back] = [channel('--gap-line'), channel('--gap-back')]
      const range = { from: Number(canvas.dataset['from']), to: Number(canvas.dataset['to']) }
      const ratio = devicePixelRatio
      const width = canvas.clientWidth
      const toX = (ms: number): number =>
        46 + ((ms * 1000 - range.from) / (range.to - range.from)) * (width - 56)
      const height = canvas.height - 24 * ratio
      // Mixtures of the two colours lie between them in every channel.
      const isHatch = (data: Uint8ClampedArray, at: number): boolean =>
        [0, 1, 2].every((part) => {
          const low = Math.min(line[part]!, back[part]!) - 3
          const high = Math.max(line[part]!, back[part]!) + 3
          return data[at + part]! >= low && data[at + part]! <= high
        })
      const share = (left: number, right: number): number => {
        const x = Math.ceil(left * ratio)
        const wide = Math.max(1, Math.floor(right * ratio) - x)
        const { data } = context.getImageData(x, 2, wide, height)
        let hatched = 0
        for (let at = 0; at < data.length; at += 4) if (isHatch(data, at)) hatched++
        return hatched / (data.length / 4)
      }
      const [left, right] = [toX(from!), toX(to!)]
      return { inside: share(left + 1, right - 1), outside: share(47, left - 2) }
    },
    [fromMs, toMs],
  )
}

function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** The files of a day's gaps have the rows of the route for every reason, also where they are several pages. */
async function expectDayFiles(page: Page): Promise<void> {
  const box = page.locator('.day-gaps')
  await box.locator('.calls summary').click()
  const calls = await box.locator('.calls code').allInnerTexts()
  const reasons = await box.locator('.reasons li').count()
  expect(calls).toHaveLength(reasons)
  const answers = async (query: string): Promise<string[]> =>
    Promise.all(
      calls.map(async (call) => {
        const url = new URL(call.replace('GET ', ''), service.url)
        url.searchParams.delete('time_format')
        url.searchParams.set('limit', '1000')
        return (await fetch(`${url.href}&${query}`)).text()
      }),
    )
  const joined = async (): Promise<Readonly<Record<string, string>>> => {
    const tables = await answers('format=csv')
    const pages = (await answers('format=json')).map((text) => JSON.parse(text) as GapPage)
    expect(pages.every(({ pagination }) => !pagination.has_more)).toBe(true)
    const rows = pages.flatMap(({ data }) => data)
    return {
      csv: [
        tables[0]!.split('\n', 1)[0],
        ...tables.flatMap((text) => linesOf(text).slice(1)),
      ].join(),
      ndjson: rows.map((row) => JSON.stringify({ type: 'gap', ...row })).join(),
    }
  }
  // The smallest pages, so that a file is made of several.
  const asked: string[] = []
  let failures = 1
  await page.route(/\/gaps\?.*format=(csv|ndjson)/, async (route) => {
    // Once the server fails in the middle of a file.
    if (asked.length === 1 && failures-- > 0) {
      await route.fulfill({ status: 503, body: '' })
      return
    }
    const url = new URL(route.request().url())
    url.searchParams.set('limit', '1')
    asked.push(url.search)
    await route.continue({ url: url.href })
  })
  for (const format of ['csv', 'ndjson']) {
    // Gaps go on being found: what the route says before and after is what it said meanwhile.
    for (;;) {
      const before = await joined()
      asked.length = 0
      const text = await exported(page, box, format)
      await box.locator('.export summary').first().click()
      const after = await joined()
      if (JSON.stringify(before) !== JSON.stringify(after)) continue
      expect(linesOf(text).join()).toBe(after[format])
      expect(asked.length).toBeGreaterThan(calls.length)
      break
    }
  }
  expect(failures).toBeLessThan(1)
}

type GapPage = {
  readonly data: readonly object[]
  readonly pagination: { readonly has_more: boolean }
}

function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1)
}
