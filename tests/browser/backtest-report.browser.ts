import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backtest, comparisonHtml, reportHtml } from '../../packages/sdk/src/backtest/index.ts'
import { accessibilityProblems } from './visitor.ts'
import { randomStrategy, randomTape } from '../../packages/sdk/src/backtest/random-tape.testing.ts'

const PLOTS = [
  'Result and bound capital over time',
  'Drawdown over time',
  'Result by market',
  'Result by evidence',
  'Fills',
  'Calibration',
  'Markouts',
  'Confidence, queue models and baselines',
]
const NAME = '<script>alert(1)</script> & others'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-report-'))
const file = join(folder, 'report.html')
const comparison = join(folder, 'comparison.html')
let browser: Browser
let marketPlots: string[] = []

beforeAll(async () => {
  const { report } = await backtest({
    events: randomTape(4, 3000).batches(),
    strategy: () => ({ ...randomStrategy(), name: NAME }),
  })
  const traded = report.markets
    .filter(({ fills }) => fills > 0)
    .toSorted((left, right) => Math.abs(Number(right.pnl)) - Math.abs(Number(left.pnl)))
  marketPlots = traded.flatMap(({ market }) => [
    `Price and fills of ${market}`,
    `Position in ${market}`,
  ])
  writeFileSync(file, reportHtml(report, { explorer: 'http://127.0.0.1:8780' }))
  writeFileSync(comparison, comparisonHtml(report, report, ['one', 'two']))
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
})

afterAll(async () => {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(['light', 'dark'] as const)('the page of a backtest in %s colours', (colorScheme) => {
  it.each([1280, 390])('is drawn without an error or a request, %d wide', async (width) => {
    const problems: string[] = []
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
    page.on('console', (message) => problems.push(`console: ${message.text()}`))
    page.on('pageerror', (error) => problems.push(`page: ${error.message}`))
    page.on('dialog', () => problems.push('a dialog was opened'))
    page.on('request', (request) => {
      if (!request.url().startsWith('file:')) problems.push(`request: ${request.url()}`)
    })
    await page.goto(pathToFileURL(file).href)
    const plots = await page.locator('figure svg').all()
    const names = await Promise.all(plots.map((plot) => plot.getAttribute('aria-label')))
    expect(names).toStrictEqual([...marketPlots, ...PLOTS])
    for (const [index, plot] of plots.entries()) {
      const marks = await plot.locator('polyline, polygon, rect, circle, path, line.span').count()
      const box = await plot.boundingBox()
      if (marks === 0) problems.push(`${names[index]}: nothing is drawn`)
      if (box === null || box.width < 250 || box.height < 80)
        problems.push(`${names[index]}: no room`)
      if ((await plot.innerHTML()).includes('NaN')) problems.push(`${names[index]}: NaN in it`)
    }
    expect(await page.locator('h1').textContent()).toBe(NAME)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    const target = process.env['PRIORBOOK_SCREENSHOTS']
    if (target !== undefined) {
      const path = join(target, `backtest-${colorScheme}-${width}.png`)
      await page.screenshot({ path, fullPage: true })
    }
    expect(await accessibilityProblems(page)).toStrictEqual([])
    await page.close()
    expect(problems).toStrictEqual([])
  })

  it.each([1280, 390])('of two reports is drawn too, %d wide', async (width) => {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
    await page.goto(pathToFileURL(comparison).href)
    expect(await page.locator('figure svg polyline').count()).toBe(2)
    expect(await page.getByRole('row', { name: /^result / }).count()).toBe(1)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await accessibilityProblems(page)).toStrictEqual([])
    await page.close()
  })
})
