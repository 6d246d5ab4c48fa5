import { openEmbeddedStore } from './open.ts'
import { makeBatches } from './tape-batches.testing.ts'
import type { Oracle } from './tape-oracle.testing.ts'

/** Limits at which a small tape has many chunks. */
export const SMALL_CHUNKS = { rows: 600, step: 200 }

/** Writes a sealed tape of many small chunks; the oracle gets every row of it. */
export async function writeSealedTape(file: string, oracle: Oracle): Promise<void> {
  const store = openEmbeddedStore({ file, limits: SMALL_CHUNKS })
  let count = 0
  for (const batch of makeBatches(11)) {
    await store.append(batch)
    oracle.add(batch)
    if (++count === 900) break
  }
  await store.seal()
  await store.close()
}
