import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const LOOK_MS = 50

/**
 * A folder that is made once in a test run, by the file that asks first; the others wait for it. Who
 * changes what is in it takes a copy. Undefined where no run has a place for such folders
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
      // Whole or not there: the name is given last.
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
