import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeOnce } from '../lib/make-once.testing.ts'
import { createTestFolder, type TestFolder } from './import.testing.ts'
import type { ImportReport } from './import.ts'

/**
 * Fills an empty folder with an import of all recorded messages and answers of venue B. That takes
 * seconds of a core, so it is done once in a test run, and every file gets a copy.
 */
export async function importRecorded(
  folder: TestFolder,
  recordings: string,
): Promise<ImportReport> {
  const source = join(recordings, 'venueb')
  const shared = await makeOnce('recorded', async (target) => {
    const first = createTestFolder()
    try {
      const report = await first.importPaths(source)
      cpSync(first.data.path, join(target, 'data'), { recursive: true })
      writeFileSync(join(target, 'report.json'), JSON.stringify(report))
    } finally {
      first.destroy()
    }
  })
  if (shared === undefined) return folder.importPaths(source)
  cpSync(join(shared, 'data'), folder.data.path, { recursive: true })
  return JSON.parse(readFileSync(join(shared, 'report.json'), 'utf8')) as ImportReport
}
