import { PriorbookError } from '@priorbook/sdk/domain'
import { hashObject } from './hash-object.ts'
import type { ObjectStore } from './object-store.ts'

/** How an object is put. */
export type PutOrder = {
  /** True where bytes that left this machine are in an object of that name: then it is never replaced. */
  readonly isNeeded: () => Promise<boolean>
  /** Leaves the process to others between two steps. */
  readonly rest: () => Promise<void>
}

/**
 * Writes an object and reads it back: only then its bytes may be removed here. The name follows from the bytes,
 * so an object of that name with other bytes, such as half of them, is replaced.
 */
export async function putChecked(
  objects: ObjectStore,
  name: string,
  bytes: Uint8Array,
  hash: Buffer,
  { isNeeded, rest }: PutOrder,
): Promise<void> {
  const readsBack = (): Promise<boolean> => isStored(objects, name, bytes.length, hash, rest)
  const isNew = await objects.put(name, bytes)
  if (await readsBack()) return
  if (!isNew && !(await isNeeded())) {
    await objects.remove(name)
    await objects.put(name, bytes)
    if (await readsBack()) return
  }
  throw new PriorbookError(
    'object_damaged',
    `${name} in ${objects.address} reads back different from what was written: its bytes stay here`,
  )
}

// What the storage says it has, not what it was sent.
async function isStored(
  objects: ObjectStore,
  name: string,
  size: number,
  hash: Buffer,
  rest: () => Promise<void>,
): Promise<boolean> {
  if ((await objects.size(name)) !== size) return false
  return (await hashObject(objects, name, size, rest)).equals(hash)
}
