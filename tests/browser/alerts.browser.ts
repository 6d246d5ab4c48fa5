import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { CrossingWriter, INSTRUMENT } from '../api/crossing-writer.ts'
import { runCommand } from '../sdk/run-command.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { ApiReader } from './api-reader.ts'
import { accessibilityProblems, openBrowser, openVisitor, type Look } from './visitor.ts'

type Received = { readonly headers: Record<string, unknown>; readonly body: string }

let service: ServiceProcess
let store: Store
let writer: CrossingWriter
let browser: Browser
let receiver: Server
let hook: string
let status = 204
const received: Received[] = []

beforeAll(async () => {
  service = await createService(['--upstream', 'none', '--workers', '1'], undefined, {
    PRIORBOOK_ALERTS_ALLOW_NETWORKS: '127.0.0.0/8',
    PRIORBOOK_ALERTS_RETRY_MIN_MS: '50',
    PRIORBOOK_ALERTS_RETRY_MAX_MS: '100',
  })
  store = openEmbeddedStore({ file: join(service.data, 'tape.db') })
  writer = new CrossingWriter(store)
  await writer.begin()
  await service.start()
  receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (part) => (body += String(part)))
    request.on('end', () => {
      if (status < 300) received.push({ headers: request.headers, body })
      response.writeHead(status).end()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  receiver?.close()
  await service?.destroy()
  await store?.close()
})

type Listed = { readonly alert_id: string; readonly rule: object; readonly fired: number }

async function visit(path: string, look: Look, run: (page: Page) => Promise<void>) {
  const visitor = await openVisitor(browser, service.url, look)
  try {
    await visitor.page.goto(path)
    await run(visitor.page)
    // The browser writes every refused request to its console.
    expect(visitor.errors.filter((error) => !/status of 400/.test(error))).toEqual([])
  } finally {
    await visitor.close()
  }
}

const rules = (page: Page) => page.getByRole('region', { name: 'Your rules' })
const submit = (page: Page) => page.getByRole('button', { name: 'Create rule' }).click()
const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('id'))

/** The message below a field, which has the focus. */
async function errorAt(page: Page, label: string): Promise<string> {
  const field = page.getByLabel(label, { exact: true })
  await page.locator('.field-error').waitFor()
  expect(await page.locator('.field-error').count()).toBe(1)
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  // The focus follows the message.
  await expect.poll(() => focused(page)).toBe(await field.getAttribute('id'))
  const id = await field.getAttribute('aria-describedby')
  return page.locator(`[id="${id}"]`).innerText()
}

/** Creates a rule by the form, on the market of the test. */
async function create(page: Page, threshold: string, name: string): Promise<string> {
  await page.getByLabel('Threshold, from 0 to 1').fill(threshold)
  await page.getByLabel('Webhook address').fill(hook)
  await page.getByLabel('Name (optional)').fill(name)
  await submit(page)
  const secret = await page.locator('.secret-text').innerText()
  await rules(page).getByText(name).waitFor()
  return secret
}

const MARKET = `/alerts?venue=${INSTRUMENT.venue}&market=${INSTRUMENT.market}`

describe('the page of alerts', () => {
  it('says what alerts are where there are none, and that they need a key', async () => {
    await visit('/alerts', {}, async (page) => {
      await page.getByText('Alerts need a key').waitFor()
      expect(await page.locator('main').innerText()).toContain(
        'priorbook alert --venue venuec --asset btc',
      )
      expect(await page.locator('.alert-form').count()).toBe(0)
      expect(await accessibilityProblems(page)).toEqual([])
    })
    await visit('/alerts', { key: service.keyOf('quant') }, async (page) => {
      await rules(page).getByText('A rule can wait for a price').waitFor()
      expect(await rules(page).innerText()).toContain('0 of 50 in your plan')
    })
  })

  it('leads from a market to a rule, which fires, is delivered and is shown', async () => {
    const key = service.keyOf('desk')
    const api = new ApiReader(service.url, key)
    const list = async () => (await api.get('/v3/alerts')) as Listed[]
    await visit(`/market/${INSTRUMENT.venue}/${INSTRUMENT.market}`, { key }, async (page) => {
      await page.getByRole('link', { name: 'Alert me…' }).click()
      await page.waitForURL(new RegExp(`/alerts\\?venue=venueb&market=${INSTRUMENT.market}$`))
      await page.locator('.picked', { hasText: INSTRUMENT.market }).waitFor()
      // What the service says stands at its field.
      await submit(page)
      expect(await errorAt(page, 'Webhook address')).toBe('Webhook is missing.')
      await page.getByLabel('Webhook address').fill('http://10.0.0.1/hook')
      await submit(page)
      expect(await errorAt(page, 'Threshold, from 0 to 1')).toContain('is not a decimal from 0 on')
      await page.getByLabel('Threshold, from 0 to 1').fill('0.5')
      await submit(page)
      expect(await errorAt(page, 'Webhook address')).toContain('is not an address of https')
      expect(await list()).toEqual([])
      await page.getByLabel('Threshold, from 0 to 1').fill('0.5')
      await page.getByLabel('Name (optional)').fill("over 0.5, it's up")
      await page.getByLabel('Webhook address').fill(hook)
      const command = await page.locator('.same-command code').innerText()
      const secret = await create(page, '0.5', "over 0.5, it's up")
      await sameByCommand(command, key)
      const [made, commanded] = await list()
      expect(commanded!.rule).toEqual(made!.rule)
      await expectFired(page, made!.alert_id, secret)
      // The secret is not shown again.
      await page.getByRole('button', { name: 'I have kept it' }).click()
      expect(await page.content()).not.toContain(secret)
      await page.reload()
      await rules(page).locator('tbody tr').first().waitFor()
      expect(await page.content()).not.toContain(secret)
      await expectDeleted(page, commanded!.alert_id)
      expect((await list()).map(({ alert_id: id }) => id)).toEqual([made!.alert_id])
    })
  })

  it('sends a test, and shows why a delivery fails until it is taken', async () => {
    await visit(MARKET, { key: service.keyOf('desk') }, async (page) => {
      status = 503
      await create(page, '0.9', 'tested')
      await page.getByRole('button', { name: 'Test tested' }).click()
      const deliveries = page.getByRole('region', { name: 'Deliveries of “tested”' })
      const row = deliveries.locator('tbody tr')
      await row.getByText('pending').waitFor()
      await row.locator('td[data-head="Answer"]', { hasText: '503' }).waitFor()
      await rules(page).locator('.why').waitFor()
      const before = received.length
      status = 204
      await row.getByText('delivered').waitFor()
      await row.locator('td[data-head="Answer"]', { hasText: '204' }).waitFor()
      expect(received.slice(before).map(({ body }) => JSON.parse(body).kind)).toEqual(['test'])
      expect(await row.locator('th').innerText()).toBe('Test')
    })
  })

  it('finds a market by the keyboard alone', async () => {
    await visit('/alerts', { key: service.keyOf('desk') }, async (page) => {
      const field = page.getByRole('combobox', { name: 'Market' })
      await field.focus()
      await page.keyboard.type('zzqqxx')
      await page.getByText('Nothing matches.').waitFor()
      await field.fill('')
      await page.keyboard.type(INSTRUMENT.market.toLowerCase())
      await page.getByRole('option', { name: INSTRUMENT.market }).waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.picked', { hasText: INSTRUMENT.market }).waitFor()
      const change = page.getByRole('button', { name: 'Change market' })
      expect(await change.evaluate((one) => one === document.activeElement)).toBe(true)
      await page.keyboard.press('Enter')
      await field.waitFor()
      expect(await field.evaluate((one) => one === document.activeElement)).toBe(true)
    })
  })

  it.each([
    { scheme: 'light' },
    { scheme: 'dark' },
    { scheme: 'dark', width: 390, height: 844 },
  ] as const)('has no barrier for assistive technology: %o', async (look) => {
    await visit(MARKET, { ...look, key: service.keyOf('desk') }, async (page) => {
      await rules(page).getByText('A rule can wait').waitFor()
      await submit(page)
      await page.locator('.field-error').waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      await create(page, '0.9', 'read by everybody')
      await page.getByRole('button', { name: 'Test read by everybody' }).click()
      const deliveries = page.getByRole('region', { name: 'Deliveries of' })
      await deliveries.getByText('delivered').waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      const target = process.env['PRIORBOOK_SCREENSHOTS']
      const name = `alerts-${look.scheme}-${'width' in look ? look.width : 1440}.png`
      if (target !== undefined) await page.screenshot({ path: join(target, name), fullPage: true })
      await page.getByRole('button', { name: 'Delete read by everybody' }).click()
      await page.getByRole('dialog').waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
    })
  })
})

/** The command that the form shows makes the same rule. */
async function sameByCommand(command: string, key: string): Promise<void> {
  // One word or several in quotes, as a shell reads them.
  const words = [...command.matchAll(/(?:'[^']*'|\\.|[^\s'\\])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(.)/g, '$1$2'),
  )
  expect(words[0]).toBe('priorbook')
  const env = { PRIORBOOK_URL: service.url, PRIORBOOK_KEY: key }
  const ran = await runCommand(words.slice(1), env)
  expect(ran).toMatchObject({ status: 0, err: '' })
}

/** A crossing of the price reaches the receiver, signed, and the page. */
async function expectFired(page: Page, id: string, secret: string): Promise<void> {
  const row = page.locator(`tr[data-alert="${id}"]`)
  await row.getByText('never').waitFor()
  await writer.cross()
  await row.locator('td[data-head="Fired"]', { hasText: /^1$/ }).waitFor()
  await row.locator('td[data-head="Last delivery"]', { hasText: 'delivered' }).waitFor()
  const own = received.filter(({ body }) => JSON.parse(body).alert_id === id)
  expect(own).toHaveLength(1)
  const { headers, body } = own[0]!
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  const secretKey = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', secretKey).update(signed).digest('base64')
  expect(headers['webhook-signature']).toBe(`v1,${signature}`)
  await row.getByRole('button', { name: /^Deliveries of/ }).click()
  const delivery = page.locator('.deliveries tbody tr')
  await delivery.first().waitFor()
  expect(await delivery.count()).toBe(1)
  const event = JSON.parse(body) as { readonly value: string; readonly time: string }
  expect(await delivery.innerText()).toContain(`${event.value.padEnd(4, '0')}, above 0.50`)
  expect(await delivery.locator('td[data-head="Answer"]').innerText()).toBe('204')
  const link = await delivery.getByRole('link').getAttribute('href')
  expect(link).toContain(`/market/venueb/${INSTRUMENT.market}?t=${event.time}`)
}

/** A rule goes only after the question was answered. */
async function expectDeleted(page: Page, id: string): Promise<void> {
  const row = page.locator(`tr[data-alert="${id}"]`)
  const press = () => row.getByRole('button', { name: /^Delete/ }).click()
  await press()
  const dialog = page.getByRole('dialog', { name: 'Delete this rule?' })
  await dialog.getByRole('button', { name: 'Keep it' }).click()
  await dialog.waitFor({ state: 'detached' })
  await press()
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await row.count()).toBe(1)
  await press()
  await dialog.getByRole('button', { name: 'Delete rule' }).click()
  await row.waitFor({ state: 'detached' })
}
