import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { ApiReader, placeOf } from './api-reader.ts'
import { emulatedVisits } from './emulated-visits.ts'

// Rounds of fifteen minutes last 45 seconds here, so that some have ended.
const { service, visit } = emulatedVisits(20, () => false, ['--speed', '20'])

const reader = () => new ApiReader(service().url)
const linkWord = (page: Page) => page.locator('.market-head .link-word')

describe('a market that has ended', () => {
  it.each(['venuea', 'venueb', 'venuec'])(
    'is shown as ended on %s, with its winner',
    async (venue) => {
      const market = await reader().untilResolved(venue, 50)
      await visit(placeOf(market), {}, async (page) => {
        const facts = page.locator('.head-facts')
        await facts.getByText('Winner').waitFor()
        expect(await facts.innerText()).toMatch(new RegExp(`Winner\\s+${market.winning_outcome}`))
        expect(await facts.innerText()).toMatch(/Closed\s+\d{4}-\d\d-\d\d/)
        expect(await facts.locator('.bid').innerText()).toBe('–')
        await page.locator('.market-head .l-ended').waitFor()
        expect(await page.locator('.live-button.on').count()).toBe(0)
        // It had no book any more: that is a state, not a gap.
        const books = page.locator('.no-book')
        await expect.poll(() => books.count()).toBe(2)
        for (const text of await books.allInnerTexts()) {
          expect(text).toContain('The market has closed')
          expect(text).toContain(`${market.winning_outcome} won.`)
          expect(text).not.toContain('Gap')
        }
        const gaps = page.getByRole('region', { name: 'Gaps' })
        expect(await gaps.innerText()).not.toContain('market closed')
      })
    },
  )

  it('has its own time on the axes of a link into its past', async () => {
    const market = await reader().untilResolved('venueb', 50)
    const { first_time: first, last_time: last } = market.coverage
    const [from, to] = [
      Date.parse(first),
      Math.max(Date.parse(last), Date.parse(market.close_time)),
    ]
    // A market that was recorded for a moment is drawn on half a minute.
    const end = Math.max(to, from + 30_000)
    // Long after its end, as whoever follows a link.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, to + 20_000 - Date.now())))
    const at = Math.round(from + (to - from) / 2)
    await visit(`${placeOf(market)}?t=${new Date(at).toISOString()}`, {}, async (page) => {
      const canvas = page.locator('.heatmap canvas[data-ready="yes"]')
      await canvas.waitFor()
      await page.locator('.ladder[data-sequence]').first().waitFor()
      const [shownFrom, shownTo] = await canvas.evaluate((element) => {
        const { from: left = '', to: right = '' } = (element as HTMLElement).dataset
        return [Number(left) / 1000, Number(right) / 1000]
      })
      expect(Math.abs(shownFrom - from)).toBeLessThan(1000)
      expect(Math.abs(shownTo - end)).toBeLessThan(1000)
      const line = page.locator('.heatmap .cursor-line')
      const place = await line.evaluate((element) => {
        const width = element.closest('.chart')!.clientWidth
        return (
          (element.getBoundingClientRect().left -
            element.closest('.chart')!.getBoundingClientRect().left -
            46) /
          (width - 56)
        )
      })
      expect(await line.evaluate((element) => getComputedStyle(element).visibility)).toBe('visible')
      expect(place).toBeCloseTo((at - from) / (end - from), 1)
      const slider = Number(await page.getByLabel('Time shown').inputValue())
      expect(slider / 10_000).toBeCloseTo((at - from) / (to - from), 1)
    })
  })
})

describe('the word for the time that a page shows', () => {
  it('is live at the present only', async () => {
    const market = await reader().untilLasting('venueb', 20, 30_000)
    await visit(placeOf(market), {}, async (page) => {
      await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
      await page.locator('.market-head .l-live').waitFor()
      await slideTo(page, 1000)
      await page.locator('.market-head .l-past').waitFor()
      expect(await linkWord(page).innerText()).toContain('past')
      expect(await page.locator('.l-live').count()).toBe(0)
      await page.getByRole('button', { name: 'Play' }).click()
      await page.locator('.market-head .l-replay').waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.locator('.market-head .l-past').waitFor()
      await page.getByRole('button', { name: /Live|Latest/ }).click()
      await page.locator('.market-head .l-live, .market-head .l-ended').waitFor()
    })
  })
})

/** Waits until the page has drawn what was done. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(resolve))
      }),
  )
}

async function slideTo(page: Page, value: number): Promise<void> {
  await page.getByLabel('Time shown').evaluate((element, place) => {
    const input = element as HTMLInputElement
    input.value = String(place)
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }, value)
}

type Mismatch = { readonly [name: string]: string }

describe('a replay at ten times its pace', () => {
  it('never shows two instants at once', async () => {
    const market = await reader().untilResolved('venueb', 300)
    await visit(placeOf(market), {}, async (page) => {
      await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
      await page.getByLabel('Speed').selectOption('10')
      let [frames, books] = [0, 0]
      let instant: string | undefined
      // A busy machine shows few books of a replay, so it is played up to five times.
      for (let plays = 0; plays < 5 && (frames <= 30 || books <= 20); plays++) {
        const before = await clockOf(page)
        await slideTo(page, 300)
        await drawn(page)
        // Until the books of the instant are there, the page shows those from before as such.
        await page.waitForFunction(showsItsInstant, { before, instant })
        // The market has ended, so that the slider leads to the same instant again.
        instant ??= await clockOf(page)
        await page.getByRole('button', { name: 'Play' }).click()
        const seen = await page.evaluate(watchFrames, 3000)
        const { wrong } = seen
        expect({ wrong: wrong.slice(0, 3), count: wrong.length }).toEqual({ wrong: [], count: 0 })
        frames += seen.frames
        books += seen.books
        // It ends by itself meanwhile, or goes on; both ways it stands still at an instant then.
        await page
          .getByRole('button', { name: 'Pause' })
          .click({ timeout: 500 })
          .catch(() => null)
        await page.getByRole('button', { name: 'Play' }).waitFor()
      }
      expect(frames).toBeGreaterThan(30)
      expect(books).toBeGreaterThan(20)
    })
  })
})

describe('a replay that begins while the books of its instant are on their way', () => {
  it('never goes back to them', async () => {
    const market = await reader().untilResolved('venueb', 300)
    await visit(placeOf(market), {}, async (page) => {
      await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
      await page.getByLabel('Speed').selectOption('10')
      await page.route('**/orderbook?*', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 700))
        await route.continue()
      })
      const shown = page.evaluate(watchSequences, 5000)
      await slideTo(page, 300)
      await page.getByRole('button', { name: 'Play' }).click()
      await page.getByRole('button', { name: 'Pause' }).waitFor()
      const sequences = await shown
      // The market has ended, so there is no book before those of the replay.
      expect(sequences.length).toBeGreaterThan(5)
      expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
      await page.unrouteAll({ behavior: 'wait' })
    })
  })
})

function clockOf(page: Page): Promise<string> {
  return page.locator('time.clock').innerText()
}

// Runs in the page: whether its books are those of the instant that the slider was moved to, which is on its clock then: another
// one than before, or the one known from the first time. A busy page marks books from before only after a while.
function showsItsInstant(time: { before: string; instant: string | undefined }): boolean {
  const ladder = document.querySelector<HTMLElement>(
    '.ladders:not(.seeking) .ladder[data-sequence]',
  )
  const clock = document.querySelector('time.clock')?.textContent ?? ''
  const isThere = time.instant === undefined ? clock !== time.before : clock === time.instant
  const shown = Date.parse(clock.replace(' UTC', 'Z').replace(' ', 'T'))
  return (
    isThere && ladder !== null && Math.floor(Number(ladder.dataset['received']) / 1000) <= shown
  )
}

// Runs in the page: the numbers of the books that are on it one after another.
function watchSequences(ms: number): Promise<number[]> {
  return new Promise((resolve) => {
    const seen: number[] = []
    const started = performance.now()
    const turn = (now: number): void => {
      const ladder = document.querySelector<HTMLElement>('.ladder[data-sequence]')
      const sequence = Number(ladder?.dataset['sequence'])
      if (ladder !== null && sequence !== seen.at(-1)) seen.push(sequence)
      if (now - started < ms) requestAnimationFrame(turn)
      else resolve(seen)
    }
    requestAnimationFrame(turn)
  })
}

// Runs in the page: looks at everything that names an instant or a price, frame by frame.
function watchFrames(ms: number): Promise<{ frames: number; books: number; wrong: Mismatch[] }> {
  return new Promise((resolve) => {
    const text = (selector: string): string =>
      document.querySelector<HTMLElement>(selector)?.textContent ?? ''
    const wrong: Mismatch[] = []
    const seen = new Set<string>()
    let frames = 0
    const started = performance.now()
    const look = (): void => {
      const [yes, no] = [...document.querySelectorAll<HTMLElement>('.ladder')]
      const first = yes?.dataset['sequence']
      const second = no?.dataset['sequence']
      if (first === undefined || second === undefined) return
      frames++
      seen.add(first)
      const bid = Number(yes!.querySelector('.bids .price')?.textContent ?? '0')
      const ask = Number(no!.querySelector('.asks li:last-child .price')?.textContent ?? '1')
      const head = Number(text('.head-facts .bid').replace('–', '0'))
      const clock = Date.parse(text('time.clock').replace(' UTC', 'Z').replace(' ', 'T'))
      const received = Math.floor(Number(yes!.dataset['received']) / 1000)
      const foot = text('.ladder-foot')
      const isOne =
        first === second &&
        Math.abs(bid + ask - 1) < 1e-9 &&
        head === bid &&
        clock >= received &&
        foot.startsWith(`#${first} `)
      if (!isOne) {
        const shown = { first, second, bid, ask, head, clock, received, foot }
        wrong.push(
          Object.fromEntries(Object.entries(shown).map(([name, one]) => [name, String(one)])),
        )
      }
    }
    const turn = (now: number): void => {
      // After the frame's own work, when it has been painted.
      setTimeout(look)
      if (now - started < ms) requestAnimationFrame(turn)
      else resolve({ frames, books: seen.size, wrong })
    }
    requestAnimationFrame(turn)
  })
}
