import { closeSync, fdatasyncSync, ftruncateSync, openSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import type { VenueId } from '@priorbook/sdk/domain'
import { syncFolder, toDiskError } from './disk.ts'
import {
  BLOCK_HEADER_BYTES,
  FILE_HEADER_BYTES,
  type FileHeader,
  listSegments,
  openSegment,
  segmentStats,
  toReadError,
  type SegmentName,
  walkBlocks,
  type BadPiece,
} from '@priorbook/sdk/journal/format'

/** A torn tail that was cut off: bytes of a write that a crash interrupted. */
export type JournalRepair = {
  readonly file: string
  readonly offset: number
  readonly length: number
  /** The first number that the cut bytes may have held; it is assigned again. */
  readonly first: number
}

/** Where a journal ends and whether its newest file can be continued. */
export type JournalTail = {
  readonly next: number
  readonly file?: {
    readonly path: string
    readonly length: number
    readonly header: FileHeader
  }
  readonly repaired?: JournalRepair
}

/** Max records per segment, so that numbering can skip past a file whose count is lost. */
export const MAX_SEGMENT_RECORDS = 1_000_000_000

/**
 * Finds the end of a journal and makes it durable. Bytes after the last good block are a torn tail
 * and are cut off, unless they held records up to `acknowledged`: then they are damage, stay in place,
 * and numbering continues after them. A number that the store has applied is never assigned twice.
 */
export function repairTail(dir: string, venue: VenueId, acknowledged: number): JournalTail {
  const name = listSegments(dir, venue).at(-1)
  if (name === undefined) return { next: acknowledged + 1 }
  // The newest file is never moved, so this folder was made from what is in other storage. A damaged note does
  // not tell how many records its file has.
  if (name.isAway) {
    const last = segmentStats(name)?.last ?? name.first + MAX_SEGMENT_RECORDS - 1
    return { next: Math.max(acknowledged, last) + 1 }
  }
  const end = measure(name)
  const isAcknowledged = acknowledged >= end.next
  if (end.header === undefined && end.size > FILE_HEADER_BYTES && !end.hasBlocks) {
    return { next: Math.max(acknowledged + 1, name.first + MAX_SEGMENT_RECORDS) }
  }
  if (!end.hasBlocks && !isAcknowledged) {
    // The crash came between creating the file and writing to it; older files are complete.
    change(name.path, () => unlinkSync(name.path))
    syncFolder(dirname(name.path))
    const repaired = { file: name.path, offset: 0, length: end.size, first: name.first }
    return { ...repairTail(dir, venue, name.first - 1), repaired }
  }
  const { path } = name
  if (end.bad !== undefined && isAcknowledged) {
    return { next: Math.max(acknowledged, end.bad.last ?? 0) + 1 }
  }
  change(path, () => settle(path, end.length, end.bad !== undefined))
  const file = end.header && { path, length: end.length, header: end.header }
  const repaired = end.bad && {
    file: path,
    offset: end.bad.offset,
    length: end.bad.length,
    first: end.next,
  }
  return {
    next: Math.max(end.next, acknowledged + 1),
    ...(file && { file }),
    ...(repaired && { repaired }),
  }
}

type End = {
  readonly size: number
  readonly header: FileHeader | undefined
  readonly hasBlocks: boolean
  /** The end of the last good block. */
  readonly length: number
  readonly next: number
  readonly bad: BadPiece | undefined
}

function measure(name: SegmentName): End {
  const segment = openSegment(name)
  if (segment === undefined) throw toReadError(new Error('the file vanished'), name.path)
  try {
    let length = Math.min(FILE_HEADER_BYTES, segment.size)
    let next = name.first
    let hasBlocks = false
    let bad: BadPiece | undefined
    for (const piece of walkBlocks(segment, name.first, () => true)) {
      bad = piece.kind === 'bad' ? piece : undefined
      if (piece.kind === 'bad') continue
      hasBlocks = true
      length = piece.offset + BLOCK_HEADER_BYTES + piece.header.storedBytes
      next = piece.header.first + piece.header.count
    }
    return { size: segment.size, header: segment.header, hasBlocks, length, next, bad }
  } finally {
    segment.close()
  }
}

// Blocks that a crash left written but not synced are read as good, so they must become durable
// before anything is appended after them.
function settle(path: string, length: number, isTorn: boolean): void {
  const fd = openSync(path, 'r+')
  try {
    if (isTorn) ftruncateSync(fd, length)
    fdatasyncSync(fd)
    syncFolder(dirname(path))
  } finally {
    closeSync(fd)
  }
}

function change(path: string, action: () => void): void {
  try {
    action()
  } catch (error) {
    throw toDiskError(error, path)
  }
}
