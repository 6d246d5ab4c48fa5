import { spawnSync } from 'node:child_process'
import { ERROR_CODES, PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'
import { BoundedMap } from '../lib/bounded-map.ts'
import { siblingModule } from '../lib/sibling-module.ts'
import { openDiskCache, type DiskCache } from './disk-cache.ts'
import type { ObjectStore } from './object-store.ts'
import { openObjects } from './open-objects.ts'

/** Objects are fetched and kept in blocks of this size: a request for some bytes brings their neighbours. */
export const BLOCK_BYTES = 262_144

// Blocks in memory: what lies in one is read piece by piece.
const MAX_RECENT = 16
const CHILD = siblingModule('fetch-blocks', import.meta.url)
const CHILD_MS = 60_000
const CHILD_WORDS = 65_536

/** The blocks that some bytes of an object lie in. */
export function blocksOf({ size }: NamedObject, start: number, length: number): number[] {
  const first = Math.floor(start / BLOCK_BYTES)
  const end = Math.ceil(Math.min(size, start + length) / BLOCK_BYTES)
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)
}

/** Those bytes out of their blocks: a copy, because whole blocks would stay in memory with a view. */
export function cutBlocks(
  blocks: readonly Uint8Array[],
  start: number,
  length: number,
): Uint8Array {
  const from = start % BLOCK_BYTES
  const all = blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks)
  // `slice` of a buffer would be a view.
  return Uint8Array.prototype.slice.call(all, from, from + length)
}

/** An object whose name contains a hash of its bytes, so that one name never means two contents. */
export type NamedObject = {
  readonly address: string
  readonly name: string
  readonly size: number
}

/** Where blocks are kept that were fetched. */
export type BlockCache = {
  /** The folder, which is made when it is first needed. */
  readonly cacheFolder: string
  readonly cacheBytes: number
}

/** Reads blocks of objects: from memory or the cache on disk at once, else from the storage. */
export class BlockSource {
  readonly #options: BlockCache
  #cache: DiskCache | undefined
  readonly #stores = new Map<string, ObjectStore>()
  readonly #fetching = new Map<string, Promise<Uint8Array>>()
  readonly #recent = new BoundedMap<string, Uint8Array>(MAX_RECENT)

  constructor(options: BlockCache) {
    this.#options = options
  }

  /** The storage at an address. */
  storeAt(address: string): ObjectStore {
    const known = this.#stores.get(address)
    if (known !== undefined) return known
    const store = openObjects(address, process.env, false)
    this.#stores.set(address, store)
    return store
  }

  /** A block that is on this machine. */
  kept({ name }: NamedObject, block: number): Uint8Array | undefined {
    const title = `${name} ${block}`
    const recent = this.#recent.get(title)
    if (recent !== undefined) return recent
    const bytes = this.#diskCache().get(name, block)
    if (bytes !== undefined) this.#recent.set(title, bytes)
    return bytes
  }

  /** A block from the storage; it is kept afterwards. Several requests for one block share one answer. */
  fetch(object: NamedObject, block: number): Promise<Uint8Array> {
    const title = `${object.address} ${object.name} ${block}`
    let fetching = this.#fetching.get(title)
    if (fetching === undefined) {
      const start = block * BLOCK_BYTES
      const length = Math.min(BLOCK_BYTES, object.size - start)
      fetching = this.storeAt(object.address).read(object.name, start, length)
      this.#fetching.set(title, fetching)
      const done = (): void => void this.#fetching.delete(title)
      fetching.then((bytes) => {
        this.#keep(object, block, bytes)
        done()
      }, done)
    }
    return fetching
  }

  /**
   * Some blocks in a row from the storage, while the process waits. For work that cannot be run again, such as
   * a merge; a recorder has none of it.
   */
  fetchNow(object: NamedObject, first: number, count: number): Uint8Array[] {
    const start = first * BLOCK_BYTES
    const length = Math.min(count * BLOCK_BYTES, object.size - start)
    const { address, name, size } = object
    const order = { object: { address, name, size }, start, length }
    const options = {
      input: JSON.stringify(order),
      timeout: CHILD_MS,
      maxBuffer: length + CHILD_WORDS,
    }
    const { error, status, stdout, stderr } = spawnSync(process.execPath, [CHILD], options)
    if (error !== undefined || status !== 0) throw toFetchError(address, error, stderr)
    const blocks: Uint8Array[] = []
    for (let at = 0; at < length; at += BLOCK_BYTES) {
      // A copy, because all that was fetched would stay in memory with it.
      const bytes = Uint8Array.from(stdout.subarray(at, Math.min(length, at + BLOCK_BYTES)))
      this.#keep(object, first + blocks.length, bytes)
      blocks.push(bytes)
    }
    return blocks
  }

  #keep({ name }: NamedObject, block: number, bytes: Uint8Array): void {
    this.#recent.set(`${name} ${block}`, bytes)
    this.#diskCache().put(name, block, bytes)
  }

  #diskCache(): DiskCache {
    const { cacheFolder: folder, cacheBytes: maxBytes } = this.#options
    return (this.#cache ??= openDiskCache({ folder, maxBytes }))
  }
}

function toFetchError(
  address: string,
  error: Error | undefined,
  stderr: Buffer | undefined,
): PriorbookError {
  // The last line says why; Node may have printed warnings before it.
  const words = stderr?.toString('utf8').trim().split('\n').at(-1) ?? ''
  const [code = '', ...detail] = words.split(' ')
  if (Object.hasOwn(ERROR_CODES, code)) {
    return new PriorbookError(code as ErrorCode, detail.join(' '), { cause: error })
  }
  const why = `${address} could not be read: ${error?.message ?? words}`
  return new PriorbookError('objects_unavailable', why, { cause: error })
}
