import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that is gone when the test ends. */
export function createTempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The counts named in `reliability.md`, or fewer for `npm test`. */
export function countOf(full: number, reduced: number): number {
  return process.env['PRIORBOOK_FULL'] === '1' ? full : reduced
}
