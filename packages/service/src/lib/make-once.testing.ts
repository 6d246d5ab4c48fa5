import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const LOOK_MS = 50

/**
 * A folder that is created once per test run, by the first test file that needs it; the others wait. A
 * test that changes its contents must copy it. Undefined when the run has no shared scratch folder
 * (`tests/shared-scratch.ts`).
 */
export async function makeOnce(
  name: string,
  make: (folder: string) => Promise<void>,
): Promise<string | undefined> {
  const scratch = process.env['PRIORBOOK_TEST_SCRATCH']
  if (scratch === undefined) return undefined
  const shared = join(scratch, name)
  if (isFirst(`${shared}.begun`)) {
    try {
      const made = `${shared}.made`
      mkdirSync(made)
      await make(made)
      // Renamed last, so that the folder appears complete.
      renameSync(made, shared)
    } catch (error) {
      writeFileSync(`${shared}.failed`, String(error))
      throw error
    }
  }
  while (!existsSync(shared)) {
    if (existsSync(`${shared}.failed`)) throw new Error(readFileSync(`${shared}.failed`, 'utf8'))
    await pause(LOOK_MS)
  }
  return shared
}

function isFirst(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
