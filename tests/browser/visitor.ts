import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Page } from 'playwright-core'
import { expect } from 'vitest'

const { resolve } = createRequire(import.meta.url)

/** Opens the browser: Debian's, or the one that CHROMIUM names. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
}

/** A page of a new visitor that remembers what went wrong in it. */
export type Visitor = {
  readonly page: Page
  /** Errors on the console and in scripts; what a test expects is taken out by its own words. */
  readonly errors: string[]
  close(): Promise<void>
}

/** How the visitor looks at it. */
export type Look = {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly key?: string
  readonly timezone?: string
}

/** Lets a visitor in. */
export async function openVisitor(
  browser: Browser,
  url: string,
  look: Look = {},
): Promise<Visitor> {
  const { scheme = 'light', width = 1440, height = 900, key, timezone } = look
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    ...(timezone === undefined ? {} : { timezoneId: timezone }),
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  if (key !== undefined) {
    await context.addInitScript((text) => localStorage.setItem('priorbook.key', text), key)
  }
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message))
  return { page, errors, close: () => context.close() }
}

const AXE = readFileSync(resolve('axe-core/axe.min.js'), 'utf8')

/** What a screen reader's user or a keyboard's user would stumble over. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    type Found = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }
    const { axe } = globalThis as unknown as { axe: { run(): Promise<Found> } }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
    )
  })
}

/** What a press of a button copied: it is there a moment later, and looks like this. */
export async function copiedText(page: Page, looks: RegExp): Promise<string> {
  let text = ''
  const read = async (): Promise<string> =>
    (text = await page.evaluate(() => navigator.clipboard.readText()))
  await expect.poll(read).toMatch(looks)
  return text
}

/** A ladder, prices and sizes in canonical form. */
type ShownBook = { readonly asks: string[][]; readonly bids: string[][] }

const DRAWN_MS = 15_000

/** Waits until the page shows a book as the ladder of an outcome; fails where it shows another one. */
export async function expectBook(
  page: Page,
  outcome: string,
  book: ShownBook | undefined,
): Promise<void> {
  await expect
    .poll(async () => (await shownRow(page, outcome))?.book, { timeout: DRAWN_MS })
    .toEqual(book)
}

/** The whole ladder of one outcome and the row that it was drawn from; undefined where there is none. */
export async function shownRow(
  page: Page,
  outcome: string,
): Promise<{ sequence: string; received: string; book: ShownBook } | undefined> {
  return page.evaluate((name) => {
    const ladder = document.querySelector<HTMLElement>(`.ladder[data-outcome="${name}"]`)
    if (ladder === null || ladder.querySelector('.no-book') !== null) return undefined
    const canonical = (text: string): string => {
      const plain = text.replaceAll(',', '').trim()
      return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain
    }
    const side = (kind: string): string[][] =>
      [...ladder.querySelectorAll(`.${kind} li:not(.no-level)`)].map((row) => [
        canonical(row.querySelector('.price')!.textContent),
        canonical(row.querySelector('.size')!.textContent),
      ])
    const { sequence = '', received = '' } = ladder.dataset
    return { sequence, received, book: { asks: side('asks').toReversed(), bids: side('bids') } }
  }, outcome)
}
