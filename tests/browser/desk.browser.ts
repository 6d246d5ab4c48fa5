import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { at, MANY_GAPS, ROUND, SAMPLED } from '../api/charts-tape.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems, copiedText } from './visitor.ts'

const { url, key, visit } = servedVisits('serve-charts.ts', { withKey: true })
const run = promisify(execFile)

const PAGE = `/market/venuec/${ROUND}`
const iso = (seconds: number): string => new Date(at(seconds) / 1000).toISOString()
const SPAN = `?from=${iso(-700)}&to=${iso(100)}`

async function drawn(page: Page): Promise<void> {
  await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
  await page.locator('.ladder[data-sequence]').first().waitFor()
}

const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const prices = (page: Page) => page.locator('.ladder .price').allTextContents()

describe('the unit of prices and the clock', () => {
  it('are cents with the same digits, and are remembered', async () => {
    await visit(`${PAGE}${SPAN}&t=${iso(50)}`, {}, async (page) => {
      await drawn(page)
      const before = await prices(page)
      expect(before.length).toBeGreaterThan(20)
      const bid = await page.locator('.head-facts .bid').innerText()
      await page.locator('.settings summary').click()
      await page.getByRole('button', { name: '52.5¢' }).click()
      const digits = (text: string): string => text.replace('.', '').replace(/^0+/, '')
      await expect.poll(async () => (await prices(page))[0]).not.toBe(before[0])
      const after = await prices(page)
      expect(after.map(digits)).toEqual(before.map(digits))
      expect(after.every((text) => /^\d\d?\.\d\d$/.test(text))).toBe(true)
      const cents = await page.locator('.head-facts .bid').innerText()
      expect(cents).toMatch(/^\d\d(\.\d+)?¢$/)
      expect(digits(cents.replace('¢', ''))).toBe(digits(bid).replace(/0+$/, ''))
      expect(await panel(page, 'Price and spread').locator('.legend').innerText()).toContain('¢')
      await page.reload()
      await drawn(page)
      expect(await prices(page)).toEqual(after)
    })
  })

  it('are local times where the visitor wants them', async () => {
    const look = { timezone: 'Asia/Kolkata' }
    await visit(`${PAGE}?t=${iso(50)}`, look, async (page) => {
      await drawn(page)
      const clock = page.locator('time.clock')
      expect(await clock.innerText()).toBe('2026-08-09 12:00:50.000 UTC')
      await page.locator('.settings summary').click()
      await page.getByRole('button', { name: 'Local time' }).click()
      await expect.poll(() => clock.innerText()).toBe('2026-08-09 17:30:50.000 UTC+5:30')
      expect(await page.locator('.exact-range summary').innerText()).toContain('UTC+5:30')
      // The address is the same for everyone.
      expect(page.url()).toContain('t=2026-08-09T12:00:50.000000Z')
      await page.reload()
      await drawn(page)
      expect(await clock.innerText()).toBe('2026-08-09 17:30:50.000 UTC+5:30')
    })
  })
})

describe('an export', () => {
  it('says its size before, and is the download of the interface byte by byte', async () => {
    await visit(`${PAGE}${SPAN}`, {}, async (page) => {
      await drawn(page)
      for (const format of ['csv', 'ndjson', 'parquet']) {
        const style = format === 'parquet' ? '' : '&number_format=string&time_format=iso'
        const query = `venue=venuec&market_id=${ROUND}&dataset=books&start_time=${at(-700)}&end_time=${at(100) + 1}${style}&format=${format}`
        const answer = await fetch(`${url()}/v3/bulk?${query}`, {
          headers: { authorization: `Bearer ${key()}` },
        })
        expect(answer.status).toBe(200)
        const expected = Buffer.from(await answer.arrayBuffer())
        const box = panel(page, 'Depth over time').locator('.export')
        if ((await box.getAttribute('open')) === null) await box.locator('summary').first().click()
        await box.getByRole('button', { name: format, exact: true }).click()
        const estimate = box.locator('.estimate')
        // The estimate of the format before is there until it is made again.
        let said = ''
        await expect
          .poll(async () => (said = await estimate.innerText()))
          .toMatch(/^About [\d,]+ rows, [\d.]+ [kM]?B$/)
        // A line of CSV or JSON is a row; a file of columns has none that could be counted here.
        const rows = Number(/[\d,]+/.exec(said)![0].replaceAll(',', ''))
        const lines = format === 'parquet' ? rows : expected.toString().trim().split('\n').length
        expect(Math.abs(rows - lines)).toBeLessThan(10)
        const waiting = page.waitForEvent('download')
        await box.getByRole('button', { name: 'Download' }).click()
        const file = await waiting
        expect(file.suggestedFilename()).toMatch(new RegExp(`\\.${format}$`))
        expect(readFileSync(await file.path()).equals(expected)).toBe(true)
      }
    })
  })

  it('shows how far it has come, and can be cancelled', async () => {
    await visit(PAGE, {}, async (page) => {
      await drawn(page)
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      await page.route(/\/v3\/bulk\?/, async (route) => {
        await held
        await route.continue().catch(() => undefined)
      })
      let files = 0
      page.on('download', () => files++)
      const box = panel(page, 'Price and spread').locator('.export')
      await box.locator('summary').first().click()
      await box.getByRole('button', { name: 'Everything' }).click()
      await box.getByRole('button', { name: 'Download' }).click()
      await box.locator('progress').waitFor()
      await box.getByRole('button', { name: 'Cancel' }).click()
      await box.getByRole('button', { name: 'Download' }).waitFor()
      release()
      await page.waitForTimeout(500)
      expect(files).toBe(0)
    })
  })

  it('has one metric of samples at a time, and the answer of a panel without rows of its own', async () => {
    await visit(`/market/venuea/${SAMPLED}`, {}, async (page) => {
      await drawn(page)
      const samples = panel(page, 'Samples').locator('.export')
      await samples.locator('summary').first().click()
      await samples.getByRole('button', { name: 'last trade' }).click()
      await expect
        .poll(() => samples.locator('.estimate').innerText())
        .toMatch(/^About [\d,]+ rows/)
      const waiting = page.waitForEvent('download')
      await samples.getByRole('button', { name: 'Download' }).click()
      const text = readFileSync(await (await waiting).path(), 'utf8')
      expect(text.split('\n')[0]).toContain('last_trade')
      const status = panel(page, 'Status and resolution').locator('.export')
      await status.locator('summary').first().click()
      const answered = page.waitForEvent('download')
      await status.getByRole('button', { name: 'Download' }).click()
      const json = JSON.parse(readFileSync(await (await answered).path(), 'utf8')) as {
        data: { market_id: string }[]
      }
      expect(json.data[0]!.market_id).toBe(SAMPLED)
    })
  })

  it('is a picture of the chart, as large as on the page', async () => {
    await visit(`${PAGE}${SPAN}`, {}, async (page) => {
      await drawn(page)
      const own = panel(page, 'Depth over time')
      await own.locator('.export summary').first().click()
      const waiting = page.waitForEvent('download')
      await own.getByRole('button', { name: 'Save chart as PNG' }).click()
      const file = await waiting
      expect(file.suggestedFilename()).toMatch(/depth-over-time\.png$/)
      const bytes = readFileSync(await file.path())
      expect(bytes.subarray(1, 4).toString()).toBe('PNG')
      const chart = (await own.locator('.chart canvas').boundingBox())!
      // Width and height stand in the first chunk.
      expect(bytes.readUInt32BE(16)).toBe(Math.round(chart.width) + 24)
      expect(bytes.readUInt32BE(20)).toBe(Math.round(chart.height) + 56)
      const colours = await page.evaluate(
        async (text) => {
          const image = await createImageBitmap(await (await fetch(text)).blob()).catch(() => null)
          if (image === null) return 0
          const canvas = new OffscreenCanvas(image.width, image.height)
          const context = canvas.getContext('2d')!
          context.drawImage(image, 0, 0)
          const { data } = context.getImageData(0, 0, image.width, image.height)
          return new Set(new Uint32Array(data.buffer)).size
        },
        await served(page, bytes),
      )
      expect(colours).toBeGreaterThan(50)
    })
  })
})

// The policy of the page lets it read addresses of its own service only.
async function served(page: Page, bytes: Buffer): Promise<string> {
  await page.route('**/saved.png', (route) =>
    route.fulfill({ body: bytes, contentType: 'image/png' }),
  )
  return '/saved.png'
}

describe('a request of a panel', () => {
  it('is a Python program that runs as it is copied', async () => {
    await visit(`${PAGE}${SPAN}`, {}, async (page) => {
      await drawn(page)
      const calls = panel(page, 'Price and spread').locator('.calls')
      await calls.locator('summary').click()
      await calls.getByRole('button', { name: /snapshots as Python/ }).click()
      const program = await copiedText(page, /httpx\.get\(/)
      const address = JSON.parse(/httpx\.get\((".*?")/.exec(program)![1]!) as string
      const env = { ...process.env, PRIORBOOK_KEY: key() }
      const printed = await run('python3', ['-c', 'import httpx']).then(
        async () => (await run('python3', ['-c', program], { env, maxBuffer: 1 << 28 })).stdout,
        // Without Python the address is all that can be tried.
        () => "{'data': [",
      )
      expect(printed).toContain("'data': [")
      const answer = await fetch(address, { headers: { authorization: `Bearer ${key()}` } })
      expect(answer.status).toBe(200)
      expect(((await answer.json()) as { data: unknown[] }).data.length).toBeGreaterThan(100)
    })
  })
})

describe('every page', () => {
  it('has its name in the tab, `/` to search and `?` for a list of keys', async () => {
    await visit('/reference', {}, async (page) => {
      await page.waitForFunction(() => document.title === 'Reference · Priorbook')
      await page.keyboard.press('?')
      const keys = page.getByRole('dialog', { name: 'Keys' })
      await keys.waitFor()
      expect(await keys.innerText()).toContain('Play and pause')
      expect(await accessibilityProblems(page)).toEqual([])
      await page.keyboard.press('Escape')
      await keys.waitFor({ state: 'hidden' })
      await page.keyboard.press('/')
      await page.waitForURL('/markets')
      await page.waitForFunction(() => document.activeElement?.getAttribute('type') === 'search')
      await page.waitForFunction(() => document.title === 'Markets · Priorbook')
      // Letters that are keys elsewhere are only letters here.
      await page.keyboard.type('bitcoin l0')
      expect(await page.getByLabel('Search').inputValue()).toBe('bitcoin l0')
      await page.goto(PAGE)
      await page.waitForFunction(
        () => document.title === 'Bitcoin up or down, 12:00 to 12:15 · Priorbook',
      )
    })
  })

  it('keeps what is typed into the search while its page is on the way', async () => {
    await visit(PAGE, {}, async (page) => {
      await drawn(page)
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      await page.route(/\.js$/, async (route) => {
        await held
        await route.continue()
      })
      await page.keyboard.press('/')
      await page.waitForURL('/markets')
      await page.keyboard.type('bitcoinx')
      await page.keyboard.press('Backspace')
      expect(await page.getByLabel('Search').count()).toBe(0)
      release()
      await page.waitForURL(/q=bitcoin$/)
      const field = page.getByLabel('Search')
      expect(await field.inputValue()).toBe('bitcoin')
      expect(await field.evaluate((own) => own === document.activeElement)).toBe(true)
    })
  })

  it('prints without its controls', async () => {
    await visit(`${PAGE}${SPAN}`, {}, async (page) => {
      await drawn(page)
      await page.emulateMedia({ media: 'print' })
      for (const hidden of ['.top', '.scrubber', '.view-bar', '.box']) {
        expect(await page.locator(hidden).first().isVisible()).toBe(false)
      }
      expect(await page.locator('.heatmap canvas').isVisible()).toBe(true)
      expect((await page.pdf()).length).toBeGreaterThan(20_000)
    })
  })

  it('prints dark pages as light ones', async () => {
    await visit(`${PAGE}${SPAN}`, { scheme: 'dark' }, async (page) => {
      await drawn(page)
      const inks = () =>
        page.evaluate(() => {
          const colourOf = (selector: string) =>
            getComputedStyle(document.querySelector(selector)!).color
          return [colourOf('body'), colourOf('.ladder .bids .price')]
        })
      // Pixels of the price chart that have the colour of bids, in the dark and in the light palette.
      const pixels = () =>
        page.evaluate(() => {
          const canvas = document.querySelector<HTMLCanvasElement>('.uplot canvas')!
          const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
          const count = (wanted: readonly number[]): number => {
            let found = 0
            for (let at = 0; at < data.length; at += 4) {
              if (data[at + 3]! < 250) continue
              if (wanted.every((part, index) => Math.abs(data[at + index]! - part) < 6)) found++
            }
            return found
          }
          return { dark: count([0x62, 0xa9, 0xf4]), light: count([0x1b, 0x6e, 0xc2]) }
        })
      const onScreen = await inks()
      expect(await pixels()).toMatchObject({ dark: expect.any(Number), light: 0 })
      expect((await pixels()).dark).toBeGreaterThan(10)
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
      await expect.poll(async () => (await pixels()).light).toBeGreaterThan(10)
      expect((await pixels()).dark).toBe(0)
      // Dark ink on paper, which is white.
      expect(await inks()).toEqual(['rgb(26, 31, 39)', 'rgb(21, 95, 174)'])
      await page.emulateMedia({ media: 'screen', colorScheme: 'dark' })
      await expect.poll(async () => (await pixels()).dark).toBeGreaterThan(10)
      expect(await inks()).toEqual(onScreen)
      // A real print has only the event: everything is drawn when its handlers have run.
      await page.evaluate(async () => {
        dispatchEvent(new Event('beforeprint'))
        await Promise.resolve()
      })
      expect((await pixels()).dark).toBe(0)
      await page.evaluate(() => dispatchEvent(new Event('afterprint')))
      await expect.poll(async () => (await pixels()).light).toBe(0)
    })
  })

  it('has a menu on a phone that fades where it goes on, with the page that is shown in sight', async () => {
    await visit('/status', { width: 390 }, async (page) => {
      const menu = page.getByRole('navigation', { name: 'Main' })
      await page.waitForFunction(() => document.querySelector('.top nav.more-left') !== null)
      const [outer, inner] = await Promise.all([
        menu.boundingBox(),
        menu.locator('[aria-current]').boundingBox(),
      ])
      expect(inner!.x).toBeGreaterThanOrEqual(outer!.x - 1)
      expect(inner!.x + inner!.width).toBeLessThanOrEqual(outer!.x + outer!.width + 1)
      await menu.evaluate((element) => (element.scrollLeft = 0))
      await page.waitForFunction(() => document.querySelector('.top nav.more-right') !== null)
    })
  })

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)('has boxes without a barrier in %s at %i pixels', async (scheme, width) => {
    await visit(`${PAGE}${SPAN}`, { scheme, width }, async (page) => {
      await drawn(page)
      for (const box of ['.settings', '.heatmap-export', '.exact-range']) {
        const own =
          box === '.heatmap-export'
            ? panel(page, 'Depth over time').locator('.export')
            : page.locator(box)
        await own.locator('summary').first().click()
        const form = own.locator('form')
        await form.waitFor()
        const place = (await form.boundingBox())!
        expect(place.x).toBeGreaterThanOrEqual(0)
        expect(place.x + place.width).toBeLessThanOrEqual(width)
        expect(await accessibilityProblems(page)).toEqual([])
        await page.keyboard.press('Escape')
        await form.waitFor({ state: 'hidden' })
      }
    })
  })
})

describe('a table that scrolls', () => {
  it('has its count, and says how many rows are below', async () => {
    await visit(`/market/venuea/${SAMPLED}`, {}, async (page) => {
      await drawn(page)
      const gaps = panel(page, 'Gaps')
      expect(await gaps.locator('h2 .count').innerText()).toBe(String(MANY_GAPS))
      const table = gaps.locator('.table-scroll')
      const below = await table.evaluate((element) => {
        const end = element.getBoundingClientRect().bottom
        const rows = [...element.querySelectorAll('tbody tr')].map((row) =>
          row.getBoundingClientRect(),
        )
        return rows.filter(({ top, height }) => top + height / 2 > end).length
      })
      expect(below).toBeGreaterThan(5)
      expect(await gaps.locator('.scroll-more').innerText()).toBe(`${below} more ↓`)
      await table.evaluate((element) => (element.scrollTop = element.scrollHeight))
      await gaps.locator('.scroll-more').waitFor({ state: 'detached' })
    })
  })
})

describe('the list of markets', () => {
  it('is sorted by its heads, and says by which', async () => {
    await visit('/markets?status=any', {}, async (page) => {
      const head = page.getByRole('columnheader', { name: 'Closes' })
      await head.getByRole('button').click()
      await page.waitForURL(/sort=close_time/)
      await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
      await page.getByRole('columnheader', { name: 'Recorded' }).getByRole('button').click()
      await page.waitForURL((address) => !address.searchParams.has('sort'))
      await expect.poll(() => head.getAttribute('aria-sort')).toBeNull()
      const count = page.locator('.page-head p').first()
      await expect.poll(() => count.innerText()).toBe('2')
    })
  })
})
