import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { conditionOf, ELECTION, MATCH } from '../api/events-tape.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems, openVisitor } from './visitor.ts'

const { url, browser, visit } = servedVisits('serve-events.ts')

const cellsOf = (page: Page, name: string) =>
  page
    .getByRole('row', { name: new RegExp(name) })
    .getByRole('cell')
    .allInnerTexts()

describe('the page of an event', () => {
  it('has every outcome with its price, a line for each that was recorded, and what sums leave out', async () => {
    await visit(`/event/venueb/${ELECTION}`, {}, async (page) => {
      await page.locator('.event-page[data-loaded="yes"] .event-chart canvas').waitFor()
      await page.getByRole('heading', { name: 'Who wins the presidential election?' }).waitFor()
      expect(await page.locator('.event-table tbody tr').count()).toBe(5)
      expect((await cellsOf(page, 'Ann')).slice(2, 5)).toEqual(['0.51', '0.52', '0.01'])
      expect((await cellsOf(page, 'Bob'))[1]).toContain('gap')
      expect((await cellsOf(page, 'Eve')).slice(2, 4)).toEqual(['–', '–'])
      // Ann, Bob and Cid have books.
      expect(await page.locator('.event-table .line-key:not(.none)').count()).toBe(3)
      const sums = page.getByRole('region', { name: 'Sum of prices' })
      expect(await sums.innerText()).toContain('0.62')
      await sums.getByText('4 prices are not in the sums').click()
      await sums.getByText('Bob: nothing was recorded since its newest book').waitFor()
      await page.getByRole('link', { name: 'Ann', exact: true }).click()
      await page.waitForURL(new RegExp(`/market/venueb/${ELECTION}-ANN`))
      await page.getByRole('link', { name: 'Who wins the presidential election?' }).click()
      await page.waitForURL(new RegExp(`/event/venueb/${ELECTION}$`))
    })
  })

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'has no barrier in %s at %i pixels, and nothing beside the screen',
    async (scheme, width) => {
      await visit(`/event/venuec/${MATCH}`, { scheme, width }, async (page) => {
        await page.locator('.event-page[data-loaded="yes"] .event-chart canvas').waitFor()
        expect(await accessibilityProblems(page)).toEqual([])
        const over = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        expect(over).toBe(0)
        await page.getByText('converts into one Yes share').waitFor()
      })
    },
  )

  it('says what to do about an event that was not recorded', async () => {
    const visitor = await openVisitor(browser(), url())
    await visitor.page.goto('/event/venueb/NO-SUCH-EVENT')
    await visitor.page.getByText('No such event has been recorded').waitFor()
    await visitor.page.getByRole('link', { name: 'All events' }).click()
    await visitor.page.waitForURL(/\/events$/)
    // The page is fetched when it is opened.
    const heading = visitor.page.getByRole('heading', { name: 'Events' })
    await heading.waitFor()
    expect(await heading.count()).toBe(1)
    await visitor.close()
  })
})

describe('the list of events', () => {
  it('is browsed by category with the keyboard, and searched', async () => {
    await visit('/events', { width: 390 }, async (page) => {
      await page.getByRole('link', { name: /Reds against Blues/ }).waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      const chip = page.getByRole('navigation', { name: 'Categories' }).getByText('Politics')
      await chip.focus()
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/events\?category=Politics/)
      await expect.poll(() => page.locator('.event-list li').count()).toBe(1)
      await page.getByRole('link', { name: 'All', exact: true }).click()
      await page.getByLabel('Search').fill('reds')
      await page.waitForURL(/q=reds/)
      await expect.poll(() => page.locator('.event-list li').count()).toBe(1)
    })
  })

  it('is beside the list of markets, which has the same categories', async () => {
    await visit('/markets?category=Sports', {}, async (page) => {
      await expect.poll(() => page.locator('.mbody .mrow').count()).toBe(3)
      await page.locator('.mbody .mrow a').first().click()
      // A market without an asset.
      await page.waitForURL(/\/market\/venuec\/0x/)
      await page.locator('.market-page[data-loaded="yes"]').waitFor()
      expect(page.url()).toContain(conditionOf(1).slice(0, 10))
    })
  })
})
