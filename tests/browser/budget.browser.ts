import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { servedVisits } from './served-visits.ts'

const dist = join(import.meta.dirname, '../../packages/web/dist')
const assets = join(dist, 'assets')
const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'))
const { visit } = servedVisits('serve-contracts.ts', { withKey: true })

const MAX_BYTES = 150_000

// The start page names its script and what that needs; a page in a chunk of its own needs more of them.
const first = [...readFileSync(join(dist, 'index.html'), 'utf8').matchAll(/assets\/([\w-]+\.js)/g)]
const own = scripts.filter((name) => /^[\w-]+-page-/.test(name))
const worker = scripts.filter((name) => name.startsWith('replay-worker-'))

// All scripts that these import, and those that they import.
function needed(names: readonly string[]): Set<string> {
  const all = new Set(names)
  for (const name of all) {
    const text = readFileSync(join(assets, name), 'utf8')
    for (const [, other] of text.matchAll(/(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g)) {
      all.add(other!)
    }
  }
  return all
}

function gzipped(names: Iterable<string>): number {
  return [...names].reduce((sum, name) => sum + statSync(join(assets, `${name}.gz`)).size, 0)
}

describe('the script of a page', () => {
  const start = first.map(([, name]) => name!)

  it('is at most 150 kB, compressed, for the start page with the worker of a replay', () => {
    const size = gzipped(needed([...start, ...worker]))
    console.log(`script: ${gzipped(needed(start))} B for the start page, ${size} B with the worker`)
    expect(worker).toHaveLength(1)
    expect(gzipped(needed(start))).toBeGreaterThan(10_000)
    expect(size).toBeLessThan(MAX_BYTES)
  })

  const pages = own.map((name) => [name.replace(/-page-.*/, ''), name] as const)
  it.each(pages)('is at most 150 kB, compressed, for the page %s opened first', (_, page) => {
    const size = gzipped(needed([...start, page, ...worker]))
    console.log(`script: ${size} B for ${page}, ${gzipped([page])} B of it its own`)
    expect(size).toBeLessThan(MAX_BYTES)
  })

  it('is fetched when the page is opened, and not before', async () => {
    const fetched: string[] = []
    await visit('/', {}, async (page) => {
      page.on('request', (request) => {
        if (request.url().includes('/assets/')) fetched.push(request.url().split('/').at(-1)!)
      })
      const loaded = await page.evaluate(() =>
        performance.getEntriesByType('resource').map(({ name }) => name),
      )
      expect(loaded.filter((name) => /-page-[\w-]+\.js$/.test(name))).toEqual([])
      await page.getByRole('link', { name: 'Compare', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Contracts' }).waitFor()
      expect(fetched.some((name) => name.startsWith('contracts-page-'))).toBe(true)
      expect(fetched.some((name) => name.startsWith('compare-page-'))).toBe(false)
    })
  })

  it('that cannot be fetched is said, and loading the page again mends it', async () => {
    await visit('/key', {}, async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Key' }).waitFor()
      const pattern = /assets\/status-page-/
      // As after an update of the service, which serves other chunks.
      const other = { contentType: 'text/javascript', body: 'throw new Error()' }
      await page.route(pattern, (route) => route.fulfill(other))
      await page.getByRole('link', { name: 'Recorder', exact: true }).click()
      await page.getByText('This page could not be loaded').waitFor()
      await page.unroute(pattern)
      await page.getByRole('button', { name: 'Load again' }).click()
      await page.getByRole('heading', { level: 1, name: 'Recorder' }).waitFor()
      expect(await page.getByText('This page could not be loaded').count()).toBe(0)
    })
  })
})
