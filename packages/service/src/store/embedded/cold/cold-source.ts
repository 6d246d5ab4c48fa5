import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { ERROR_CODES, PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'
import { openDiskCache, type DiskCache } from '../../../objects/disk-cache.ts'
import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { ObjectStore } from '../../../objects/object-store.ts'
import { openObjects } from '../../../objects/open-objects.ts'
import type { ColdPlace } from './cold-places.ts'

// Chunks of a market lie side by side, so a request for one brings its neighbours.
const BLOCK = 262_144
// Max blocks that one miss brings: work that misses again and again reads on.
const MAX_AHEAD = 16
// Blocks in memory: the chunks of one are read one after another.
const MAX_RECENT = 16
const CHILD = fileURLToPath(new URL('fetch-now.ts', import.meta.url))
const CHILD_MS = 60_000
const CHILD_WORDS = 65_536

const CACHE_BYTES = 1_000_000_000

/** Creates the source of a tape, with its cache beside it. */
export function createColdSource(file: string, cacheBytes = CACHE_BYTES): ColdSource {
  return new ColdSource({ cacheFolder: join(dirname(file), 'cold-cache'), cacheBytes })
}

/** Thrown by work that needs bytes of a segment which are not on this machine. */
export class ColdMiss extends Error {
  readonly place: ColdPlace

  constructor(place: ColdPlace) {
    super('the bytes of a chunk are in other storage')
    this.place = place
  }
}

/** What one piece of work fetched last: the segment, its block, and how many in a row. */
export type ColdRead = { name: string; block: number; row: number }

/** How the bytes of segments are read. */
export type ColdOptions = {
  /** The folder of the cache, which is made when it is first needed. */
  readonly cacheFolder: string
  readonly cacheBytes: number
}

/** Reads chunks out of segments: from the cache on disk at once, else from the storage. */
export class ColdSource {
  readonly #options: ColdOptions
  #cache: DiskCache | undefined
  readonly #stores = new Map<string, ObjectStore>()
  readonly #fetching = new Map<string, Promise<Uint8Array>>()
  readonly #recent = new BoundedMap<string, Uint8Array>(MAX_RECENT)

  constructor(options: ColdOptions) {
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

  /** The bytes of a chunk where they are in the cache and whole. */
  peek(place: ColdPlace): Uint8Array | undefined {
    const blocks: Uint8Array[] = []
    for (const block of blocksOf(place)) {
      const bytes = this.#keptBlock(place.name, block)
      if (bytes === undefined) return undefined
      blocks.push(bytes)
    }
    const bytes = cut(place, blocks)
    return crc32(bytes) === place.crc && bytes.length === place.length ? bytes : undefined
  }

  #diskCache(): DiskCache {
    const { cacheFolder: folder, cacheBytes: maxBytes } = this.#options
    return (this.#cache ??= openDiskCache({ folder, maxBytes }))
  }

  #keptBlock(segment: string, block: number): Uint8Array | undefined {
    // Names of segments contain a hash of their bytes, so one name never means two contents.
    const name = `${segment} ${block}`
    const recent = this.#recent.get(name)
    if (recent !== undefined) return recent
    const bytes = this.#diskCache().get(segment, block)
    if (bytes !== undefined) this.#recent.set(name, bytes)
    return bytes
  }

  /**
   * The bytes of a chunk from the storage. They are in the cache afterwards. Where work `read` the blocks just
   * before, those behind are fetched too: it goes on reading.
   */
  async fetch(place: ColdPlace, read?: ColdRead): Promise<Uint8Array> {
    const own = blocksOf(place)
    const next = own.at(-1)! + 1
    const isNext = read !== undefined && read.name === place.name && own[0]! - read.block <= 1
    const row = isNext ? read.row + 1 : 0
    if (read !== undefined) Object.assign(read, { name: place.name, block: next - 1, row })
    const ahead = Math.min(2 ** row - 1, MAX_AHEAD, Math.ceil(place.size / BLOCK) - next)
    if (read !== undefined && ahead > 0) read.block = next - 1 + ahead
    for (let block = next; block < next + ahead; block++) {
      // Work that needs it asks again.
      if (this.#keptBlock(place.name, block) === undefined) {
        this.#fetchBlock(place, block).catch(() => undefined)
      }
    }
    const blocks = await Promise.all(own.map((block) => this.#fetchBlock(place, block)))
    const bytes = cut(place, blocks)
    if (bytes.length !== place.length || crc32(bytes) !== place.crc) {
      throw new PriorbookError(
        'object_damaged',
        `${place.name} in ${place.address} has other bytes at ${place.start} than were written`,
      )
    }
    return bytes
  }

  /**
   * The bytes of a chunk, while the process waits. For work that cannot be run again, such as a merge; a
   * recorder has none of it.
   */
  fetchNow(place: ColdPlace): Uint8Array {
    const kept = this.peek(place)
    if (kept !== undefined) return kept
    const { cacheFolder, cacheBytes } = this.#options
    const order = JSON.stringify({ place: { ...place, hash: '' }, cacheFolder, cacheBytes })
    const maxBuffer = place.length + CHILD_WORDS
    const options = { input: order, timeout: CHILD_MS, maxBuffer }
    const { error, status, stdout, stderr } = spawnSync(process.execPath, [CHILD], options)
    if (error === undefined && status === 0) return stdout
    // The last line says why; Node may have printed warnings before it.
    const words = stderr?.toString('utf8').trim().split('\n').at(-1) ?? ''
    const [code = '', ...detail] = words.split(' ')
    if (Object.hasOwn(ERROR_CODES, code)) {
      throw new PriorbookError(code as ErrorCode, detail.join(' '), { cause: error })
    }
    const why = `${place.address} could not be read: ${error?.message ?? words}`
    throw new PriorbookError('objects_unavailable', why, { cause: error })
  }

  // Several requests for one block share one answer.
  #fetchBlock(place: ColdPlace, block: number): Promise<Uint8Array> {
    const name = `${place.address} ${place.name} ${block}`
    let fetching = this.#fetching.get(name)
    if (fetching === undefined) {
      const start = block * BLOCK
      const length = Math.min(BLOCK, place.size - start)
      fetching = this.storeAt(place.address).read(place.name, start, length)
      this.#fetching.set(name, fetching)
      const done = (): void => void this.#fetching.delete(name)
      fetching.then((bytes) => {
        this.#recent.set(`${place.name} ${block}`, bytes)
        this.#diskCache().put(place.name, block, bytes)
        done()
      }, done)
    }
    return fetching
  }
}

function blocksOf({ start, length }: ColdPlace): number[] {
  const first = Math.floor(start / BLOCK)
  const last = Math.floor((start + Math.max(1, length) - 1) / BLOCK)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function cut({ start, length }: ColdPlace, blocks: readonly Uint8Array[]): Uint8Array {
  const from = start % BLOCK
  const all = blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks)
  // A copy, because a whole block would stay in memory with it.
  return all.slice(from, from + length)
}

/** True for errors that mean that the bytes are gone or wrong, not that they cannot be had now. */
export function isLost(error: unknown): error is PriorbookError {
  return (
    error instanceof PriorbookError &&
    (error.code === 'object_missing' || error.code === 'object_damaged')
  )
}
