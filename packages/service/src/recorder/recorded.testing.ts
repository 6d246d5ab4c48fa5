import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestFolder, type TestFolder } from './import.testing.ts'
import type { ImportReport } from './import.ts'

const LOOK_MS = 50

/**
 * Fills an empty folder with an import of all recorded messages and answers of venue B. That takes
 * seconds of a core, so in one test run it is done once, by the file that asks first; all get copies.
 */
export async function importRecorded(
  folder: TestFolder,
  recordings: string,
): Promise<ImportReport> {
  const source = join(recordings, 'venueb')
  const scratch = process.env['PRIORBOOK_TEST_SCRATCH']
  if (scratch === undefined) return folder.importPaths(source)
  const shared = join(scratch, 'venueb')
  if (isFirst(`${shared}.begun`)) await share(source, shared)
  while (!existsSync(shared)) {
    if (existsSync(`${shared}.failed`)) throw new Error(readFileSync(`${shared}.failed`, 'utf8'))
    await pause(LOOK_MS)
  }
  cpSync(join(shared, 'data'), folder.data.path, { recursive: true })
  return JSON.parse(readFileSync(join(shared, 'report.json'), 'utf8')) as ImportReport
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

// Whole or not there: the name is given last.
async function share(source: string, shared: string): Promise<void> {
  const folder = createTestFolder()
  try {
    const report = await folder.importPaths(source)
    const made = `${shared}.made`
    cpSync(folder.data.path, join(made, 'data'), { recursive: true })
    writeFileSync(join(made, 'report.json'), JSON.stringify(report))
    renameSync(made, shared)
  } catch (error) {
    writeFileSync(`${shared}.failed`, String(error))
    throw error
  } finally {
    folder.destroy()
  }
}
