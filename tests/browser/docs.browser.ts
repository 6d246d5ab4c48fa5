import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { toPython } from '../../packages/web/src/model/snippet.ts'
import { ApiReader } from './api-reader.ts'
import { emulatedVisits } from './emulated-visits.ts'
import { accessibilityProblems } from './visitor.ts'

// The browser says on its console too what was refused.
const { service, market, visit } = emulatedVisits(5, (error) => /status of 40[01]/.test(error))

// The part of the page about one route, with its form open.
async function openForm(page: Page, id: string): Promise<Locator> {
  const section = page.locator(`section#${id}`)
  await section.getByText('Parameters and try it').click()
  return section
}

type Shown = {
  readonly status: string
  readonly curl: string
  readonly python: string
  readonly body: string
}

// The status line and the body that a route answered with.
async function send(section: Locator): Promise<Shown> {
  await section.getByRole('button', { name: 'Send' }).click()
  return readAnswer(section)
}

async function readAnswer(section: Locator): Promise<Shown> {
  const out = section.locator('button + div')
  await out.locator('> pre').nth(1).waitFor()
  return {
    status: await out.locator('p').innerText(),
    curl: await out.locator('> pre').nth(0).innerText(),
    python: (await out.locator('details pre').textContent()) ?? '',
    body: await out.locator('> pre').nth(1).innerText(),
  }
}

// What a shell prints that runs a command which the page shows.
function runCommand(command: string, key: string): string {
  const env = { ...process.env, PRIORBOOK_KEY: key }
  return execFileSync('sh', ['-c', `${command} -sS`], { env, encoding: 'utf8' })
}

// Runs a program that the page shows with a stand-in for the package, which prints what it was asked for.
const STAND_IN = `
import json, sys, types

def answer(method):
    def ask(url, headers=None, content=None):
        print(json.dumps({"method": method, "url": url, "headers": headers, "content": content}))
        return types.SimpleNamespace(raise_for_status=lambda: None, text="")
    return ask

package = types.ModuleType("httpx")
for method in ("get", "post", "delete"):
    setattr(package, method, answer(method))
sys.modules["httpx"] = package
exec(sys.stdin.read())
`

function runPython(program: string, key: string): unknown {
  const env = { ...process.env, PRIORBOOK_KEY: key }
  const options = { env, input: program, encoding: 'utf8' } as const
  return JSON.parse(execFileSync('python3', ['-c', STAND_IN], options).trim())
}

type Listed = { readonly alert_id: string; readonly rule: object }

async function listAlerts(key: string): Promise<Listed[]> {
  return (await new ApiReader(service().url, key).get('/v3/alerts')) as Listed[]
}

describe('/docs', () => {
  it('shows every route of the document with its parameters and examples', async () => {
    const answer = await fetch(`${service().url}/v3/openapi.json`)
    const document = (await answer.json()) as {
      paths: Record<string, Record<string, { operationId: string; requestBody?: object }>>
    }
    await visit('/docs', {}, async (page) => {
      await page.locator('#routes section').first().waitFor()
      const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      )
      expect(routes).toEqual(
        expect.arrayContaining(['POST /v3/alerts', 'DELETE /v3/alerts/{alert_id}']),
      )
      const shown = await page.locator('#routes section .path').allInnerTexts()
      expect(shown.toSorted()).toEqual(routes.toSorted())
      expect(await page.locator('nav#nav a').count()).toBe(routes.length)
      const examples = page.getByText('Example of data')
      expect(await examples.count()).toBeGreaterThan(20)
      await examples.first().click()
      expect(await page.locator('details[open] pre').first().innerText()).toContain('{')
      // Every operation has an example of a request, and its body where it takes one.
      const operations = Object.values(document.paths).flatMap((one) => Object.values(one))
      for (const { operationId, requestBody } of operations) {
        const section = page.locator(`section#${operationId}`)
        const request = section.locator('details', { hasText: 'Example request' }).locator('pre')
        const text = await request.textContent()
        expect(text).toMatch(/^curl 'http:[^'{}]+'/)
        expect(text!.includes("-d '{")).toBe(requestBody !== undefined)
      }
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
      expect(curl).toContain('-H "Authorization: Bearer $PRIORBOOK_KEY"')
      expect(curl).not.toContain(key)
      expect(JSON.parse(runCommand(curl, key))).toEqual(JSON.parse(body))
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

  it('creates an alert, tests it and deletes it, the last only after a question', async () => {
    const key = service().keyOf('desk')
    await visit('/docs', {}, async (page) => {
      await page.getByRole('textbox', { name: 'Key' }).fill(key)
      const rule = await expectCreated(page, key)
      const [made] = await listAlerts(key)
      expect(made!.rule).toEqual(rule)
      const id = made!.alert_id
      const test = await openForm(page, 'alert_test')
      await test.getByLabel('alert_id').fill(id)
      const tested = await send(test)
      expect(tested.status).toMatch(/^200 /)
      expect(JSON.parse(tested.body)).toMatchObject({
        data: { number: 1, event: { kind: 'test', alert_id: id } },
      })
      await expectDeleted(page, key, id)
      const shown = await page.locator('pre').allTextContents()
      expect(shown.join()).toContain('PRIORBOOK_KEY')
      expect(shown.join()).not.toContain(key)
    })
  })

  it('shows why an alert is refused: without a key, and with a body that is not JSON', async () => {
    const key = service().keyOf('desk')
    await visit('/docs', {}, async (page) => {
      const section = await openForm(page, 'alert_create')
      await section.getByText('Needs a key').waitFor()
      expect(JSON.parse((await send(section)).body)).toMatchObject({ code: 'missing_key' })
      await page.getByRole('textbox', { name: 'Key' }).fill(key)
      await section.getByLabel('Body, as JSON').fill('{"kind":')
      const { status, body } = await send(section)
      expect(status).toMatch(/^400 /)
      expect(JSON.parse(body)).toMatchObject({ status: 400, code: 'invalid_parameter' })
      expect(await listAlerts(key)).toEqual([])
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
        const heading = await page.locator('.guide h1').innerText()
        await expect.poll(() => page.title()).toBe(`${heading} · Priorbook`)
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

  it.each([
    [1440, 'light'],
    [390, 'dark'],
  ] as const)(
    'has forms of changes that everybody can use, %i wide in %s',
    async (width, scheme) => {
      await visit('/docs#alert_create', { width, scheme }, async (page) => {
        const section = await openForm(page, 'alert_create')
        await section.getByText('Members of the body').click()
        await section.getByText('Example request').click()
        await screenshot(page, `docs-create-${scheme}-${width}.png`)
        const remove = await openForm(page, 'alert_delete')
        await remove.getByRole('button', { name: 'Send DELETE' }).click()
        await remove.getByRole('alert').waitFor()
        await screenshot(page, `docs-missing-${scheme}-${width}.png`)
        expect(await accessibilityProblems(page)).toEqual([])
        await remove.getByLabel('alert_id').fill('alert_0123456789ab')
        await remove.getByRole('button', { name: 'Send DELETE' }).click()
        await page.getByRole('dialog', { name: 'Send DELETE?' }).waitFor()
        await screenshot(page, `docs-delete-${scheme}-${width}.png`)
        expect(await accessibilityProblems(page)).toEqual([])
        const spill = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        expect(spill).toBe(0)
      })
    },
  )
})

async function screenshot(page: Page, name: string): Promise<void> {
  const target = process.env['PRIORBOOK_SCREENSHOTS']
  if (target !== undefined) await page.screenshot({ path: join(target, name) })
}

/** Creates a rule by the form; what the page shows to copy sends the same request. */
async function expectCreated(page: Page, key: string): Promise<object> {
  const section = await openForm(page, 'alert_create')
  const rule = {
    kind: 'resolved',
    name: 'it\'s "over"\\ – ✓',
    venue: 'venueb',
    market_id: market().market_id,
    webhook: 'https://receiver.invalid/hook',
  }
  await section.getByLabel('Body, as JSON').fill(JSON.stringify(rule, null, 2))
  const { status, curl, python, body } = await send(section)
  expect(status).toMatch(/^200 /)
  const { data } = JSON.parse(body) as { data: { rule: object; secret: string } }
  expect(data.rule).toEqual(rule)
  expect(data.secret).toMatch(/^whsec_[\w+/]{20,}/)
  expect(curl).not.toContain(key)
  const again = JSON.parse(runCommand(curl, key)) as { data: { alert_id: string; rule: object } }
  expect(again.data.rule).toEqual(rule)
  expect(await listAlerts(key)).toHaveLength(2)
  await fetch(`${service().url}/v3/alerts/${again.data.alert_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  })
  expect(runPython(python, key)).toEqual({
    method: 'post',
    url: `${service().url}/v3/alerts`,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    content: JSON.stringify(rule, null, 2),
  })
  return rule
}

/** A rule goes only where its id was given and the question was answered. */
async function expectDeleted(page: Page, key: string, id: string): Promise<void> {
  const section = await openForm(page, 'alert_delete')
  const press = () => section.getByRole('button', { name: 'Send DELETE' }).click()
  const field = section.getByLabel('alert_id')
  await press()
  expect(await section.getByRole('alert').innerText()).toBe('alert_id is missing.')
  expect(await field.evaluate((one) => one === document.activeElement)).toBe(true)
  await field.fill(id)
  const dialog = page.getByRole('dialog', { name: 'Send DELETE?' })
  await press()
  expect(await dialog.innerText()).toContain(`DELETE /v3/alerts/${id}`)
  const keep = dialog.getByRole('button', { name: 'Keep it' })
  expect(await keep.evaluate((one) => one === document.activeElement)).toBe(true)
  await keep.click()
  await dialog.waitFor({ state: 'detached' })
  await press()
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect((await listAlerts(key)).map((one) => one.alert_id)).toEqual([id])
  await press()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  const { status, curl, python, body } = await readAnswer(section)
  expect(status).toMatch(/^200 /)
  expect(JSON.parse(body)).toMatchObject({ data: { alert_id: id } })
  expect(await listAlerts(key)).toEqual([])
  expect(JSON.parse(runCommand(curl, key))).toMatchObject({ code: 'unknown_alert' })
  expect(runPython(python, key)).toMatchObject({
    method: 'delete',
    url: `${service().url}/v3/alerts/${id}`,
    content: null,
  })
}
