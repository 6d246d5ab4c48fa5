import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import { openObjects } from '../../../objects/open-objects.ts'
import type { OpenedStore } from '../../store-opened.testing.ts'
import type { Store } from '../../store.ts'
import { openEmbeddedStore, type EmbeddedStore, type MoveReport } from '../open.ts'

/** Moves all chunks that may go, in segments so small that a stream is in several. */
export function moveAll(store: EmbeddedStore, address: string): Promise<MoveReport> {
  return store.moveCold({
    objects: openObjects(address, process.env),
    before: Number.MAX_SAFE_INTEGER,
    now: Date.now() * 1000,
    every: 0,
    segmentBytes: 20_000,
  })
}

// So small that most appends pack something: loose parts, tight parts, chunks and tail stand together.
const limits = { rows: 60, step: 24 }
const MOVE_EVERY = 4

function unlessClosed(error: unknown): void {
  if (!(error instanceof PriorbookError && error.code === 'store_closed')) throw error
}

/** A store that moves its chunks to other storage all the time; without an address into a folder beside it. */
export async function openMoving(
  given?: string,
): Promise<OpenedStore & { readonly address: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-cold-'))
  const address = given ?? join(folder, 'objects')
  const file = join(folder, 'tape.db')
  const backupFile = join(folder, 'copy.db')
  const opened: Store[] = []
  const keep = <T extends Store>(store: T): T => {
    opened.push(store)
    return store
  }
  const openWriter = (): EmbeddedStore => {
    const store = openEmbeddedStore({ file, limits })
    let appended = 0
    const append: Store['append'] = async (batch) => {
      await store.append(batch)
      if (++appended % MOVE_EVERY === 0) await moveAll(store, address).catch(unlessClosed)
    }
    const seal: Store['seal'] = async () => {
      const report = await store.seal()
      await moveAll(store, address)
      return report
    }
    const moving = { ...store, append, seal }
    return keep(Object.defineProperty(moving, 'repaired', { get: () => store.repaired }))
  }
  let writer = openWriter()
  return {
    address,
    store: writer,
    async reopen() {
      await writer.close()
      writer = openWriter()
      return writer
    },
    openReader: async () => keep(openEmbeddedStore({ file, readOnly: true })),
    reader: {
      module: new URL('../open.ts', import.meta.url).href,
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
}
