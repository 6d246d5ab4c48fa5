import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { PriorbookError, type VenueId } from '../domain/index.ts'
import { FILE_HEADER_BYTES, parseFileHeader, toChecksumSeed, type FileHeader } from './headers.ts'

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
