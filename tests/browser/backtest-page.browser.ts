import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Report } from '../../packages/sdk/src/backtest/index.ts'
import { GAP } from '../api/contracts-tape.ts'
import { runCommand } from '../sdk/run-command.ts'
import { ApiReader } from './api-reader.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems, expectBook } from './visitor.ts'

const { url, key, visit } = servedVisits('serve-contracts.ts', { withKey: true })

// Takes at every book and rests behind the best bid; the gap of the market ends the resting order.
const STRATEGY = `export const strategy = () => ({
  name: 'page test',
  onBook(book, { buy, orders }) {
    const market = book.market.id
    if (book.bestAsk === null) return
    if (orders(market).length === 0) buy({ market, price: book.bestBid, size: 2, postOnly: true })
    buy({ market, size: 1 })
  },
})
`

const folder = mkdtempSync(join(tmpdir(), 'priorbook-backtest-page-'))
const file = join(folder, 'report.json')
let report: Report
let market: { venue: string; market_id: string }

beforeAll(async () => {
  market = await new ApiReader(url(), key()).busiest('venueb', '')
  writeFileSync(join(folder, 'strategy.ts'), STRATEGY)
  const name = `${market.venue}:${market.market_id}`
  const args = ['backtest', join(folder, 'strategy.ts'), '--markets', name, '--out', folder]
  const env = { PRIORBOOK_URL: url(), PRIORBOOK_KEY: key() }
  const ran = await runCommand(
    [...args, '--latency', '0', '--assume', 'venueb-maker=none,venueb-tick=0.01'],
    env,
  )
  expect(ran).toMatchObject({ status: 0 })
  report = JSON.parse(readFileSync(file, 'utf8')) as Report
  // The gap begins with the second book.
  expect(report.orders.reasons).toEqual({ in_gap: 1 })
  expect(report.fills_kept.length).toBeGreaterThan(1)
  expect(report.queue.length).toBeGreaterThan(0)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function open(page: Page, path = file): Promise<void> {
  await page.getByLabel('report.json').setInputFiles(path)
}

const fillsPanel = (page: Page) => page.getByRole('region', { name: 'Fills', exact: true })

describe('/backtest', () => {
  it('shows a report without sending any of it', async () => {
    await visit('/backtest', {}, async (page) => {
      await page.getByText('nothing is uploaded').waitFor()
      const sent: string[] = []
      page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`))
      await open(page)
      const panel = fillsPanel(page)
      await panel.waitFor()
      const rows = await panel.locator('tbody tr').allInnerTexts()
      const shown = rows.map((row) => row.split('\t').slice(0, 7))
      expect(shown).toEqual(
        report.fills_kept.map(({ id, at, side, price, size, fee }) => [
          String(id),
          new Date(Math.floor(at / 1000)).toISOString().slice(0, 23).replace('T', ' ') +
            String(at % 1000).padStart(3, '0'),
          side,
          'first',
          String(price / 10_000),
          size,
          fee,
        ]),
      )
      expect(await page.getByRole('img', { name: /^Bid and ask of/ }).count()).toBe(1)
      expect(await page.getByRole('img', { name: /^Position in/ }).count()).toBe(1)
      expect(await page.getByRole('img', { name: /^Queue ahead of/ }).count()).toBe(1)
      expect(await page.locator('.report-facts').innerText()).toContain(report.headline.pnl)
      expect(sent).toEqual([])
      const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))
      expect(kept).not.toContain('page test')
    })
  })

  it('hatches the gap of the market, and nothing else', async () => {
    await visit('/backtest', {}, async (page) => {
      await open(page)
      await fillsPanel(page).waitFor()
      const [points = []] = report.prices.map((one) => one.points)
      const [first, last] = [points[0]![0], points.at(-1)![0]]
      const room = (last - first) * 0.02
      const range = [first - room, last + room] as const
      // The price holds until the gap: blue for the bid in the middle of the first stretch.
      expect(await page.evaluate(hasBidLine)).toBe(true)
      const hatched = await page.evaluate(hatchedColumns)
      const begin = report.fills_kept[0]!.at - (report.fills_kept[0]!.at % 1_000_000)
      expect(hatched.length).toBeGreaterThan(10)
      // The books of the round begin at second 10; the gap is known by its seconds in the round.
      const opens = begin - 10 * 1_000_000
      const at = (part: number): number => (range[0] + part * (range[1] - range[0]) - opens) / 1e6
      expect(at(Math.min(...hatched))).toBeGreaterThan(GAP.from - 1)
      expect(at(Math.max(...hatched))).toBeLessThan(GAP.to + 1)
    })
  })

  it('goes from a fill to its book in the explorer, and back', async () => {
    await visit('/backtest', {}, async (page) => {
      await open(page)
      const last = report.fills_kept.at(-1)!
      await page.getByRole('link', { name: `Book at fill ${last.id}`, exact: true }).click()
      await page.waitForURL(/\/market\/venueb\//)
      const time = new Date(Math.floor(last.at / 1000)).toISOString().slice(0, 23)
      expect(decodeURIComponent(page.url())).toContain(`t=${time}`)
      const at = `${time}${String(last.at % 1000).padStart(3, '0')}Z`
      const id = encodeURIComponent(market.market_id)
      const path = `/v3/venueb/${id}/orderbook?at=${at}&number_format=string`
      const book = (await new ApiReader(url(), key()).get(path)) as Book
      await expectBook(page, 'Yes', { asks: pairs(book.asks), bids: pairs(book.bids) })
      const strip = page.getByRole('region', { name: 'Backtest' })
      expect(await strip.innerText()).toContain(`fill ${last.id}, buy ${last.size}`)
      await strip.getByRole('link', { name: '← Earlier fill' }).click()
      await strip.getByText(`fill ${report.fills_kept.at(-2)!.id},`).waitFor()
      await strip.getByRole('link', { name: 'Back to the backtest' }).click()
      const marked = page.locator('tr[aria-selected="true"]')
      await marked.waitFor()
      expect((await marked.innerText()).split('\t')[0]).toBe(String(report.fills_kept.at(-2)!.id))
      await page.goBack()
      await strip.waitFor()
      await page.goBack()
      await page.goBack()
      await fillsPanel(page).waitFor()
      await page.reload()
      await page.getByText('Open a report').waitFor()
      expect(await fillsPanel(page).count()).toBe(0)
    })
  })

  it('says what is wrong with a file, by name', async () => {
    const text = readFileSync(file, 'utf8')
    const large = join(folder, 'large.json')
    writeFileSync(large, '')
    truncateSync(large, 151_000_000)
    const cases: (readonly [string, string | undefined])[] = [
      ['not_json', 'onBook() {}'],
      ['not_a_report', '{"data": []}'],
      ['other_format', text.replace('backtest/1', 'backtest/9')],
      ['old_report', text.replace('"prices"', '"then"')],
      ['damaged', text.replaceAll('"feeShares": "0"', '"feeShares": 0')],
      ['too_large', undefined],
    ]
    await visit('/backtest', {}, async (page) => {
      for (const [code, content] of cases) {
        const path = content === undefined ? large : join(folder, `${code}.json`)
        if (content !== undefined) writeFileSync(path, content)
        await open(page, path)
        const note = page.locator(`.note[data-code="${code}"]`)
        await note.waitFor()
        expect((await note.innerText()).length).toBeGreaterThan(60)
      }
      await open(page)
      await fillsPanel(page).waitFor()
      expect(await page.locator('.note.trouble').count()).toBe(0)
    })
  })

  it('opens a report of fifty thousand fills, and draws no more rows than asked for', async () => {
    const [first] = report.fills_kept
    const fills = Array.from({ length: 50_000 }, (_, index) => ({
      ...first!,
      id: index + 1,
      at: first!.at + index * 500,
      side: index % 2 === 0 ? ('buy' as const) : ('sell' as const),
    }))
    const path = join(folder, 'many.json')
    const { count: _, ...counts } = report.fills
    const many = { ...report, fills: { ...counts, count: 50_000 }, fills_kept: fills }
    writeFileSync(path, JSON.stringify(many))
    await visit('/backtest', {}, async (page) => {
      const started = performance.now()
      await open(page, path)
      await page.getByText('100 of 50,000 fills').waitFor()
      const ms = performance.now() - started
      console.log(`50,000 fills, ${readFileSync(path).length} bytes: ${Math.round(ms)} ms`)
      expect(ms).toBeLessThan(15_000)
      expect(await page.locator('.fill-table tbody tr').count()).toBe(100)
      await page.getByRole('button', { name: 'Show 100 more' }).click()
      await expect.poll(() => page.locator('.fill-table tbody tr').count()).toBe(200)
    })
  })

  it.each([
    { scheme: 'light' },
    { scheme: 'dark' },
    { scheme: 'dark', width: 390, height: 844 },
  ] as const)('has no barrier for assistive technology: %o', async (look) => {
    await visit('/backtest', look, async (page) => {
      expect(await accessibilityProblems(page)).toEqual([])
      await open(page)
      await fillsPanel(page).waitFor()
      await page.getByRole('button', { name: 'Mark fill 1', exact: true }).click()
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      const target = process.env['PRIORBOOK_SCREENSHOTS']
      if (target === undefined) return
      const name = `backtest-page-${look.scheme}-${'width' in look ? look.width : 1440}.png`
      await page.screenshot({ path: join(target, name), fullPage: true })
    })
  })
})

type Side = { readonly price: string[]; readonly size: string[] }
type Book = { readonly bids: Side; readonly asks: Side }

function pairs({ price, size }: Side): string[][] {
  return price.map((one, index) => [one, size[index]!])
}

// Runs in the page: columns of the first chart that hold the hatch's colour, as parts of its inner width.
function hatchedColumns(): number[] {
  const canvas = document.querySelector<HTMLCanvasElement>('.report-chart canvas')!
  const context = canvas.getContext('2d')!
  const ratio = devicePixelRatio
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--gap-back').trim()
  const wanted = [1, 3, 5].map((from) => Number.parseInt(colour.slice(from, from + 2), 16))
  const [left, right] = [46 * ratio, canvas.width - 10 * ratio]
  const found: number[] = []
  for (let x = Math.ceil(left); x < right; x++) {
    const { data } = context.getImageData(x, 10, 1, 200)
    let count = 0
    for (let index = 0; index < data.length; index += 4) {
      if (wanted.every((part, channel) => data[index + channel] === part)) count++
    }
    if (count > 20) found.push((x - left) / (right - left))
  }
  return found
}

// Runs in the page: whether the colour of bids stands in a column at a quarter of the first chart.
function hasBidLine(): boolean {
  const canvas = document.querySelector<HTMLCanvasElement>('.report-chart canvas')!
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--bid-line').trim()
  const wanted = [1, 3, 5].map((from) => Number.parseInt(colour.slice(from, from + 2), 16))
  const { data } = canvas.getContext('2d')!.getImageData(canvas.width / 4, 0, 1, canvas.height)
  for (let index = 0; index < data.length; index += 4) {
    if (wanted.every((part, channel) => Math.abs(data[index + channel]! - part) < 40)) return true
  }
  return false
}
