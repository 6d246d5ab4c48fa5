import { chunkHash, openChunk } from '../tape/index.ts'
import type { Contents, Piece } from './contents.ts'
import { ReplayError } from './error.ts'
import type { ReplayPlatform } from './platform.ts'

/**
 * Refuses files that tell the same rows of an instrument differently, such as downloads from before and
 * after a rebuild: telling some rows of each would be a history that never was.
 */
export async function refuseContradictions(
  contents: Contents,
  platform: ReplayPlatform,
): Promise<void> {
  for (const { venue, key, pieces } of contents.streams.values()) {
    const known = new Map<number, Piece>()
    for (const piece of pieces) {
      if (piece.check === undefined) continue
      const other = known.get(piece.first)
      if (other === undefined) known.set(piece.first, piece)
      else if (!(await isSame(piece, other, platform))) {
        throw new ReplayError(
          'corrupt_chunk',
          `${venue}:${key} from row ${piece.first} on is another history than in ${other.store.name}: download both again`,
          { source: piece.store.name, offset: piece.offset },
        )
      }
    }
  }
}

async function isSame(left: Piece, right: Piece, platform: ReplayPlatform): Promise<boolean> {
  if (left.check === right.check && left.length === right.length) return true
  if (left.count !== right.count) return false
  // Other versions of zstd pack the same rows into other bytes; hashes are taken before packing.
  const [one, other] = [await hashOf(left, platform), await hashOf(right, platform)]
  return one.every((byte, index) => byte === other[index])
}

async function hashOf(
  { store, offset, length }: Piece,
  platform: ReplayPlatform,
): Promise<Uint8Array> {
  return chunkHash(openChunk(await store.read(offset, length), platform), platform)
}
