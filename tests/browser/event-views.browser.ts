import { describe, expect, it } from 'vitest'
import { ELECTION } from '../api/events-tape.ts'
import { exported } from './exported.ts'
import { servedVisits } from './served-visits.ts'
import { copiedText } from './visitor.ts'

const { visit } = servedVisits('serve-events.ts', { withKey: true })

describe('the page of an event', () => {
  it('is sorted by any column, and counts its outcomes', async () => {
    await visit(`/event/venueb/${ELECTION}`, {}, async (page) => {
      await page.locator('.event-page[data-loaded="yes"] .event-chart canvas').waitFor()
      const outcomes = page.getByRole('region', { name: 'Outcomes' })
      expect(await outcomes.locator('h2 .count').innerText()).toBe('5')
      // The line below a row is one line.
      const bottoms = await outcomes
        .locator('tbody tr')
        .evaluateAll((rows) =>
          rows.map((row) => [
            ...new Set([...row.children].map((cell) => cell.getBoundingClientRect().bottom)),
          ]),
        )
      expect(bottoms.every((own) => own.length === 1)).toBe(true)
      const head = outcomes.getByRole('columnheader', { name: 'Outcome' })
      const names = () => outcomes.locator('tbody td.outcome').allInnerTexts()
      const first = await names()
      await head.getByRole('button').click()
      await expect.poll(() => head.getAttribute('aria-sort')).toBe('descending')
      expect(await names()).toEqual(first.toSorted().toReversed())
      await head.getByRole('button').click()
      await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
      expect(await names()).toEqual(first.toSorted())
      // What has no price is last both ways.
      const bid = outcomes.getByRole('columnheader', { name: 'Bid' }).getByRole('button')
      const bids = () => outcomes.locator('tbody td.bid').allInnerTexts()
      for (const way of [1, -1]) {
        await bid.click()
        const shown = await bids()
        const known = shown.filter((text) => text !== '–').map(Number)
        expect(known).toEqual(known.toSorted((a, b) => (b - a) * way))
        expect(shown.slice(0, known.length)).not.toContain('–')
      }
    })
  })

  it('exports the sums of its prices, and the list of events is a table', async () => {
    await visit(`/event/venueb/${ELECTION}`, {}, async (page) => {
      const sums = page.getByRole('region', { name: 'Sum of prices' })
      const saved = JSON.parse(await exported(page, sums, 'json')) as {
        data: { event_id: string; sums: { bid_count: number } }
      }
      expect(saved.data.event_id).toBe(ELECTION)
      const shown = await sums.locator('.facts').innerText()
      expect(shown).toContain(`Best bids of ${saved.data.sums.bid_count} of 5`)
      await page.goto('/events?status=all')
      const head = page.locator('.page-head')
      await page.locator('.event-list li').first().waitFor()
      const count = await page.locator('.event-list li').count()
      const [names, ...rows] = (await exported(page, head, 'csv')).trim().split(/\r?\n/)
      expect(names!.split(',')).toContain('event_id')
      expect(rows).toHaveLength(count)
      expect(rows.some((row) => row.includes(ELECTION))).toBe(true)
    })
  })

  it('zooms, and its address has the span', async () => {
    await visit(`/event/venueb/${ELECTION}`, {}, async (page) => {
      await page.locator('.event-page[data-loaded="yes"] .event-chart canvas').waitFor()
      const area = page.locator('.event-chart .scrub-area')
      const box = (await area.boundingBox())!
      await page.mouse.move(box.x + box.width / 2, box.y + 60)
      expect(await page.locator('.event-chart .readout').innerText()).toContain('Ann')
      await page.mouse.wheel(0, -600)
      await page.waitForURL(/from=.*&to=/)
      const span = await page.locator('.exact-range summary').innerText()
      await page.getByRole('button', { name: 'Copy a link to this view' }).click()
      const link = await copiedText(page, /^http.*from=.*&to=/)
      await page.goto(link)
      await page.locator('.event-page[data-loaded="yes"] .event-chart canvas').waitFor()
      expect(await page.locator('.exact-range summary').innerText()).toBe(span)
      await page.getByRole('button', { name: 'Recorded' }).click()
      await page.waitForURL((address) => address.search === '')
    })
  })
})
