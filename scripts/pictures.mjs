// Takes the pictures of the docs: the explorer over emulated venues, with a gap from a restart.
// node scripts/pictures.mjs [SECONDS]   records so long before each half of the pictures (90)
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ApiReader, placeOf } from '../tests/browser/api-reader.ts'
import { createService } from '../tests/service-process.ts'
import { runCommand } from '../tests/sdk/run-command.ts'
import { openBrowser, openVisitor } from '../tests/browser/visitor.ts'

const seconds = Number(process.argv[2] ?? 90)
const folder = join(import.meta.dirname, '../docs/images')
mkdirSync(folder, { recursive: true })

// Rounds end with every quarter of an hour: pictures of one that runs show more than of one that begins or ends.
const QUARTER_MS = 900_000
async function untilRoundRuns() {
  const part = Date.now() % QUARTER_MS
  if (part < 120_000) await pause(120_000 - part)
  else if (part > 600_000) await pause(QUARTER_MS - part + 120_000)
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const service = await createService(['--upstream', 'emulator', '--workers', '1'])
const browser = await openBrowser()

async function take(name, path, look, act) {
  const visitor = await openVisitor(browser, service.url, look)
  await visitor.page.goto(path)
  await visitor.page.waitForLoadState('networkidle', { timeout: 5000 }).catch(() => undefined)
  // Charts draw what they have read; pages that follow a feed are never idle.
  await visitor.page
    .locator('[data-loaded="no"], [data-ready="no"]')
    .first()
    .waitFor({ state: 'detached' })
  await pause(3000)
  await act?.(visitor.page)
  await visitor.page.screenshot({ path: join(folder, `${name}.png`) })
  await visitor.close()
  console.log(`${name}.png`)
}

// A strategy over the market: its report as a page of its own, and in the explorer.
async function takeBacktest(market) {
  const out = mkdtempSync(join(tmpdir(), 'priorbook-pictures-'))
  const strategy = join(import.meta.dirname, '../examples/quote-both-sides.ts')
  const args = ['backtest', strategy, '--markets', market, '--out', out, '-q']
  const env = { PRIORBOOK_URL: service.url, PRIORBOOK_KEY: service.keyOf('desk') }
  const { status, err } = await runCommand([...args, '--assume', 'venueb-maker=none'], env)
  if (status !== 0) throw new Error(err)
  const open = async (page) => {
    await page.getByLabel('report.json').setInputFiles(join(out, 'report.json'))
    await pause(1500)
  }
  await take('backtest-light', '/backtest', { height: 1100 }, open)
  const page = pathToFileURL(join(out, 'report.html')).href
  await take('backtest-report-light', page, { width: 1280, height: 1250 })
  rmSync(out, { recursive: true, force: true })
}

try {
  await service.start()
  await pause(seconds * 1000)
  await service.stop()
  await pause(4000)
  await service.start()
  await pause(seconds * 1000)
  await untilRoundRuns()
  const api = new ApiReader(service.url)
  const [a, b, c] = await Promise.all(
    ['venuea', 'venueb', 'venuec'].map((venue) => api.busiest(venue)),
  )
  const half = async (page) => {
    await page.getByLabel('Time shown').evaluate((input) => {
      input.value = '7400'
      input.dispatchEvent(new Event('input', { bubbles: true }))
    })
    await pause(1000)
  }
  const day = async (page) => {
    await page.locator('.venue-calendar').nth(1).locator('.day.c-degraded').last().click()
    await pause(1500)
  }
  const [contract] = await api.get(
    '/v3/contracts?status=open&members=3&asset=btc&window=15m&limit=1',
  )
  await take('compare-light', `/contracts/${contract.id}`, { height: 1000 })
  await take('market-dark', placeOf(b), { scheme: 'dark', height: 860 }, half)
  await take('market-light', placeOf(a), { height: 980 })
  await take('start-light', '/', { height: 860 })
  await take('markets-light', '/markets', { height: 700 })
  await take('coverage-dark', '/coverage', { scheme: 'dark', height: 860 }, day)
  await take('recorder-light', '/status', { height: 460 })
  await take('phone-dark', placeOf(c), { scheme: 'dark', width: 390, height: 844 })
  await take('phone-light', '/markets', { width: 390, height: 844 })
  await takeBacktest(`${b.venue}:${b.market_id}`)
} finally {
  await browser.close()
  await service.destroy()
}
