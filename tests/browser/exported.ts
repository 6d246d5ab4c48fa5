import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Saves what a panel or a page exports in a format, and reads the file. */
export async function exported(page: Page, place: Locator, format: string): Promise<string> {
  const box = place.locator('.export').first()
  await box.locator('summary').first().click()
  await box.getByRole('button', { name: format, exact: true }).click()
  const waiting = page.waitForEvent('download')
  await box.getByRole('button', { name: 'Download' }).click()
  const file = await waiting
  expect(file.suggestedFilename().endsWith(`.${format}`)).toBe(true)
  return readFileSync(await file.path(), 'utf8')
}
