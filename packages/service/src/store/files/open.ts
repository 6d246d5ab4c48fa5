import { PriorbookError } from '@priorbook/sdk/domain'
import { Database } from '../embedded/database.ts'
import { openEmbeddedStore } from '../embedded/open.ts'
import type { Store } from '../store.ts'
import { FolderBodies } from './folder-bodies.ts'

export { indexFolder, type FolderReport } from './index-folder.ts'

/** How to open a folder of exported files. */
export type FilesOptions = {
  /** The folder with `tape` containers. */
  readonly folder: string
  /** Its index, written by `indexFolder`. */
  readonly index: string
  /** Max bytes of decoded chunks in memory. */
  readonly cacheBytes?: number | undefined
}

/**
 * Opens a folder of exported files for reading, through its index. Rows are read from the files; a file
 * changed since indexing yields gaps `corrupt`, never wrong rows.
 */
export function openFilesStore({ folder, index, cacheBytes }: FilesOptions): Store {
  const places = new Database(index, true)
  let bodies: FolderBodies
  try {
    bodies = new FolderBodies(folder, places)
  } finally {
    places.close()
  }
  const store = openEmbeddedStore({
    file: index,
    readOnly: true,
    readBody: bodies.read,
    cacheBytes,
  })
  return {
    ...store,
    // A copy of the index would not contain any rows.
    backup: async () => {
      await store.stamp()
      throw new PriorbookError('store_read_only', 'copy the folder: its files are the backup')
    },
    async close() {
      await store.close()
      bodies.close()
    },
  }
}
