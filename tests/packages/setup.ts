import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/**
 * Before the tests of the packages: packs all of them once, outside of the repository. `PRIORBOOK_TEST_PACKED` names a
 * folder with packed ones instead, to repeat tests without building.
 */
export function setup(): (() => void) | undefined {
  if (process.env['PRIORBOOK_TEST_PACKED'] !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-packed-'))
  const script = join(root, 'scripts/pack-packages.mjs')
  try {
    execFileSync(process.execPath, [script, '--out', folder], { stdio: 'inherit' })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  process.env['PRIORBOOK_TEST_PACKED'] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
