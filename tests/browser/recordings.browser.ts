import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiReader, placeOf, type ListedMarket } from './api-reader.ts'
import { measureFrames, playFrom } from './frame-figures.ts'
import { openPlainPage } from './plain-page.ts'
import { createService, run, type ServiceProcess } from '../service-process.ts'
import { expectBook, openBrowser, openVisitor, shownRow } from './visitor.ts'

const folder = process.env['PRIORBOOK_RECORDINGS']
const recordings = folder === undefined ? undefined : join(folder, 'venueb/ws-gold15m')
const isThere = recordings !== undefined && existsSync(recordings)
if (!isThere) console.log('skipped: PRIORBOOK_RECORDINGS names no recordings')

describe.skipIf(!isThere)('the explorer over recordings', () => {
  let service: ServiceProcess
  let browser: Browser
  let api: ApiReader
  let key: string
  let densest: ListedMarket

  beforeAll(async () => {
    service = await createService(['--upstream', 'none', '--workers', '1'], (data) => {
      run('import', 'venueb', '--data', data, recordings!)
    })
    await service.start()
    key = service.keyOf('unlimited')
    api = new ApiReader(service.url, key)
    densest = await api.busiest('venueb', '')
    browser = await openBrowser()
  })

  afterAll(async () => {
    await browser?.close()
    await service?.destroy()
  })

  it('shows the book of the interface at ten random times of the densest market', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    const from = Date.parse(densest.coverage.first_time) * 1000
    const to = Date.parse(densest.coverage.last_time) * 1000
    let state = 11
    for (let turn = 0; turn < 10; turn++) {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      const at = Math.round(from + ((to - from) * state) / 2_147_483_648)
      await page.goto(`${placeOf(densest)}?t=${at}`)
      await page.getByLabel('every level').check()
      await page.locator('.ladder[data-sequence], .no-book').first().waitFor()
      await expectBook(page, 'Yes', await api.bookAt(densest, String(at), 0))
      await expectBook(page, 'No', await api.bookAt(densest, String(at), 1))
    }
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  it('shows the gaps of the recording as gaps', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    type Gap = { reason: string; start_time: string; end_time: string | null }
    const gaps = (await api.get(`/v3/gaps?venue=venueb&market=${densest.market_id}`)) as Gap[]
    const holes = gaps.filter(
      ({ reason, end_time: end }) => end !== null && /silent|disconnected/.test(reason),
    )
    expect(holes.length).toBeGreaterThan(0)
    for (const { reason, start_time: start, end_time: end } of holes) {
      const middle = (Date.parse(start) + Date.parse(end!)) / 2
      await page.goto(`${placeOf(densest)}?t=${new Date(middle).toISOString()}`)
      await page
        .getByText(`Gap: ${reason.replaceAll('_', ' ')}`)
        .first()
        .waitFor()
      await page
        .locator('.gap-table tr', { hasText: reason.replaceAll('_', ' ') })
        .first()
        .waitFor()
    }
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  it('plays books that are those of the interface, level by level', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    await page.goto(placeOf(densest))
    await playFrom(page, 5500)
    await page.getByLabel('every level').check()
    const shots: (NonNullable<Awaited<ReturnType<typeof shownRow>>> & { name: string })[] = []
    while (shots.length < 12) {
      const name = shots.length % 2 === 0 ? 'Yes' : 'No'
      const shown = await shownRow(page, name)
      const isNew = shown !== undefined && shown.sequence !== (shots.at(-1)?.sequence ?? '')
      if (isNew) shots.push({ ...shown, name })
      await page.waitForTimeout(200)
    }
    for (const { sequence, received, name, book } of shots) {
      const outcome = name === 'Yes' ? 0 : 1
      expect({ sequence, book }).toEqual({
        sequence,
        book: await api.bookOfRow(densest, received, sequence, outcome),
      })
    }
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  // Figures are reported; a shared machine decides about them too.
  it('replays the densest market at ten times its pace, smoothly', async () => {
    const root = await browser.newBrowserCDPSession()
    const page = await openPlainPage(root, service.url + placeOf(densest), {
      width: 1440,
      height: 900,
      script: `localStorage.setItem('priorbook.key', ${JSON.stringify(key)})`,
    })
    await playFrom(page, 1500)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const figures = await measureFrames(page, root)
    console.log('replay of the densest market at ×10, without a GPU, in ms:', figures)
    expect(figures.frames).toBeGreaterThan(50)
    expect(figures['rows a second']).toBeGreaterThan(100)
    expect(page.errors).toEqual([])
    await page.close()
    await root.detach()
  })

  it('does so too while the test hears every message of its socket', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    await page.goto(placeOf(densest))
    await playFrom(page, 1500)
    await page.waitForTimeout(500)
    const session = await page.context().newCDPSession(page)
    const figures = await measureFrames(page, session)
    console.log('the same, all messages copied to the test:', figures)
    expect(figures.frames).toBeGreaterThan(50)
    expect(figures['rows a second']).toBeGreaterThan(100)
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })
})
