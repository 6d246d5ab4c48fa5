import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { SealedBlock } from './block-builder.ts'
import { syncFolder, toDiskError, writeFully } from './disk.ts'
import {
  FILE_HEADER_BYTES,
  toChecksumSeed,
  toFileHeader,
  writeBlockHeader,
  type FileHeader,
} from '@priorbook/sdk/journal/format'

/** A file of a journal open for appending. */
export interface SegmentFile {
  readonly header: FileHeader
  /** The end of the last durable block; bytes after it are overwritten. */
  readonly length: number
  /** Writes blocks and makes them durable: all of them, or none and an error. */
  append(blocks: readonly SealedBlock[]): void
  close(): void
}

/** Creates a file with its header; name and header are durable before its first block is written. */
export function createSegmentFile(path: string, header: FileHeader, sync: boolean): SegmentFile {
  let fd: number
  try {
    fd = openSync(path, 'wx+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw secondWriter(path)
    throw toDiskError(error, path)
  }
  try {
    writeFully(fd, toFileHeader(header), 0)
    if (sync) fdatasyncSync(fd)
    if (sync) syncFolder(dirname(path))
  } catch (error) {
    closeSync(fd)
    // `force`: a missing file must not replace the first error.
    rmSync(path, { force: true })
    throw toDiskError(error, path)
  }
  return toSegmentFile({ fd, path, header, length: FILE_HEADER_BYTES, sync })
}

/** Opens a file whose good blocks end at `length`, to be continued there. */
export function openSegmentFile(
  tail: { readonly path: string; readonly length: number; readonly header: FileHeader },
  sync: boolean,
): SegmentFile {
  try {
    return toSegmentFile({ ...tail, fd: openSync(tail.path, 'r+'), sync })
  } catch (error) {
    throw toDiskError(error, tail.path)
  }
}

function toSegmentFile(file: {
  readonly fd: number
  readonly path: string
  readonly header: FileHeader
  readonly length: number
  readonly sync: boolean
}): SegmentFile {
  const { fd, path, header, sync } = file
  const seed = toChecksumSeed(header.venue, header.first)
  let length = file.length
  let hasLeftover = false

  function write(blocks: readonly SealedBlock[]): number {
    if (hasLeftover) cutLeftover()
    const { size, nlink } = fstatSync(fd)
    if (size !== length || nlink === 0) throw secondWriter(path)
    hasLeftover = true
    let at = length
    for (const block of blocks) {
      const { origin, segment } = header
      writeBlockHeader(block.bytes, { ...block, origin, segment }, seed)
      writeFully(fd, block.bytes, at)
      at += block.bytes.length
    }
    // On macOS libuv asks for F_FULLFSYNC here, without which the drive may still hold the data.
    if (sync) fdatasyncSync(fd)
    hasLeftover = false
    return at
  }

  function cutLeftover(): void {
    ftruncateSync(fd, length)
    hasLeftover = false
  }

  return {
    header,
    get length() {
      return length
    },
    append(blocks) {
      try {
        length = write(blocks)
      } catch (error) {
        try {
          // After a failed sync the kernel may mark lost pages clean, so the blocks are written again.
          if (hasLeftover) cutLeftover()
        } catch {
          // Truncating is retried before the next write.
        }
        throw toDiskError(error, path)
      }
    },
    close: () => closeSync(fd),
  }
}

function secondWriter(path: string): PriorbookError {
  return new PriorbookError(
    'store_locked',
    `${path} was changed by another process: one writer per venue and data folder`,
  )
}
