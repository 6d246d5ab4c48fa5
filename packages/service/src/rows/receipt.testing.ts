import type { VenueId } from '@priorbook/sdk/domain'
import { chunkHash, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import type { StoreReader } from '../store/store.ts'
import type { InstrumentCount } from './receipt.ts'

/** The rows of each instrument, counted from the ids that a client got. */
export function countIds(ids: readonly string[]): InstrumentCount[] {
  const sequences = new Map<string, number[]>()
  for (const id of ids) {
    const [, key, sequence] = /^[^:]+:(.*):(\d+)$/.exec(id)!
    const own = sequences.get(key!) ?? []
    sequences.set(key!, own)
    own.push(Number(sequence))
  }
  const counts = [...sequences].map(([key, own]) => {
    own.sort((a, b) => a - b)
    return { key, first: own[0]!, last: own.at(-1)!, rows: own.length }
  })
  return counts.sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** The instruments of the receipt of books with these ids, their hashes made from the stored chunks. */
export async function expectedInstruments(
  store: StoreReader,
  venue: VenueId,
  ids: readonly string[],
): Promise<(InstrumentCount & { readonly head: string | null })[]> {
  const expected = []
  for (const count of countIds(ids)) {
    let head: string | null = null
    for await (const { kind, sealed, first, count: rows, bytes } of store.chunks({
      venue,
      key: count.key,
    })) {
      const isMet = first <= count.last && first + rows > count.first
      if (kind !== 'book' || !sealed || !isMet) continue
      head = Buffer.from(chunkHash(openChunk(bytes, platform), platform)).toString('hex')
    }
    expected.push({ ...count, head })
  }
  return expected
}

const platform = createNodePlatform()
