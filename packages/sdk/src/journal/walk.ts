import {
  BLOCK_HEADER_BYTES,
  BLOCK_MAGIC,
  FILE_HEADER_BYTES,
  parseBlockHeader,
  toBlockCrc,
  type BlockHeader,
} from './headers.ts'
import type { Segment } from './segments.ts'

/** A good block: `stored` reads its payload, which is valid until the walk continues. */
export type GoodPiece = {
  readonly kind: 'good'
  readonly offset: number
  readonly header: BlockHeader
  stored(): Buffer
}

/** Bytes that are not a block, up to the next good one or the end of the file. */
export type BadPiece = {
  readonly kind: 'bad'
  readonly offset: number
  readonly length: number
  /** The last record that they held, where they are one block whose header is good. */
  readonly last: number | undefined
}

/** Selects the blocks whose payload a walk checks; of the others only the header is read. */
export type Check = (header: BlockHeader) => boolean

const READ_AHEAD_BYTES = 1024 * 1024
// Small while payloads are skipped: only headers are needed, and a second read costs less than reading them.
const SKIP_AHEAD_BYTES = 16 * 1024

/**
 * Goes through a file block by block. Block numbers start at `from` and never step back; after
 * bytes that are not a block it continues at the next place where magic and both checksums match.
 */
export function* walkBlocks(
  segment: Segment,
  from: number,
  check: Check,
): Generator<GoodPiece | BadPiece, void, void> {
  const { size, seed } = segment
  let id = segment.header?.segment
  let next = from
  let ahead = READ_AHEAD_BYTES

  function headerAt(offset: number): BlockHeader | undefined {
    const header = parseBlockHeader(segment.read(offset, BLOCK_HEADER_BYTES, ahead), seed)
    return header === undefined || header.first < next || header.segment !== (id ?? header.segment)
      ? undefined
      : header
  }

  function isWhole(offset: number, header: BlockHeader): boolean {
    const length = BLOCK_HEADER_BYTES + header.storedBytes
    if (offset + length > size) return false
    const block = segment.read(offset, length, READ_AHEAD_BYTES)
    return block.length === length && toBlockCrc(block, seed) === header.crc
  }

  function findNext(offset: number): number {
    for (let at = offset; at < size;) {
      const bytes = segment.read(at, Math.min(READ_AHEAD_BYTES, size - at), READ_AHEAD_BYTES)
      const found = bytes.indexOf(BLOCK_MAGIC)
      if (found < 0) {
        // The magic may lie across the end of what was read.
        at += Math.max(1, bytes.length - BLOCK_MAGIC.length + 1)
        continue
      }
      at += found
      const header = headerAt(at)
      if (header !== undefined && isWhole(at, header)) return at
      at++
    }
    return size
  }

  for (let offset = Math.min(FILE_HEADER_BYTES, size); offset < size;) {
    const header = headerAt(offset)
    const checked = header !== undefined && check(header)
    const end = offset + BLOCK_HEADER_BYTES + (header?.storedBytes ?? 0)
    if (header === undefined || end > size || (checked && !isWhole(offset, header))) {
      const found = findNext(offset + 1)
      // Where the bad bytes extend past this block, its header does not cover all that they held.
      const last = header && found <= end ? header.first + header.count - 1 : undefined
      yield { kind: 'bad', offset, length: found - offset, last }
      offset = found
      continue
    }
    const at = offset
    const stored = () =>
      segment
        .read(at, BLOCK_HEADER_BYTES + header.storedBytes, READ_AHEAD_BYTES)
        .subarray(BLOCK_HEADER_BYTES)
    yield { kind: 'good', offset, header, stored }
    id ??= header.segment
    next = header.first + header.count
    ahead = checked ? READ_AHEAD_BYTES : SKIP_AHEAD_BYTES
    offset = end
  }
}
