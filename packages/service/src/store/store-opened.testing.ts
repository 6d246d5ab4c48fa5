import type { ReaderRecipe } from './store-follower.testing.ts'
import type { ModelStore } from './store-model.testing.ts'
import { INSTRUMENTS, type Script } from './store-script.testing.ts'
import type { AppendBatch, Order, Store } from './store.ts'

/** A store under test, in a place of its own. */
export type OpenedStore = {
  readonly store: Store
  /** Closes the store and opens it again for writing. */
  readonly reopen: () => Promise<Store>
  /** Another handle of this process, for reading. */
  readonly openReader: () => Promise<Store>
  /** How another process opens a reader. */
  readonly reader: ReaderRecipe
  /** Where a backup may be written, and the store in it. */
  readonly backupFile: string
  readonly openBackup: () => Promise<Store>
  /** Closes everything and removes it. */
  readonly destroy: () => Promise<void>
}

/** Opens an empty store that is destroyed when the test ends. */
export type Open = () => Promise<OpenedStore>
/** Opens a store that batches of a script have been written to, with its model. */
export type OpenWritten = (
  seed: number,
  batches: number,
) => Promise<OpenedStore & { script: Script; model: ModelStore }>

/** `npm run test:full` sets this: the same tests with larger counts. */
export const FULL = process.env['PRIORBOOK_FULL'] === '1'
/** One UTC day. */
export const DAY = 86_400_000_000
/** The instrument that scripts can leave uninterrupted. */
export const CALM = INSTRUMENTS[1]!
/** Both orders of pages. */
export const ORDERS: readonly Order[] = ['asc', 'desc']

/** Appends batches one after the other, to the store and to its model. */
export async function write(
  store: Store,
  model: ModelStore,
  batches: readonly AppendBatch[],
): Promise<void> {
  for (const batch of batches) {
    await store.append(batch)
    model.apply(batch)
  }
}
