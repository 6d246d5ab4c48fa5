import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { openBrowser, openVisitor, type Look } from './visitor.ts'

/** A service over a scripted tape, for all tests of a file, and visits to its pages. */
export type ServedVisits = {
  readonly url: () => string
  /** A key without a limit of requests. */
  readonly key: () => string
  readonly browser: () => Browser
  /** Opens a page; an error on its console fails the test. */
  readonly visit: (path: string, look: Look, run: (page: Page) => Promise<void>) => Promise<void>
}

/** Starts a program of `tests/api` that serves a tape, and a browser, before the tests of a file and ends them after the last. */
export function servedVisits(
  program: string,
  options: {
    /** True where pages are opened with the key, not with demonstration data. */
    readonly withKey?: boolean
    /** Called before a page is opened. */
    readonly prepare?: (page: Page) => Promise<void>
  } = {},
): ServedVisits {
  let service: ChildProcess
  let browser: Browser
  let [url, key] = ['', '']

  beforeAll(async () => {
    const file = join(import.meta.dirname, '../api', program)
    service = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [printed] = (await once(service.stdout!, 'data')) as [Buffer]
    ;[url, key] = printed.toString().trim().split(' ') as [string, string]
    browser = await openBrowser()
  })

  afterAll(async () => {
    await browser?.close()
    const ended = once(service, 'exit')
    service.stdin!.end()
    await ended
  })

  return {
    url: () => url,
    key: () => key,
    browser: () => browser,
    async visit(path, look, run) {
      const own = options.withKey === true ? { key, ...look } : look
      const visitor = await openVisitor(browser, url, own)
      try {
        await options.prepare?.(visitor.page)
        await visitor.page.goto(path)
        await run(visitor.page)
        expect(visitor.errors).toEqual([])
      } finally {
        await visitor.close()
      }
    },
  }
}
