import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'
import {
  BLOCK_BYTES,
  BlockSource,
  blocksOf,
  cutBlocks,
  type BlockCache,
} from '../../../objects/block-source.ts'
import type { ObjectStore } from '../../../objects/object-store.ts'
import type { ColdPlace } from './cold-places.ts'

// Max blocks that one miss brings: work that misses again and again reads on.
const MAX_AHEAD = 16

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

/** Reads chunks out of segments: from the cache on disk at once, else from the storage. */
export class ColdSource {
  readonly #blocks: BlockSource

  constructor(cache: BlockCache) {
    this.#blocks = new BlockSource(cache)
  }

  /** The storage at an address. */
  storeAt(address: string): ObjectStore {
    return this.#blocks.storeAt(address)
  }

  /** The bytes of a chunk where they are in the cache and whole. */
  peek(place: ColdPlace): Uint8Array | undefined {
    const blocks: Uint8Array[] = []
    for (const block of blocksOf(place, place.start, place.length)) {
      const bytes = this.#blocks.kept(place, block)
      if (bytes === undefined) return undefined
      blocks.push(bytes)
    }
    const bytes = cutBlocks(blocks, place.start, place.length)
    return isWhole(place, bytes) ? bytes : undefined
  }

  /**
   * The bytes of a chunk from the storage. They are in the cache afterwards. Where work `read` the blocks just
   * before, those behind are fetched too: it goes on reading.
   */
  async fetch(place: ColdPlace, read?: ColdRead): Promise<Uint8Array> {
    const own = blocksOf(place, place.start, place.length)
    const next = own.at(-1)! + 1
    const isNext = read !== undefined && read.name === place.name && own[0]! - read.block <= 1
    const row = isNext ? read.row + 1 : 0
    if (read !== undefined) Object.assign(read, { name: place.name, block: next - 1, row })
    const ahead = Math.min(2 ** row - 1, MAX_AHEAD, Math.ceil(place.size / BLOCK_BYTES) - next)
    if (read !== undefined && ahead > 0) read.block = next - 1 + ahead
    for (let block = next; block < next + ahead; block++) {
      // Work that needs it asks again.
      if (this.#blocks.kept(place, block) === undefined) {
        this.#blocks.fetch(place, block).catch(() => undefined)
      }
    }
    return whole(place, await Promise.all(own.map((block) => this.#blocks.fetch(place, block))))
  }

  /** The bytes of a chunk, while the process waits. */
  fetchNow(place: ColdPlace): Uint8Array {
    const kept = this.peek(place)
    if (kept !== undefined) return kept
    const own = blocksOf(place, place.start, place.length)
    return whole(place, this.#blocks.fetchNow(place, own[0]!, own.length))
  }
}

function isWhole({ length, crc }: ColdPlace, bytes: Uint8Array): boolean {
  return bytes.length === length && crc32(bytes) === crc
}

function whole(place: ColdPlace, blocks: readonly Uint8Array[]): Uint8Array {
  const bytes = cutBlocks(blocks, place.start, place.length)
  if (isWhole(place, bytes)) return bytes
  throw new PriorbookError(
    'object_damaged',
    `${place.name} in ${place.address} has other bytes at ${place.start} than were written`,
  )
}
