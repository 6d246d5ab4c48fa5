import { columnOf, encodePack, Pack, type Chunk, type TapePlatform } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { isDamage } from '../bodies.ts'
import type { ChunkPlace } from '../directory.ts'
import type { Stream } from '../streams.ts'
import type { View } from '../view.ts'
import type { PackGroup } from './plan-packs.ts'

/** A pack and the chunks that it contains. */
export type MadePack = PackGroup & { readonly bytes: Uint8Array }

// The best level without an ultra-large window: 16,384 rows take about 60 ms.
const LEVEL = 19
let tight: TapePlatform | undefined

type Opened = { readonly place: ChunkPlace; readonly chunk: Chunk }

/**
 * Packs a group: in one pack, or in several where a chunk between is damaged or has other columns. What the pack gives
 * is compared with the chunks; one that is not smaller than they are is left out.
 */
export function makePacks(view: View, platform: TapePlatform, group: PackGroup): MadePack[] {
  tight ??= createNodePlatform(LEVEL)
  const made: MadePack[] = []
  for (const run of runsOf(view, view.streamById(group.stream), group.places)) {
    const chunks = run.map(({ chunk }) => chunk)
    const places = run.map(({ place }) => place)
    const bytes = encodePack(chunks, platform, tight)
    const before = places.reduce((sum, place) => sum + view.bodies.size(place), 0)
    if (bytes.length >= before || !isSame(bytes, chunks, platform)) continue
    made.push({ stream: group.stream, places, bytes })
  }
  return made
}

function runsOf(view: View, stream: Stream, places: readonly ChunkPlace[]): Opened[][] {
  const runs: Opened[][] = [[]]
  for (const place of places) {
    const chunk = openOr(view, stream, place)
    const last = runs.at(-1)!
    const [first] = last
    if (chunk === undefined) runs.push([])
    else if (first === undefined || first.chunk.sections.length === chunk.sections.length) {
      last.push({ place, chunk })
    } else runs.push([{ place, chunk }])
  }
  return runs.filter(({ length }) => length > 1)
}

function openOr(view: View, stream: Stream, place: ChunkPlace): Chunk | undefined {
  try {
    return view.bodies.open(stream, place)
  } catch (error) {
    if (!isDamage(error)) throw error
    return undefined
  }
}

function isSame(bytes: Uint8Array, chunks: readonly Chunk[], platform: TapePlatform): boolean {
  const pack = new Pack(bytes, platform)
  return chunks.every((chunk, at) => {
    const packed = pack.chunkAt(at)
    return (
      Buffer.compare(packed.headerBytes, chunk.headerBytes) === 0 &&
      chunk.sections.every(
        (_, column) =>
          Buffer.compare(columnOf(packed, column, platform), columnOf(chunk, column, platform)) ===
          0,
      )
    )
  })
}
