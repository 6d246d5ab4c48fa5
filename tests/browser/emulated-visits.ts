import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { WINDOW_MS } from '../../packages/emulator/src/world/families.ts'
import { calmSpeed } from '../capture/emulated-speed.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { ApiReader, type ListedMarket } from './api-reader.ts'
import { openBrowser, openVisitor, type Look } from './visitor.ts'

/** A service that records emulated venues, for all tests of a file, and visits to its pages. */
export type EmulatedVisits = {
  readonly service: () => ServiceProcess
  readonly browser: () => Browser
  /** A market of venue B with some books. */
  readonly market: () => ListedMarket
  /** Opens a page; an error on its console that `isExpected` does not name fails the test. */
  readonly visit: (path: string, look: Look, run: (page: Page) => Promise<void>) => Promise<void>
}

// A tenth less is still not slower than life, which the emulator cannot be.
const PACE = 1.2

/** A speed near that of life at which no market of venue B closes in the minutes of a test. */
export function calmPace(): readonly string[] {
  return ['--speed', String(calmSpeed(PACE, [WINDOW_MS['15m'], WINDOW_MS['1h']]))]
}

/** Starts service and browser before the tests of a file and ends them after the last. */
export function emulatedVisits(
  rows: number,
  isExpected: (error: string) => boolean = () => false,
  args: readonly string[] = calmPace(),
): EmulatedVisits {
  let service: ServiceProcess
  let browser: Browser
  let market: ListedMarket

  beforeAll(async () => {
    service = await createService(['--upstream', 'emulator', '--workers', '1', ...args])
    await service.start()
    browser = await openBrowser()
    market = await new ApiReader(service.url).untilRecorded('venueb', rows)
  })

  afterAll(async () => {
    await browser?.close()
    await service?.destroy()
  })

  return {
    service: () => service,
    browser: () => browser,
    market: () => market,
    async visit(path, look, run) {
      const visitor = await openVisitor(browser, service.url, look)
      try {
        await visitor.page.goto(path)
        await run(visitor.page)
        expect(visitor.errors.filter((error) => !isExpected(error))).toEqual([])
      } finally {
        await visitor.close()
      }
    },
  }
}
