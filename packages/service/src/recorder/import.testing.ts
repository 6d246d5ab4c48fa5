import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { importRecordings, type ImportReport } from './import.ts'
import { findRecordings } from './recording.ts'

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
