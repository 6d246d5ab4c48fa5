import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeStoreContract } from '../store.contract.ts'
import type { Store } from '../store.ts'
import { openEmbeddedStore } from './open.ts'

// So small that most appends pack something: loose parts, tight parts, chunks and tail stand together.
const limits = { rows: 60, step: 24 }

describeStoreContract('embedded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-store-'))
  const file = join(folder, 'tape.db')
  const backupFile = join(folder, 'copy.db')
  const opened: Store[] = []
  const keep = <T extends Store>(store: T): T => {
    opened.push(store)
    return store
  }
  let writer = keep(openEmbeddedStore({ file, limits }))
  return {
    store: writer,
    async reopen() {
      await writer.close()
      writer = keep(openEmbeddedStore({ file, limits }))
      return writer
    },
    openReader: async () => keep(openEmbeddedStore({ file, readOnly: true })),
    reader: {
      module: new URL('open.ts', import.meta.url).href,
      name: 'openEmbeddedStore',
      argument: { file, readOnly: true },
    },
    backupFile,
    openBackup: async () => keep(openEmbeddedStore({ file: backupFile, readOnly: true })),
    async destroy() {
      for (const store of opened) await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
})
