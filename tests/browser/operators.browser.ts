import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startServe, type ServeProcess } from '../../packages/service/src/commands/serve.testing.ts'
import { accessibilityProblems, openBrowser } from './visitor.ts'

const TOKEN = 'browser-token-of-an-operator-0123456789'

let scratch: string
let served: ServeProcess
let browser: Browser

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'priorbook-operators-'))
  const args = ['--data', join(scratch, 'data'), '--upstream', 'emulator', '--workers', '1']
  served = await startServe(scratch, args, { PRIORBOOK_OPS_TOKEN: TOKEN })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await served?.end()
  rmSync(scratch, { recursive: true, force: true })
})

/** Opens the pages of the port as an operator whose browser runs no script. */
async function visit(run: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({
    baseURL: served.ops,
    javaScriptEnabled: false,
    httpCredentials: { username: 'operator', password: TOKEN },
  })
  try {
    await run(await context.newPage())
  } finally {
    await context.close()
  }
}

it('shows the sockets of every venue, and reloads itself', async () => {
  await visit(async (page) => {
    await page.goto('/')
    const sockets = page.getByRole('region', { name: 'Sockets' })
    for (const venue of ['venuea', 'venueb', 'venuec']) {
      const row = sockets.getByRole('row', { name: new RegExp(`^${venue} \\d+ connected`) })
      // The page comes again by itself until the recorder has connected.
      await row.first().waitFor()
    }
    await page.getByRole('link', { name: 'Gaps' }).click()
    await page.getByRole('heading', { name: 'Open gaps' }).waitFor()
    await page.getByRole('link', { name: 'Quarantine' }).click()
    await page.getByRole('heading', { name: 'Quarantine' }).waitFor()
    expect(await page.getByRole('link', { name: 'Overview' }).getAttribute('href')).toBe('/')
  })
})

it('creates, rolls and revokes a key by forms', async () => {
  await visit(async (page) => {
    await page.goto('/keys')
    await page.getByLabel('Plan').selectOption('desk')
    await page.getByLabel('Name').fill('from a browser')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'New key' }).waitFor()
    const key = await page.locator('output').innerText()
    expect(key).toMatch(/^pb_live_[0-9A-Za-z]{36}$/)
    await page.getByRole('link', { name: /^key_/ }).click()
    await page.getByText('from a browser').waitFor()
    expect(await page.content()).not.toContain(key)
    await page.getByRole('button', { name: 'Roll' }).click()
    await page.getByRole('heading', { name: 'New key' }).waitFor()
    expect(await page.locator('output').innerText()).not.toBe(key)
    await page.getByRole('link', { name: /^key_/ }).click()
    await page.getByRole('button', { name: 'Revoke now' }).click()
    await page.getByText('is refused from now on').waitFor()
  })
})

it('can be read by everybody', async () => {
  const httpCredentials = { username: 'operator', password: TOKEN }
  for (const colorScheme of ['light', 'dark'] as const) {
    // The tool that looks for problems is a script of the test.
    const options = { baseURL: served.ops, httpCredentials, colorScheme, bypassCSP: true }
    const context = await browser.newContext(options)
    const page = await context.newPage()
    for (const path of ['/keys', '/quarantine', '/gaps?after=[1,0,"","","",""]']) {
      await page.goto(path)
      expect([path, await accessibilityProblems(page)]).toEqual([path, []])
    }
    await context.close()
  }
})
