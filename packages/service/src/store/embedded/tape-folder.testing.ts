import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import type { Store } from '../store.ts'
import { openEmbeddedStore, type EmbeddedOptions, type EmbeddedStore } from './open.ts'

/** A folder for one test: stores opened in it are closed and everything is removed when it ends. */
export type TapeFolder = {
  readonly file: string
  open(options?: Partial<EmbeddedOptions>): EmbeddedStore
  /** Runs SQL beside the store, as a vandal would. */
  sql(text: string, ...values: (string | number | Uint8Array)[]): Record<string, unknown>[]
}

/** Makes the folder. */
export function createTapeFolder(): TapeFolder {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-store-'))
  const file = join(folder, 'tape.db')
  const opened: Store[] = []
  onTestFinished(async () => {
    for (const store of opened) await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    file,
    open(options = {}) {
      const store = openEmbeddedStore({ file, ...options })
      opened.push(store)
      return store
    },
    sql(text, ...values) {
      const connection = new DatabaseSync(file)
      try {
        return connection.prepare(text).all(...values)
      } finally {
        connection.close()
      }
    },
  }
}
