import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenedStore } from '../store-opened.testing.ts'
import type { Store } from '../store.ts'
import { openEmbeddedStore, type EmbeddedStore } from './open.ts'

/** Limits so small that most appends pack something: loose parts, tight parts, chunks and tail stand together. */
export const SMALL_LIMITS = { rows: 60, step: 24 }

/** A tape in a folder of its own, for the contract of a store; `openWriter` opens it for writing. */
export function openTape(openWriter: (file: string, folder: string) => EmbeddedStore): OpenedStore {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-store-'))
  const file = join(folder, 'tape.db')
  const backupFile = join(folder, 'copy.db')
  const opened: Store[] = []
  const keep = <T extends Store>(store: T): T => {
    opened.push(store)
    return store
  }
  let writer = keep(openWriter(file, folder))
  return {
    store: writer,
    async reopen() {
      await writer.close()
      writer = keep(openWriter(file, folder))
      return writer
    },
    ...readersOf(file, backupFile, keep),
    async destroy() {
      for (const store of opened) await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** How the contract reads a tape beside its writer, from here and from another process, and its backup. */
export function readersOf(
  file: string,
  backupFile: string,
  keep: (store: Store) => Store,
): Pick<OpenedStore, 'openReader' | 'reader' | 'backupFile' | 'openBackup'> {
  return {
    openReader: async () => keep(openEmbeddedStore({ file, readOnly: true })),
    reader: {
      module: new URL('open.ts', import.meta.url).href,
      name: 'openEmbeddedStore',
      argument: { file, readOnly: true },
    },
    backupFile,
    openBackup: async () => keep(openEmbeddedStore({ file: backupFile, readOnly: true })),
  }
}
