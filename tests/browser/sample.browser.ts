import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createService, run, type ServiceProcess } from '../service-process.ts'
import { openBrowser, openVisitor } from './visitor.ts'

const SAMPLE = join(import.meta.dirname, '../../packages/service/sample')

let service: ServiceProcess
let browser: Browser

beforeAll(async () => {
  service = await createService(['--upstream', 'none', '--workers', '1'], (data) => {
    run('import', 'venueb', '--data', data, SAMPLE)
  })
  await service.start()
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await service?.destroy()
})

it('does not call a recording of the past busy now, live or open', async () => {
  const visitor = await openVisitor(browser, service.url, { key: service.keyOf('unlimited') })
  const { page } = visitor
  await page.goto('/')
  await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
  await page.locator('.featured .l-ended').waitFor()
  const text = await page.locator('main').innerText()
  expect(text).toContain('Busiest recorded market')
  expect(text).not.toMatch(/Busiest market|Busiest now|closes in/)
  await page.goto('/markets')
  const remark = page.locator('.remark')
  await remark.waitFor()
  expect(await remark.innerText()).toBe(
    'No recorded market is open now, so those of every status are listed.',
  )
  expect(visitor.errors).toEqual([])
  await visitor.close()
})
