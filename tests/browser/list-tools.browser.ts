import { beforeAll, describe, expect, it } from 'vitest'
import { after, ROUND } from '../api/contracts-tape.ts'
import { ApiReader } from './api-reader.ts'
import { exported } from './exported.ts'
import { servedVisits } from './served-visits.ts'

const { url, key, visit } = servedVisits('serve-contracts.ts', {
  withKey: true,
  prepare: (page) => page.clock.setFixedTime(new Date(after(120) / 1000)),
})

let api: ApiReader
beforeAll(() => {
  api = new ApiReader(url(), key())
})

const AT = new Date(after(60) / 1000).toISOString()

describe('a list', () => {
  it.each([
    ['/contracts', '/v3/contracts?limit=1000', 'id'],
    ['/markets', '/v3/markets?status=open&limit=1000', 'market_id'],
  ])('is exported from %s as a table of everything that matches', async (path, route, column) => {
    await visit(path, {}, async (page) => {
      const head = page.locator('.page-head')
      await head.getByText('Export').waitFor()
      const [names, ...rows] = (await exported(page, head, 'csv')).trim().split(/\r?\n/)
      expect(names!.split(',')).toContain(column)
      const all = (await api.get(route)) as Record<string, string>[]
      expect(all.length).toBeGreaterThan(0)
      expect(rows).toHaveLength(all.length)
      for (const one of all) expect(rows.some((row) => row.includes(one[column]!))).toBe(true)
    })
  })
})

describe('the filters of markets', () => {
  it('stand in one row on a wide screen', async () => {
    await visit('/markets', {}, async (page) => {
      await page.locator('.filters').waitFor()
      const tops = await page
        .locator('.filters label')
        .evaluateAll((labels) => labels.map((label) => label.getBoundingClientRect().top))
      expect(tops.length).toBeGreaterThan(6)
      expect(new Set(tops).size).toBe(1)
    })
  })
})

describe('the page of a contract', () => {
  it('exports the books and the consolidated book of its instant', async () => {
    await visit(`/contracts/${ROUND}?t=${AT}`, {}, async (page) => {
      await page.locator('.compare-page[data-loaded="yes"]').waitFor()
      for (const [title, route] of [
        ['Order books', 'books'],
        ['All venues together, after fees', 'consolidated'],
      ] as const) {
        const panel = page.getByRole('region', { name: title })
        const saved = JSON.parse(await exported(page, panel, 'json')) as {
          data: Record<string, unknown>
        }
        const query = route === 'books' ? 'depth=8' : 'depth=8&side=buy&size=100'
        const address = `/v3/contracts/${ROUND}/${route}?at=${AT}&${query}&number_format=string`
        expect(saved.data).toEqual(await api.get(address))
      }
    })
  })

  it('lines up the sizes of the consolidated book, each venue inside its row', async () => {
    await visit(`/contracts/${ROUND}?t=${AT}`, {}, async (page) => {
      await page.locator('.compare-page[data-loaded="yes"]').waitFor()
      const rows = page.locator('.net-levels tbody tr')
      const sizes = await rows.locator('td:nth-child(3)').allInnerTexts()
      expect(sizes.length).toBeGreaterThan(5)
      expect(new Set(sizes.map((text) => text.split('.')[1]?.length ?? 0)).size).toBe(1)
      const outside = await rows.evaluateAll(
        (all) =>
          all.filter((row) => {
            const [own, tag] = [row, row.querySelector('.venue-tag')!].map((one) =>
              one.getBoundingClientRect(),
            )
            const letter = document.createRange()
            letter.selectNodeContents(row.querySelector('.venue-tag span')!)
            const text = letter.getBoundingClientRect()
            const isIn = tag!.top >= own!.top - 0.5 && tag!.bottom <= own!.bottom + 0.5
            const middle = (box: DOMRect): number => (box.top + box.bottom) / 2
            return !isIn || Math.abs(middle(text) - middle(tag!)) > 1.5
          }).length,
      )
      expect(outside).toBe(0)
    })
  })

  it('sorts members by their prices, and edges by how long they lasted', async () => {
    await visit(`/contracts/${ROUND}?t=${AT}`, {}, async (page) => {
      await page.locator('.compare-page[data-loaded="yes"]').waitFor()
      const members = page.getByRole('region', { name: 'Members' })
      const path = `/v3/contracts/${ROUND}/consolidated?at=${AT}`
      const prices = (await api.get(path)) as {
        readonly members: readonly { readonly venue: string; readonly net_ask: number }[]
      }
      const byAsk = prices.members.toSorted((a, b) => b.net_ask - a.net_ask)
      const head = members.getByRole('columnheader', { name: 'Net ask' })
      const venues = () =>
        members
          .locator('tbody tr')
          .evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset['venue']))
      await head.getByRole('button').click()
      await expect.poll(() => head.getAttribute('aria-sort')).toBe('descending')
      expect(await venues()).toEqual(byAsk.map(({ venue }) => venue))
      await head.getByRole('button').click()
      await expect.poll(venues).toEqual(byAsk.map(({ venue }) => venue).toReversed())
      const spreads = (await api.get(`/v3/contracts/${ROUND}/spreads`)) as {
        duration_ms: number
        ended_by: string
      }[]
      const edges = page.getByRole('region', { name: 'Edges' }).first()
      const lasted = edges.getByRole('columnheader', { name: 'Lasted' })
      const cells = () => edges.locator('tbody tr td:nth-child(3)').allInnerTexts()
      const before = await cells()
      expect(before).toHaveLength(spreads.length)
      await lasted.getByRole('button').click()
      await expect.poll(() => lasted.getAttribute('aria-sort')).toBe('descending')
      const down = await cells()
      await lasted.getByRole('button').click()
      await expect.poll(cells).toEqual(down.toReversed())
      expect(down.toSorted()).toEqual(before.toSorted())
    })
  })
})
