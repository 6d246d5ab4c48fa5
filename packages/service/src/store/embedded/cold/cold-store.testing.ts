import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import { openObjects } from '../../../objects/open-objects.ts'
import type { OpenedStore } from '../../store-opened.testing.ts'
import type { Store } from '../../store.ts'
import { openEmbeddedStore, type EmbeddedStore, type MoveReport } from '../open.ts'
import { openTape, SMALL_LIMITS } from '../opened-tape.testing.ts'

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

const MOVE_EVERY = 4

function unlessClosed(error: unknown): void {
  if (!(error instanceof PriorbookError && error.code === 'store_closed')) throw error
}

/** A store that moves its chunks to other storage all the time; without an address into a folder beside it. */
export function openMoving(given?: string): OpenedStore {
  return openTape((file, folder) => {
    const address = given ?? join(folder, 'objects')
    const store = openEmbeddedStore({ file, limits: SMALL_LIMITS })
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
    return Object.defineProperty(moving, 'repaired', { get: () => store.repaired })
  })
}
