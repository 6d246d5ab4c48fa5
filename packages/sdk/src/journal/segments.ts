import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { PriorbookError, type VenueId } from '../domain/index.ts'
import {
  BLOCK_HEADER_BYTES,
  BLOCK_MAGIC,
  FILE_HEADER_BYTES,
  parseBlockHeader,
  parseFileHeader,
  toBlockCrc,
  toChecksumSeed,
  type BlockHeader,
  type FileHeader,
} from './record.ts'

/** One file of a journal; its name contains the number of its first record. */
export type SegmentName = { readonly path: string; readonly venue: VenueId; readonly first: number }

/** A file of a journal open for reading. */
export interface Segment {
  readonly name: SegmentName
  readonly size: number
  /** Undefined when it is damaged; blocks can be read without it. */
  readonly header: FileHeader | undefined
  readonly seed: number
  /** Bytes of the file, valid until the next call; reads at least `ahead` bytes from disk at once. */
  read(offset: number, length: number, ahead: number): Buffer
  close(): void
}

const SEGMENT_NAME = /^(\d{16})\.pbj$/

/** The files of a venue's journal by number; none where the folder does not exist. */
export function listSegments(dir: string, venue: VenueId): readonly SegmentName[] {
  const folder = join(dir, venue)
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw toReadError(error, folder)
  }
  return names
    .map((name) => SEGMENT_NAME.exec(name))
    .filter((match) => match !== null)
    .map(([name, digits]) => ({ path: join(folder, name), venue, first: Number(digits) }))
    .sort((a, b) => a.first - b.first)
}

/** Opens a file of a journal; undefined when retention removed it since it was listed. */
export function openSegment(name: SegmentName): Segment | undefined {
  let fd: number
  try {
    fd = openSync(name.path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw toReadError(error, name.path)
  }
  try {
    return toSegment(fd, name)
  } catch (error) {
    closeSync(fd)
    throw toReadError(error, name.path)
  }
}

/** Wraps a failure to read a journal file as `store_unavailable`; a listed error passes unchanged. */
export function toReadError(error: unknown, path: string): PriorbookError {
  if (error instanceof PriorbookError) return error
  const { message } = error as Error
  return new PriorbookError('store_unavailable', `${path}: ${message}`, { cause: error })
}

function toSegment(fd: number, name: SegmentName): Segment {
  // What a running writer appends later is left to the next reading.
  const { size } = fstatSync(fd)
  let window = Buffer.alloc(0)
  let start = 0
  let held = 0

  function read(offset: number, length: number, ahead: number): Buffer {
    if (offset < start || offset + length > start + held) {
      const wanted = Math.min(Math.max(length, ahead), Math.max(0, size - offset))
      if (window.length < wanted) window = Buffer.allocUnsafe(wanted)
      start = offset
      held = readFully(fd, window, offset, wanted, name.path)
    }
    return window.subarray(offset - start, Math.min(held, offset - start + length))
  }

  const head = read(0, FILE_HEADER_BYTES, FILE_HEADER_BYTES)
  return {
    name,
    size,
    header: parseFileHeader(head, name.venue, name.first),
    seed: toChecksumSeed(name.venue, name.first),
    read,
    close: () => closeSync(fd),
  }
}

function readFully(fd: number, into: Buffer, at: number, length: number, path: string): number {
  let done = 0
  try {
    while (done < length) {
      const got = readSync(fd, into, done, length - done, at + done)
      if (got === 0) break
      done += got
    }
  } catch (error) {
    throw toReadError(error, path)
  }
  return done
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

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
