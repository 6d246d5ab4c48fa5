import { createHash } from 'node:crypto'
import type { ObjectStore } from './object-store.ts'

const READ_BYTES = 8 * 1024 * 1024

/** The SHA-256 of what a storage has, read in pieces; `rest` is called after each. */
export async function hashObject(
  objects: ObjectStore,
  name: string,
  size: number,
  rest?: () => Promise<void>,
): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; at < size; at += READ_BYTES) {
    hash.update(await objects.read(name, at, Math.min(READ_BYTES, size - at)))
    await rest?.()
  }
  return hash.digest()
}
