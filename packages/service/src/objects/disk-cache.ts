import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  futimesSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeFolder } from '../lib/make-folder.ts'

/** Blocks of objects on disk, which may be gone at any time. */
export type DiskCache = {
  /** The bytes of a block; undefined where they are not there or not whole. */
  get(name: string, block: number): Uint8Array | undefined
  /** Keeps a block if there is a way; nothing is lost otherwise. */
  put(name: string, block: number, bytes: Uint8Array): void
}

const MAGIC = 0x314b4250
// Magic, length, checksum and zero: the bytes behind it stay aligned for typed arrays.
const HEADER_BYTES = 16
// What the smallest file takes on disk.
const PAGE_BYTES = 4096
const TOUCH_MS = 60_000
// A temporary file that is older belongs to a process that is gone.
const LEFTOVER_MS = 600_000
// A scan leaves an eighth free, and comes again when a quarter of that was written: four processes that
// know nothing of each other stay within the limit.
const FULL_SHARE = 7 / 8
const SCAN_SHARE = 1 / 32

// Nothing else in the folder is counted or removed: it may be the wrong folder.
const OWN_FILE = /^[0-9a-f]{32}-\d+\.block$/
const TEMPORARY_FILE = /^[0-9a-f-]{36}\.block-temporary$/

/**
 * Opens a cache in a folder that several processes share. Its files take at most `maxBytes`; those that
 * were not read for the longest time go first. A full or failing disk only makes it forget.
 */
export function openDiskCache(options: {
  readonly folder: string
  readonly maxBytes: number
}): DiskCache {
  const { folder, maxBytes } = options
  let writtenSinceScan = 0
  const makeRoom = (bytes: number): void => {
    evict(folder, maxBytes * FULL_SHARE - bytes)
    writtenSinceScan = 0
  }
  makeRoom(0)
  return {
    get(name, block) {
      const path = join(folder, fileOf(name, block))
      const bytes = orNothing(() => readBlock(path, seedOf(name, block), maxBytes))
      // Damaged, cut, or of another version.
      if (bytes === null) orNothing(() => unlinkSync(path))
      return bytes ?? undefined
    },
    put(name, block, bytes) {
      const size = diskSize(bytes.length + HEADER_BYTES)
      // Also where the limit is no number.
      if (!(size <= maxBytes * FULL_SHARE)) return
      if (!(writtenSinceScan + size <= maxBytes * SCAN_SHARE)) makeRoom(size)
      writtenSinceScan += size
      const temporary = join(folder, `${randomUUID()}.block-temporary`)
      const isKept = orNothing(() => {
        writeBlock(temporary, seedOf(name, block), bytes)
        renameSync(temporary, join(folder, fileOf(name, block)))
        return true
      })
      if (isKept) return
      orNothing(() => unlinkSync(temporary))
      // The next put scans the folder again: it may be missing, or have room by then.
      writtenSinceScan = Infinity
    },
  }
}

/** Undefined where there is no file, null where its bytes are not those that were put. */
function readBlock(path: string, seed: number, maxBytes: number): Uint8Array | null {
  const file = openSync(path, 'r')
  try {
    const { size, mtimeMs } = fstatSync(file)
    if (size < HEADER_BYTES || size > maxBytes) return null
    const all = Buffer.allocUnsafeSlow(size)
    let done = 0
    for (let last = 1; done < size && last > 0; done += last) {
      last = readSync(file, all, done, size - done, done)
    }
    const bytes = all.subarray(HEADER_BYTES)
    const isWhole = done === size && all.readUInt32LE(0) === MAGIC
    if (!isWhole || all.readUInt32LE(4) !== bytes.length) return null
    if (all.readUInt32LE(8) !== crc32(bytes, seed)) return null
    const now = Date.now()
    if (Math.abs(now - mtimeMs) > TOUCH_MS)
      orNothing(() => futimesSync(file, now / 1000, now / 1000))
    return bytes
  } finally {
    closeSync(file)
  }
}

function writeBlock(path: string, seed: number, bytes: Uint8Array): void {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(MAGIC, 0)
  header.writeUInt32LE(bytes.length, 4)
  header.writeUInt32LE(crc32(bytes, seed), 8)
  const file = openSync(path, 'wx')
  try {
    writeFileSync(file, header)
    writeFileSync(file, bytes)
  } finally {
    closeSync(file)
  }
}

/** Removes the files that were not read for the longest time until the others take `target` bytes. */
function evict(folder: string, target: number): void {
  orNothing(() => makeFolder(folder))
  let total = 0
  const found: { path: string; size: number; mtimeMs: number }[] = []
  for (const name of orNothing(() => readdirSync(folder)) ?? []) {
    const isTemporary = TEMPORARY_FILE.test(name)
    if (!isTemporary && !OWN_FILE.test(name)) continue
    const path = join(folder, name)
    const stats = orNothing(() => lstatSync(path))
    if (stats === undefined || !stats.isFile()) continue
    if (isTemporary && Date.now() - stats.mtimeMs > LEFTOVER_MS) orNothing(() => unlinkSync(path))
    else {
      const size = diskSize(stats.size)
      total += size
      if (!isTemporary) found.push({ path, size, mtimeMs: stats.mtimeMs })
    }
  }
  if (total <= target) return
  found.sort((a, b) => a.mtimeMs - b.mtimeMs)
  for (const { path, size } of found) {
    if (total <= target) return
    orNothing(() => unlinkSync(path))
    total -= size
  }
}

function fileOf(name: string, block: number): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32)
  return `${hash}-${block}.block`
}

/** The checksum begins with what the block is of, so that a file under a wrong name is none. */
function seedOf(name: string, block: number): number {
  return crc32(`${name}\n${block}`)
}

function diskSize(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES
}

/** What the disk refuses is as if it were not there. */
function orNothing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
