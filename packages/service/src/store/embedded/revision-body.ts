import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { createNodePlatform } from '@priorbook/sdk/tape/node'

const platform = createNodePlatform()

/**
 * Compresses the text of a revision. Revisions of a market differ in a few numbers: with the bytes of an
 * earlier one as its dictionary, a revision takes 60 bytes instead of 700.
 */
export function packRevision(text: string, dictionary?: Uint8Array): Uint8Array {
  return zstdCompressSync(text, dictionary === undefined ? {} : { dictionary })
}

/** The bytes of a revision's text. */
export function unpackRevision(body: Uint8Array, dictionary?: Uint8Array): Uint8Array {
  if (dictionary !== undefined) {
    // A revision is about as long as the one before: room for it saves a second, larger buffer.
    return zstdDecompressSync(body, { dictionary, chunkSize: 2 * dictionary.length + ROOM_BYTES })
  }
  const length = contentLength(body)
  // Node creates a stream and a context for every call; the platform keeps its own.
  return length === undefined ? zstdDecompressSync(body) : platform.decompress(body, length)
}

const ROOM_BYTES = 1024
// A frame that says more is damaged, or no revision.
const MAX_BYTES = 16 * 1024 * 1024
const SINGLE_SEGMENT = 0x20

/** The length that the header of a zstd frame says (RFC 8878, 3.1.1.1); undefined where it says none. */
function contentLength(frame: Uint8Array): number | undefined {
  const descriptor = frame[4] ?? 0
  const hasDictionary = (descriptor & 3) !== 0
  if ((descriptor & SINGLE_SEGMENT) === 0 || hasDictionary) return undefined
  const bytes = 1 << (descriptor >>> 6)
  if (frame.length < 5 + bytes) return undefined
  let length = bytes === 2 ? 256 : 0
  for (let at = 0; at < bytes; at++) length += frame[5 + at]! * 2 ** (8 * at)
  return length <= MAX_BYTES ? length : undefined
}
