import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openEmbeddedStore } from './open.ts'
import { makeBatches } from './tape-batches.testing.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'
import { Oracle } from './tape-oracle.testing.ts'

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

/** A sealed tape that is written once for all tests of a file, with what must be in it; `copy` gives each its own. */
export function sealedTape(): { readonly oracle: Oracle; readonly copy: () => TapeFolder } {
  const oracle = new Oracle()
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-sealed-'))
  const original = join(folder, 'tape.db')
  beforeAll(() => writeSealedTape(original, oracle), 300_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const copy = (): TapeFolder => {
    const own = createTapeFolder()
    copyFileSync(original, own.file)
    return own
  }
  return { oracle, copy }
}
