import { PriorbookError } from '@priorbook/sdk/domain'
import { packTape, type TapePackReport } from '../../../retention/tape-packer.ts'
import type { OpenedStore } from '../../store-opened.testing.ts'
import type { Store } from '../../store.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../open.ts'
import { openTape, SMALL_LIMITS } from '../opened-tape.testing.ts'

/** Packs all chunks that may be packed. */
export function packAll(store: EmbeddedStore): Promise<TapePackReport> {
  const replace: EmbeddedStore['replaceByPack'] = (made) => store.replaceByPack(made)
  return packTape(store, replace, { before: Number.MAX_SAFE_INTEGER })
}

const PACK_EVERY = 4

function unlessClosed(error: unknown): void {
  if (!(error instanceof PriorbookError && error.code === 'store_closed')) throw error
}

/** A store that packs its chunks all the time. */
export function openPacking(): OpenedStore {
  return openTape((file) => {
    const store = openEmbeddedStore({ file, limits: SMALL_LIMITS })
    let appended = 0
    const append: Store['append'] = async (batch) => {
      await store.append(batch)
      if (++appended % PACK_EVERY === 0) await packAll(store).catch(unlessClosed)
    }
    const seal: Store['seal'] = async () => {
      const report = await store.seal()
      await packAll(store)
      return report
    }
    const packing = { ...store, append, seal }
    return Object.defineProperty(packing, 'repaired', { get: () => store.repaired })
  })
}
