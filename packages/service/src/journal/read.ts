import { dirname, join } from 'node:path'
import {
  readJournal as readHere,
  readRecord as readRecordHere,
  readRecords as readRecordsHere,
  type FoundRecords,
  type JournalBlock,
  type JournalDamage,
  type JournalPlace,
  type JournalRange,
  type JournalRecord,
} from '@priorbook/sdk/journal'
import type { ReadAway } from '@priorbook/sdk/journal/format'
import { BoundedMap } from '../lib/bounded-map.ts'
import {
  BLOCK_BYTES,
  BlockSource,
  blocksOf,
  cutBlocks,
  type NamedObject,
} from '../objects/block-source.ts'
import { isLost } from '../objects/object-store.ts'

// 4 MB at once: a walk reads on.
const AHEAD = 16
const CACHE_BYTES = 1_000_000_000
const MAX_SOURCES = 16

type Place = Omit<JournalPlace, 'away'> & {
  /** Space for bytes from other storage, beside the journal. */
  readonly cacheBytes?: number
}

/** Reads a journal in order; where files of it are in other storage, the process waits for their bytes. */
export function readJournal(
  range: Omit<JournalRange, 'away'>,
): Generator<JournalBlock | JournalDamage, void, void> {
  return readHere({ ...range, away: waitFor(sourceOf(range)) })
}

/** One record by number; undefined when it is not, or no longer, in the journal. The process may wait. */
export function readRecord(journal: Place, number: number): JournalRecord | undefined {
  return readRecordHere({ ...journal, away: waitFor(sourceOf(journal)) }, number)
}

/** A few records from one number to another, for servers: others are served while the bytes come. */
export async function fetchRecords(
  journal: Place,
  from: number,
  to: number,
): Promise<FoundRecords> {
  const found = await fetchWith(journal, from, to, false)
  // What is damaged may have been repaired since it was kept here.
  return found.damages.length === 0 ? found : fetchWith(journal, from, to, true)
}

// Reads as far as the blocks go that are here, and fetches the next ones. Those of these records stay in memory:
// the cache may be too small for them.
async function fetchWith(
  journal: Place,
  from: number,
  to: number,
  isFresh: boolean,
): Promise<FoundRecords> {
  const source = sourceOf(journal)
  const fetched = new Map<string, Uint8Array>()
  const titleOf = ({ name }: NamedObject, block: number): string => `${name} ${block}`
  const away: ReadAway = (file, offset, length) => {
    const wanted = blocksOf(file, offset, length)
    const blocks = wanted.map(
      (block) =>
        fetched.get(titleOf(file, block)) ?? (isFresh ? undefined : source.kept(file, block)),
    )
    const missing = wanted.filter((_, index) => blocks[index] === undefined)
    if (missing.length > 0) throw new Miss(file, missing)
    return cutBlocks(blocks as Uint8Array[], offset, length)
  }
  for (;;) {
    try {
      return readRecordsHere({ ...journal, away }, from, to)
    } catch (error) {
      if (!(error instanceof Miss)) throw error
      const { object, blocks } = error
      const bytes = await Promise.all(
        blocks.map((block) =>
          source.fetch(object, block).catch((reason: unknown) => lost(reason, object, block)),
        ),
      )
      for (const [index, block] of blocks.entries()) {
        fetched.set(titleOf(object, block), bytes[index]!)
      }
    }
  }
}

// Bytes that were read are kept, so a source lasts as long as the process.
const sources = new BoundedMap<string, BlockSource>(MAX_SOURCES)

function sourceOf({ dir, cacheBytes = CACHE_BYTES }: Place): BlockSource {
  const cacheFolder = join(dirname(dir), 'cold-cache')
  const title = `${cacheBytes} ${cacheFolder}`
  let source = sources.get(title)
  if (source === undefined) {
    source = new BlockSource({ cacheFolder, cacheBytes })
    sources.set(title, source)
  }
  return source
}

/** Thrown where blocks are not on this machine. */
class Miss extends Error {
  readonly object: NamedObject
  readonly blocks: readonly number[]

  constructor(object: NamedObject, blocks: readonly number[]) {
    super('blocks of a journal are in other storage')
    this.object = object
    this.blocks = blocks
  }
}

function waitFor(source: BlockSource): ReadAway {
  return (file, offset, length) => {
    const blocks: Uint8Array[] = []
    const wanted = blocksOf(file, offset, length)
    const end = Math.ceil(file.size / BLOCK_BYTES)
    while (blocks.length < wanted.length) {
      const next = wanted[blocks.length]!
      const kept = source.kept(file, next)
      if (kept === undefined) blocks.push(...fetchNow(source, file, next, end))
      else blocks.push(kept)
    }
    return cutBlocks(blocks, offset, length)
  }
}

function fetchNow(
  source: BlockSource,
  file: NamedObject,
  next: number,
  end: number,
): readonly Uint8Array[] {
  const count = Math.min(AHEAD, end - next)
  try {
    return source.fetchNow(file, next, count)
  } catch (error) {
    return Array.from({ length: count }, (_, index) => lost(error, file, next + index))
  }
}

// Bytes that the storage lost are damage of the journal like any other; the rest of it can be read.
function lost(error: unknown, { size }: NamedObject, block: number): Uint8Array {
  if (!isLost(error)) throw error
  return new Uint8Array(Math.min(BLOCK_BYTES, size - block * BLOCK_BYTES))
}
