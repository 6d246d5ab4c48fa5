import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { createNodePlatform } from '@priorbook/sdk/tape/node'

const LEVEL = 3
// Node creates a stream and a context for every call; the platform keeps its own.
const platform = createNodePlatform(LEVEL)
const encoder = new TextEncoder()

/** A version of a market's record, unpacked. */
export type Revision = {
  readonly ordinal: number
  readonly knownAt: number
  readonly journal: number
  readonly text: string
}

/**
 * Compresses the text of a revision. Revisions of a market differ in a few numbers: with the bytes of an
 * earlier one as its dictionary, a revision takes 60 bytes instead of 700.
 */
export function packRevision(text: string, dictionary?: Uint8Array): Uint8Array {
  return dictionary === undefined
    ? platform.compress(encoder.encode(text))
    : zstdCompressSync(text, { dictionary })
}

/** The bytes of a revision's text. */
export function unpackRevision(body: Uint8Array, dictionary?: Uint8Array): Uint8Array {
  const content = contentOf(body)
  if (dictionary === undefined) {
    return content === undefined
      ? zstdDecompressSync(body)
      : platform.decompress(body, content.length)
  }
  if (content === undefined || !isPlain(dictionary)) {
    // A revision is about as long as the one before: room for it saves a second, larger buffer.
    return zstdDecompressSync(body, { dictionary, chunkSize: 2 * dictionary.length + ROOM_BYTES })
  }
  const whole = dictionary.length + content.length
  const frame = withPrefix(dictionary, body.subarray(content.start), whole)
  return platform.decompress(frame, whole).subarray(dictionary.length)
}

const ROOM_BYTES = 1024
// A frame that says more is damaged, or no revision.
const MAX_BYTES = 16 * 1024 * 1024
const FRAME_MAGIC = 0xfd2fb528
const DICTIONARY_MAGIC = 0xec30a437
const SINGLE_SEGMENT = 0x20
// The bits of a descriptor for a checksum and the number of a dictionary, and one that is reserved.
const MORE_FIELDS = 0x0f
const LENGTH_OF_4 = 0x80
const FRAME_HEADER = 9
const BLOCK_HEADER = 3
const MAX_BLOCK = 128 * 1024

type Content = {
  readonly length: number
  /** Where the blocks begin. */
  readonly start: number
}

/** The length that the header of a zstd frame says (RFC 8878, 3.1.1.1); undefined where it says none. */
function contentOf(frame: Uint8Array): Content | undefined {
  const descriptor = frame[4] ?? 0
  if ((descriptor & SINGLE_SEGMENT) === 0 || (descriptor & MORE_FIELDS) !== 0) return undefined
  const bytes = 1 << (descriptor >>> 6)
  const start = 5 + bytes
  if (frame.length < start) return undefined
  let length = bytes === 2 ? 256 : 0
  for (let at = 0; at < bytes; at++) length += frame[5 + at]! * 2 ** (8 * at)
  return length <= MAX_BYTES ? { length, start } : undefined
}

// True for a dictionary that is only text, and no longer than one block.
function isPlain(dictionary: Uint8Array): boolean {
  const { buffer, byteOffset, length } = dictionary
  if (length > MAX_BLOCK) return false
  return length < 4 || new DataView(buffer, byteOffset).getUint32(0, true) !== DICTIONARY_MAGIC
}

/**
 * A frame that holds the dictionary as its first, uncompressed block. To a decoder a dictionary of plain text
 * is what came before the first byte, and such a block changes nothing else. So the platform's context
 * reads it, where Node would create one with the dictionary, use it once and free its 160 KB.
 */
function withPrefix(dictionary: Uint8Array, blocks: Uint8Array, whole: number): Uint8Array {
  const start = FRAME_HEADER + BLOCK_HEADER
  const frame = new Uint8Array(start + dictionary.length + blocks.length)
  const view = new DataView(frame.buffer)
  view.setUint32(0, FRAME_MAGIC, true)
  frame[4] = LENGTH_OF_4 | SINGLE_SEGMENT
  view.setUint32(5, whole, true)
  // The length from the fourth bit on; zeros before it: a raw block that is not the last.
  view.setUint16(FRAME_HEADER, (dictionary.length << 3) & 0xffff, true)
  frame[FRAME_HEADER + 2] = dictionary.length >> 13
  frame.set(dictionary, start)
  frame.set(blocks, start + dictionary.length)
  return frame
}
