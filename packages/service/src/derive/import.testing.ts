import { mkdtempSync, rmSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { importRecordings, type ImportReport } from './import.ts'
import { findRecordings } from './merge-recordings.ts'
import { makeOnce } from '../lib/make-once.testing.ts'

/** A data folder of a test, and a way to import into it; removed by `destroy`. */
export type TestFolder = {
  readonly data: DataFolder
  /** Opens, imports, closes. */
  importPaths(...paths: string[]): Promise<ImportReport>
  /** Opens the store for reading, hands it over, closes it. */
  read<T>(use: (store: EmbeddedStore) => Promise<T>): Promise<T>
  destroy(): void
}

/** Makes an empty data folder below the system's temporary folder. */
export function createTestFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'priorbook-import-'))
  const data = toDataFolder(join(path, 'data'))
  return {
    data,
    async importPaths(...paths) {
      const store = openEmbeddedStore({ file: data.tape })
      try {
        const { files } = findRecordings(paths)
        return await importRecordings({ store, journalDir: data.journal, files })
      } finally {
        await store.close()
      }
    },
    async read(use) {
      const store = openEmbeddedStore({ file: data.tape, readOnly: true })
      try {
        return await use(store)
      } finally {
        await store.close()
      }
    },
    destroy: () => rmSync(path, { recursive: true, force: true }),
  }
}

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
