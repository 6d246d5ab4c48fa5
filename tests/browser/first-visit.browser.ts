import { createServer, request as sendRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, type ServiceProcess } from '../service-process.ts'
import { ApiReader } from './api-reader.ts'
import { servedVisits } from './served-visits.ts'
import { accessibilityProblems, openBrowser, openVisitor, type Look } from './visitor.ts'

let service: ServiceProcess
let browser: Browser
let printedKey: string

beforeAll(async () => {
  // As `npm start` runs it, without a setting.
  service = await createService(['--upstream', 'emulator', '--workers', '1'], undefined, {})
  await service.start()
  browser = await openBrowser()
  await new ApiReader(service.url).untilRecorded('venueb', 5)
  printedKey = /pb_live_\w+/.exec(service.printed())![0]
})

afterAll(async () => {
  await browser?.close()
  await service?.destroy()
})

async function visit(url: string, look: Look, run: (page: Page) => Promise<void>): Promise<void> {
  const visitor = await openVisitor(browser, url, look)
  try {
    await visitor.page.goto('/')
    await run(visitor.page)
    expect(visitor.errors).toEqual([])
  } finally {
    await visitor.close()
  }
}

const keptKey = (page: Page): Promise<string | null> =>
  page.evaluate(() => localStorage.getItem('priorbook.key'))

/** A proxy on this machine; `headers` are what it adds. */
async function openProxy(headers: Record<string, string>): Promise<Server> {
  const target = new URL(service.url)
  const proxy = createServer((request, response) => {
    const onward = sendRequest(
      {
        host: target.hostname,
        port: target.port,
        path: request.url,
        method: request.method,
        headers: { ...request.headers, host: target.host, ...headers },
      },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      },
    )
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return proxy
}

describe('the first visit', () => {
  it('finds the printed key in place, and says which data it sees', async () => {
    await visit(service.url, {}, async (page) => {
      await page.locator('[data-origin="emulated"]').waitFor()
      expect(await keptKey(page)).toBe(printedKey)
      const text = await page.locator('.origin').innerText()
      expect(text).toContain('This is the demo.')
      expect(text).toContain('already in place')
      await page.getByText('what is the difference?').click()
      const rows = await page.locator('.origins tbody th').allInnerTexts()
      expect(rows).toEqual(['Comes from', 'Prices', 'Key', 'Start'])
      await page.getByRole('link', { name: 'Key set' }).click()
      await page.getByText('The start of this service printed this key').waitFor()
      expect(await page.locator('.facts').innerText()).toContain('desk')
    })
  })

  it('does not bring the key back after the visitor removed it, nor replace another one', async () => {
    await visit(service.url, {}, async (page) => {
      await page.goto('/key')
      await page.getByRole('button', { name: 'Forget my key' }).click()
      await page.getByText('Without a key').waitFor()
      await page.reload()
      await page.getByText('Without a key').waitFor()
      expect(await keptKey(page)).toBe(null)
    })
    const own = service.keyOf('quant')
    await visit(service.url, { key: own }, async (page) => {
      await page.locator('[data-origin]').waitFor()
      expect(await keptKey(page)).toBe(own)
      expect(await page.locator('.origin').innerText()).not.toContain('already in place')
    })
  })

  it.each([
    ['that names the client', { 'x-forwarded-for': '203.0.113.9' }],
    ['that keeps quiet', {}],
  ] as const)('through a proxy %s gets no key', async (_, headers) => {
    const proxy = await openProxy(headers)
    try {
      const { port } = proxy.address() as AddressInfo
      await visit(`http://127.0.0.1:${port}`, {}, async (page) => {
        await page.locator('[data-origin="emulated"]').waitFor()
        expect(await keptKey(page)).toBe(null)
        expect(await page.locator('.origin').innerText()).toContain('No key is needed')
      })
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  })

  it('is not asked for by programs that do not say where their page comes from', async () => {
    const answer = await fetch(`${service.url}/start-key`)
    expect([answer.status, await answer.text()]).toEqual([204, ''])
  })

  it.each([
    { scheme: 'light' },
    { scheme: 'dark' },
    { scheme: 'dark', width: 390, height: 844 },
  ] as const)('has no barrier for assistive technology: %o', async (look) => {
    await visit(service.url, look, async (page) => {
      await page.locator('[data-origin="emulated"]').waitFor()
      await page.getByText('what is the difference?').click()
      await page.locator('.featured').waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      const target = process.env['PRIORBOOK_SCREENSHOTS']
      if (target === undefined) return
      const name = `first-${look.scheme}-${'width' in look ? look.width : 1440}.png`
      await page.screenshot({ path: `${target}/${name}` })
    })
  })
})

describe('a service without emulated data', () => {
  const served = servedVisits('serve-contracts.ts', { withKey: true })

  it('says that the data are the visitor’s own', async () => {
    await served.visit('/', {}, async (page) => {
      await page.locator('[data-origin="recorded"]').waitFor()
      expect(await page.locator('.origin').innerText()).toContain('Your own data.')
    })
  })
})
