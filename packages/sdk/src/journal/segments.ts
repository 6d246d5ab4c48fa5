import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
} from 'node:fs'
import { join } from 'node:path'
import { PriorbookError, type VenueId } from '../domain/index.ts'
import { parseAway, type AwayFile, type ReadAway } from './away.ts'
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
export type SegmentName = {
  readonly path: string
  readonly venue: VenueId
  readonly first: number
  /** True where the path is that of a note: the file is in other storage. */
  readonly isAway: boolean
}

/** A file of a journal open for reading. */
export interface Segment {
  readonly name: SegmentName
  readonly size: number
  /** Undefined when it is damaged; blocks can be read without it. */
  readonly header: FileHeader | undefined
  readonly seed: number
  /** Bytes of the file, valid until the next call; reads at least `ahead` bytes from disk at once. */
  read(offset: number, length: number, ahead: number): Buffer
  /** A block at or before a record, from which on it can be looked for; absent where none is known. */
  blockBefore(number: number): { readonly offset: number; readonly first: number } | undefined
  /** The last record, where that is known without reading. */
  readonly last?: number | undefined
  close(): void
}

const SEGMENT_NAME = /^(\d{16})\.(pbj|away)$/

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
    .map(([name, digits, ending]) => {
      return { path: join(folder, name), venue, first: Number(digits), isAway: ending === 'away' }
    })
    .sort((a, b) => a.first - b.first || Number(a.isAway) - Number(b.isAway))
    .filter(({ first }, index, all) => first !== all[index - 1]?.first)
}

/** The note beside a file of a journal once it is in other storage. */
export function awayPath(path: string): string {
  return path.replace(/\.pbj$/, '.away')
}

/** What the note on a file says; undefined where it is damaged or gone. */
export function readAway(name: SegmentName): AwayFile | undefined {
  try {
    return parseAway(readFileSync(name.path, 'utf8'))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw toReadError(error, name.path)
  }
}

/**
 * Opens a file of a journal; undefined when retention removed it since it was listed. Bytes of a file in other
 * storage are read with `away`.
 */
export function openSegment(name: SegmentName, away?: ReadAway): Segment | undefined {
  if (name.isAway) return openAway(name, away)
  let fd: number
  try {
    fd = openSync(name.path, 'r')
  } catch (error) {
    // It may have been moved since it was listed.
    if (isMissing(error))
      return openAway({ ...name, path: awayPath(name.path), isAway: true }, away)
    throw toReadError(error, name.path)
  }
  try {
    return toSegment(name, openFile(fd, name.path))
  } catch (error) {
    closeSync(fd)
    throw toReadError(error, name.path)
  }
}

function openAway(name: SegmentName, read: ReadAway = refuseAway): Segment | undefined {
  if (!existsSync(name.path)) return undefined
  const file = readAway(name)
  // Without its note a file is as good as empty.
  if (file === undefined) return toSegment(name, { size: 0, fill: () => 0, close: () => undefined })
  const header = Buffer.from(file.header, 'base64')
  return toSegment(name, {
    size: file.size,
    fill(into, offset, length) {
      const isHeader = offset + length <= header.length
      const bytes = isHeader ? header.subarray(offset) : read(file, offset, length)
      into.set(bytes.subarray(0, length))
      return Math.min(length, bytes.length)
    },
    blockBefore(number) {
      const mark = file.marks.findLast(([, first]) => first <= number)
      return mark && { offset: mark[0], first: mark[1] }
    },
    last: file.stats.last,
    close: () => undefined,
  })
}

function refuseAway({ address, name }: AwayFile): never {
  throw new PriorbookError(
    'objects_unavailable',
    `${name} of the journal is in ${address}: read it with priorbook-server, or copy it back as a .pbj file`,
  )
}

/** Wraps a failure to read a journal file as `store_unavailable`; a listed error passes unchanged. */
export function toReadError(error: unknown, path: string): PriorbookError {
  if (error instanceof PriorbookError) return error
  const { message } = error as Error
  return new PriorbookError('store_unavailable', `${path}: ${message}`, { cause: error })
}

/** Where the bytes of a file come from. */
type ByteSource = {
  readonly size: number
  /** Reads bytes to the start of a buffer and returns how many; fewer only where the file ends. */
  fill(into: Buffer, offset: number, length: number): number
  blockBefore?: Segment['blockBefore']
  readonly last?: number | undefined
  close(): void
}

function toSegment(name: SegmentName, source: ByteSource): Segment {
  const { size } = source
  let window = Buffer.alloc(0)
  let start = 0
  let held = 0

  function read(offset: number, length: number, ahead: number): Buffer {
    if (offset < start || offset + length > start + held) {
      const wanted = Math.min(Math.max(length, ahead), Math.max(0, size - offset))
      if (window.length < wanted) window = Buffer.allocUnsafe(wanted)
      held = 0
      held = source.fill(window, offset, wanted)
      start = offset
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
    blockBefore: source.blockBefore ?? (() => undefined),
    last: source.last,
    close: () => source.close(),
  }
}

function openFile(fd: number, path: string): ByteSource {
  return {
    // What a running writer appends later is left to the next reading.
    size: fstatSync(fd).size,
    fill: (into, offset, length) => readFully(fd, into, offset, length, path),
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
 * Goes through a file block by block, from the block at `start` on. Block numbers start at `from` and never step
 * back; after bytes that are not a block it continues at the next place where magic and both checksums match.
 */
export function* walkBlocks(
  segment: Segment,
  from: number,
  check: Check,
  start: number = FILE_HEADER_BYTES,
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

  for (let offset = Math.min(start, size); offset < size;) {
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
