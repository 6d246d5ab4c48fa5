import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { ApiReader } from './api-reader.ts'
import { instantOf, shownInstant } from './compared.ts'
import { emulatedVisits } from './emulated-visits.ts'

// Rounds of fifteen minutes last 45 seconds here, so that some end while they are looked at.
const { service, visit } = emulatedVisits(50, () => false, ['--speed', '20'])

const reader = () => new ApiReader(service().url)

type Contract = {
  readonly id: string
  readonly status: string
  readonly closes: string
  readonly members: readonly { readonly winning_outcome: string | null }[]
}

// The first contract of all three venues that has a status.
async function untilContract(status: string, leastMs = 20_000): Promise<Contract> {
  for (;;) {
    const path = `/v3/contracts?status=${status}&members=3&limit=50`
    const found = (await reader().get(path)) as Contract[]
    const one = found.find(({ closes, members }) =>
      status !== 'open'
        ? members.every((member) => member.winning_outcome !== null)
        : Date.parse(closes) - Date.now() > leastMs,
    )
    if (one !== undefined) return one
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

const loaded = (page: Page): Promise<void> =>
  page.locator('.compare-page[data-loaded="yes"]').waitFor()
const linkTime = (micros: string): string =>
  `${new Date(Number(micros.slice(0, -3))).toISOString().slice(0, -1)}${micros.slice(-3)}Z`

describe('a contract that is open', () => {
  it('is read again and again, and is always of one instant', async () => {
    const { id } = await untilContract('open', 35_000)
    await visit(`/contracts/${id}`, {}, async (page) => {
      await loaded(page)
      await page.locator('.compare-head .l-polling').waitFor()
      const seen = new Set<string>()
      while (seen.size < 3) {
        const shown = await shownInstant(page)
        if (seen.has(shown.at!)) {
          await page.waitForTimeout(200)
          continue
        }
        seen.add(shown.at!)
        expect(shown).toEqual(await instantOf(reader(), id, linkTime(shown.at!)))
      }
      expect(await page.evaluate(() => location.search)).toBe('')
    })
  })

  it('ends on the page when it closes, and keeps the last instant before', async () => {
    const { id, closes } = await untilContract('open')
    await visit(`/contracts/${id}`, {}, async (page) => {
      await loaded(page)
      await page.locator('.compare-head .l-ended').waitFor({ timeout: 90_000 })
      await page.locator('.compare-head').getByText('Winner').waitFor({ timeout: 90_000 })
      const last = Date.parse(closes) * 1000 - 1
      await expect.poll(async () => (await shownInstant(page)).at).toBe(String(last))
      expect(await shownInstant(page)).toEqual(await instantOf(reader(), id, linkTime(`${last}`)))
    })
  })
})

describe('a replay of all members', () => {
  it('moves the three books together, each instant as the interface answers it', async () => {
    const { id } = await untilContract('resolved')
    await visit(`/contracts/${id}`, {}, async (page) => {
      await loaded(page)
      await page.locator('.compare-head .l-ended').waitFor()
      // Slow enough that it does not end by itself.
      await page.getByLabel('Speed').selectOption('2')
      await page.getByRole('button', { name: 'Play' }).click()
      await page.locator('.compare-head .l-replay').waitFor()
      const shown = await page.evaluate(watchInstants, 4000)
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.locator('.compare-head .l-past').waitFor()
      const search = await page.evaluate(() => new URL(location.href).searchParams.get('t'))
      await expect.poll(async () => linkTime((await shownInstant(page)).at ?? '0000')).toBe(search)
      expect(shown.length).toBeGreaterThan(5)
      for (const { at, clock, labels, rows } of shown) {
        // Demonstration data have a limit of requests per second.
        await new Promise((resolve) => setTimeout(resolve, 40))
        expect(labels).toEqual([clock.slice(11), clock.slice(11), clock.slice(11)])
        const path = `/v3/contracts/${id}/books?at=${linkTime(at)}`
        const { members } = (await reader().get(path)) as {
          members: readonly { readonly row_id: string | null }[]
        }
        expect(rows).toEqual(members.map(({ row_id: row }) => row ?? ''))
      }
    })
  })
})

// Runs in the page: every instant that is shown in some milliseconds, with its labels and rows.
function watchInstants(ms: number) {
  type Shown = { at: string; clock: string; labels: string[]; rows: string[] }
  return new Promise<Shown[]>((resolve) => {
    const all = (selector: string): HTMLElement[] => [
      ...document.querySelectorAll<HTMLElement>(selector),
    ]
    const shown = new Map<string, Shown>()
    const started = performance.now()
    const look = (now: number): void => {
      const at = all('.compare-books')[0]?.dataset['at'] ?? ''
      if (at !== '') {
        shown.set(at, {
          at,
          clock: all('time.clock')[0]!.textContent,
          labels: all('.compare-page time.at').map((one) => one.textContent),
          rows: all('.cbook').map((one) => one.dataset['row'] ?? ''),
        })
      }
      if (now - started < ms) requestAnimationFrame(look)
      else resolve([...shown.values()].slice(1))
    }
    requestAnimationFrame(look)
  })
}

describe('the start page', () => {
  it('has a card of a contract that is not decided, and another one when it closes', async () => {
    await visit('/', {}, async (page) => {
      const link = page.locator('.contract-card .featured-title a')
      const idOf = async (): Promise<string> =>
        (await link.getAttribute('href'))!.replace('/contracts/', '')
      const isOpen = async (id: string): Promise<boolean> => {
        const { closes, status } = (await reader().get(`/v3/contracts/${id}`)) as Contract
        return status === 'open' && Date.parse(closes) > Date.now()
      }
      await link.waitFor()
      // The card keeps a contract to its last moment.
      let first = ''
      await expect.poll(async () => isOpen((first = await idOf()))).toBe(true)
      await page.locator('.contract-card .compare-chart[data-ready="yes"]').waitFor()
      await page.locator('.contract-card .bid [data-exact]').first().waitFor()
      await page.waitForFunction(
        (id) => {
          const shown = document.querySelector('.contract-card .featured-title a')
          return shown !== null && shown.getAttribute('href') !== `/contracts/${id}`
        },
        first,
        { timeout: 90_000 },
      )
      let second = ''
      await expect.poll(async () => isOpen((second = await idOf()))).toBe(true)
      expect(second).not.toBe(first)
      await link.click()
      await page.waitForURL(new RegExp(`/contracts/${second}`))
    })
  })
})
