import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toDataFolder } from '../lib/data-folder.ts'
import { importRecordings } from '../derive/import.ts'
import { findRecordings } from '../derive/merge-recordings.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const FOLDER = 'demo'

/** The tape of the sample market for `/v3/demo`, imported once into a folder of its own. */
export async function openSampleTape(dataPath: string): Promise<string | undefined> {
  const path = join(dataPath, FOLDER)
  const { tape } = toDataFolder(path)
  if (existsSync(tape)) return tape
  // Imported under another name and renamed when complete, so that an interrupted start leaves no part.
  const draft = join(dataPath, `${FOLDER}.${process.pid}.part`)
  try {
    const data = toDataFolder(draft)
    const store = openEmbeddedStore({ file: data.tape })
    try {
      const { files } = findRecordings([SAMPLE])
      await importRecordings({ store, journalDir: data.journal, files })
    } finally {
      await store.close()
    }
    renameSync(draft, path)
    return tape
  } catch {
    // The demo is optional: the data are served without it.
    rmSync(draft, { recursive: true, force: true })
    return existsSync(tape) ? tape : undefined
  }
}
