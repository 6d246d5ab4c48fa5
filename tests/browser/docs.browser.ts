import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { toPython } from '../../packages/web/src/model/snippet.ts'
import { emulatedVisits } from './emulated-visits.ts'
import { accessibilityProblems } from './visitor.ts'

// The browser says on its console too what was refused.
const { service, market, visit } = emulatedVisits(5, (error) => error.includes('status of 400'))

// The part of the page about one route, with its form open.
async function openForm(page: Page, id: string): Promise<Locator> {
  const section = page.locator(`section#${id}`)
  await section.getByText('Parameters and try it').click()
  return section
}

// The status line and the body that a route answered with.
async function send(section: Locator): Promise<{
  readonly status: string
  readonly curl: string
  readonly python: string
  readonly body: string
}> {
  await section.getByRole('button', { name: 'Send' }).click()
  const out = section.locator('button + div')
  await out.locator('> pre').nth(1).waitFor()
  return {
    status: await out.locator('p').innerText(),
    curl: await out.locator('> pre').nth(0).innerText(),
    python: (await out.locator('details pre').textContent()) ?? '',
    body: await out.locator('> pre').nth(1).innerText(),
  }
}

describe('/docs', () => {
  it('shows every route of the document with its parameters and examples', async () => {
    const answer = await fetch(`${service().url}/v3/openapi.json`)
    const document = (await answer.json()) as {
      paths: Record<string, { get: { summary: string } }>
    }
    await visit('/docs', {}, async (page) => {
      await page.locator('#routes section').first().waitFor()
      const routes = Object.entries(document.paths).map(([path]) => `GET ${path}`)
      const shown = await page.locator('#routes section .path').allInnerTexts()
      expect(shown.toSorted()).toEqual(routes.toSorted())
      expect(await page.locator('nav#nav a').count()).toBe(routes.length)
      const examples = page.getByText('Example of data')
      expect(await examples.count()).toBeGreaterThan(20)
      await examples.first().click()
      expect(await page.locator('details[open] pre').first().innerText()).toContain('{')
    })
  })

  it('tries a route on the demonstration data without a key', async () => {
    await visit('/docs', {}, async (page) => {
      const section = await openForm(page, 'venueb_snapshots')
      await section.getByLabel('market_ticker').fill(market().market_id)
      await section.getByLabel('include_orderbook').selectOption('true')
      await section.getByLabel('limit', { exact: true }).fill('2')
      const { status, curl, python, body } = await send(section)
      expect(status).toMatch(/^200 · \d+ ms · \d+ characters · [\w-]+/)
      const [, url = ''] = /'(http[^']+)'/.exec(curl) ?? []
      expect(python).toBe(toPython({ url, code: '' }))
      expect(curl).toContain(`/v3/demo/venueb/${market().market_id}/snapshots?`)
      const { data } = JSON.parse(body) as { data: object[] }
      expect(data).toHaveLength(2)
      expect(data[0]).toMatchObject({
        market_id: market().market_id,
        bids: { price: expect.any(Array) },
      })
    })
  })

  it('tries a route with a key, which is nowhere in what it shows to copy', async () => {
    const key = service().keyOf('desk')
    await visit('/docs', {}, async (page) => {
      await page.getByRole('textbox', { name: 'Key' }).fill(key)
      await page.getByLabel('demonstration data, no key').uncheck()
      const section = await openForm(page, 'whoami')
      const { status, curl, python, body } = await send(section)
      expect(status).toMatch(/^200 /)
      expect(curl).toContain("-H 'Authorization: Bearer $KEY'")
      expect(curl).not.toContain(key)
      const [, url = ''] = /'(http[^']+)'/.exec(curl) ?? []
      expect(python).toBe(toPython({ url, code: '' }))
      expect(body).toContain('"desk"')
      const kept = await page.evaluate(() =>
        JSON.stringify([localStorage, sessionStorage, document.cookie]),
      )
      expect(kept).not.toContain(key.slice(0, 20))
    })
  })

  it('shows what is wrong with a request', async () => {
    await visit('/docs', {}, async (page) => {
      const section = await openForm(page, 'venueb_snapshots')
      await section.getByLabel('market_ticker').fill(market().market_id)
      await section.getByLabel('limit', { exact: true }).fill('100000')
      const { status, body } = await send(section)
      expect(status).toMatch(/^400 /)
      expect(JSON.parse(body)).toMatchObject({ code: 'invalid_parameter', param: 'limit' })
    })
  })

  it('is inside the frame of the explorer, with its colours, its key and a section per venue', async () => {
    const key = service().keyOf('desk')
    await visit('/markets', { key }, async (page) => {
      const bar = () =>
        page
          .getByRole('navigation', { name: 'Main' })
          .getByRole('link')
          .evaluateAll((links) =>
            links.map((link) => [link.textContent, link.getAttribute('href')]),
          )
      await page.getByRole('heading', { level: 1, name: 'Markets' }).waitFor()
      const links = await bar()
      await page.getByRole('button', { name: 'Colours: auto. Change' }).click()
      await page.getByRole('button', { name: 'Colours: light. Change' }).click()
      await page.getByRole('link', { name: 'Docs', exact: true }).click()
      await page.locator('#routes section').first().waitFor()
      expect(await bar()).toEqual(links)
      expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark')
      expect(await page.getByRole('textbox', { name: 'Key' }).inputValue()).toBe(key)
      expect(await page.getByLabel('demonstration data, no key').isChecked()).toBe(false)
      const section = await openForm(page, 'whoami')
      expect((await send(section)).body).toContain('"desk"')
      const groups = await page.locator('#routes > section > h2').allInnerTexts()
      expect(groups).toEqual(expect.arrayContaining(['Venue A', 'Venue B', 'Venue C']))
      await page.getByRole('link', { name: 'Compare', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Compare contracts' }).waitFor()
      expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark')
    })
  })

  it('leads to the guides, which are those of the repository', async () => {
    const docs = join(import.meta.dirname, '../../docs')
    const files = globSync('{guide,reference,venues,formats,operate}/*.md', { cwd: docs })
    await visit('/docs', {}, async (page) => {
      await page.locator('#guides').getByRole('link', { name: 'backtest' }).click()
      await page.getByRole('heading', { level: 1, name: 'Backtest' }).waitFor()
      const shown = await page
        .locator('.guide-list a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')!))
      expect(shown.toSorted()).toEqual(
        files.map((file) => `/guides/${file.replace(/\.md$/, '')}`).toSorted(),
      )
      for (const name of ['guide/backtest', 'reference/gaps', 'operate/configuration']) {
        await page.goto(`/guides/${name}`)
        await page.locator('.guide h1').waitFor()
        const text = await page.locator('.guide').innerText()
        const source = readFileSync(join(docs, `${name}.md`), 'utf8')
        // Words between blanks are the same in the source and on the page.
        const words = source.replaceAll(/!\[[^\]]*\]\([^)]*\)|```\w*/g, '')
        for (const word of new Set(words.match(/(?<=\s)[a-z]{4,}(?=\s)/gi))) {
          expect([name, word, text.includes(word)]).toEqual([name, word, true])
        }
      }
      await page.goto('/guides/guide/nothing')
      await page.getByText('There is no such guide').waitFor()
    })
  })

  it.each([
    ['/docs', 1440, 'light'],
    ['/docs', 1440, 'dark'],
    ['/guides/guide/backtest', 1440, 'light'],
    ['/guides/guide/backtest', 390, 'dark'],
    ['/docs', 390, 'dark'],
    ['/docs/errors', 390, 'light'],
  ] as const)('%s can be read by everybody, %i wide in %s colours', async (path, width, scheme) => {
    await visit(path, { width, scheme }, async (page) => {
      if (path === '/docs') await page.locator('#routes section').first().waitFor()
      if (path.startsWith('/guides')) await page.locator('.guide h1').waitFor()
      const target = process.env['PRIORBOOK_SCREENSHOTS']
      if (target !== undefined) {
        const name = `${path.slice(1).replaceAll('/', '-')}-${scheme}-${width}.png`
        await page.screenshot({ path: join(target, name) })
      }
      expect(await accessibilityProblems(page)).toEqual([])
      const spill = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(spill).toBe(0)
    })
  })
})
