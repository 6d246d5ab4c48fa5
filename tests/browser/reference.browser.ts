import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { GAP, ROUND } from '../api/reference-tape.ts'
import { exported } from './exported.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems } from './visitor.ts'

const { visit } = servedVisits('serve-reference.ts', { withKey: true })

/** How much of a column of a chart is painted, at a second of the round; charts begin with it. */
async function paintedAt(page: Page, second: number): Promise<number> {
  return page.evaluate((part) => {
    const canvas = document.querySelector<HTMLCanvasElement>('.reference-chart canvas')!
    const ratio = devicePixelRatio
    // The margins of all charts.
    const inner = canvas.width - (46 + 10) * ratio
    const x = Math.round(46 * ratio + part * inner)
    const height = Math.floor(canvas.height * 0.6)
    const { data } = canvas.getContext('2d')!.getImageData(x - 4, 8 * ratio, 8, height)
    let painted = 0
    for (let at = 3; at < data.length; at += 4) if (data[at]! > 0) painted++
    return painted / (data.length / 4)
  }, second / 900)
}

describe('a crypto round', () => {
  const path = `/market/venuec/${ROUND}`

  it('has the price that it settles on, its strike, and hatched gaps of the feed', async () => {
    await visit(path, {}, async (page) => {
      const panel = page.getByRole('region', { name: 'Reference price' })
      await panel.locator('.reference-chart canvas').waitFor()
      const words = await panel.locator('.reference-words').innerText()
      expect(words).toContain('Last 64,174.75 USD, 174.75 above the strike of 64,000.00.')
      expect(words).toContain('over 60 seconds')
      await panel
        .getByRole('img', { name: /by twap60 and the strike over time, \d+ prices, 1 gap/ })
        .waitFor()
      // All of the gap is hatched, and little more than a line is painted elsewhere.
      expect(await paintedAt(page, (GAP.from + GAP.to) / 2)).toBeGreaterThan(0.9)
      expect(await paintedAt(page, 150)).toBeLessThan(0.5)
      expect(await paintedAt(page, 700)).toBeLessThan(0.5)
      await panel.getByRole('link', { name: 'All prices' }).click()
      await page.waitForURL(/\/reference\?asset=BTC&feed=twap60$/)
    })
  })
})

describe('the page of reference prices', () => {
  it('lists every series, draws the chosen one, and names its gaps', async () => {
    await visit('/reference', {}, async (page) => {
      await page.locator('.reference-chart canvas').waitFor()
      expect(await page.locator('.reference-table tbody tr').count()).toBe(2)
      await page.getByRole('region', { name: 'BTC by twap60' }).waitFor()
      const gaps = page.getByRole('region', { name: 'Gaps in this span' })
      await gaps.getByText('disconnected').waitFor()
      expect(await gaps.innerText()).toContain('3 min')
      // The list of gaps is a file of its own.
      const [names, ...rows] = (await exported(page, gaps, 'csv')).trim().split(/\r?\n/)
      expect(names!.split(',')).toContain('reason')
      expect(rows.filter((row) => row.includes('disconnected'))).toHaveLength(1)
      expect(rows.every((row) => row.includes('reference/twap60/BTC'))).toBe(true)
      // By keyboard to the other feed, which has none.
      const link = page.getByRole('link', { name: 'BTC by exchange' })
      await link.focus()
      await page.keyboard.press('Enter')
      await page.waitForURL(/feed=exchange/)
      await page.getByRole('region', { name: 'BTC by exchange' }).waitFor()
      await gaps.getByText('No gaps in the recording.').waitFor()
      await page.getByRole('navigation', { name: 'Main' }).getByText('Reference').click()
      await page.getByRole('region', { name: 'BTC by twap60' }).waitFor()
    })
  })

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'has no barrier in %s at %i pixels, and neither has the round',
    async (scheme, width) => {
      for (const path of ['/reference', `/market/venuec/${ROUND}`]) {
        await visit(path, { scheme, width }, async (page) => {
          await page.locator('.reference-chart canvas').waitFor()
          expect(await accessibilityProblems(page)).toEqual([])
          const over = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          )
          expect(over).toBe(0)
        })
      }
    },
  )
})
