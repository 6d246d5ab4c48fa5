import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  // A file size limit (`ulimit -f`, or the file system's own) is a full disk for this file.
  EFBIG: 'disk_full',
  EROFS: 'store_read_only',
  EACCES: 'store_read_only',
  EPERM: 'store_read_only',
}

/** Wraps a failure to write in a listed error code; a listed error passes unchanged. */
export function toDiskError(error: unknown, path: string): PriorbookError {
  if (error instanceof PriorbookError) return error
  const { code = '', message } = error as NodeJS.ErrnoException
  return new PriorbookError(CODES[code] ?? 'store_unavailable', `${path}: ${message}`, {
    cause: error,
  })
}

/** Writes all bytes at a position; one write call on a nearly full disk may store only a part. */
export function writeFully(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done)
  }
}

/** Makes created, renamed or removed names of a folder durable. */
export function syncFolder(path: string): void {
  // Windows cannot open folders; its file system journals names by itself.
  if (process.platform === 'win32') return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
