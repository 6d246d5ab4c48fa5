import { createHash, randomUUID } from 'node:crypto'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { crc32, createGunzip, createZstdDecompress } from 'node:zlib'
import { PriorbookError } from '../domain/index.ts'
import { createNodePlatform } from '../tape/platform-node.ts'
import { ReplayError } from './error.ts'
import { FilePool } from './file-pool-node.ts'
import type { ByteStore, FileSource, ReplayPlatform, Spool } from './source.ts'
import { replay, type Replay, type ReplayOptions } from './replay.ts'

/** Options of a replay of files. */
export type FileReplayOptions = Omit<ReplayOptions, 'sources' | 'platform'>

/** Replays downloaded files of any markets: `tape` or NDJSON, plain or compressed by gzip or zstd. */
export function replayFiles(paths: readonly string[], options: FileReplayOptions = {}): Replay {
  const pool = new FilePool(openFile)
  const sources = paths.map((path) => fileSource(path, pool))
  return replay({ ...options, sources, platform: createReplayPlatform() })
}

// Bytes per read while a file is verified.
const BLOCK = 1 << 18

/** A local file as a source; files of one pool are not all open at once. */
export function fileSource(path: string, pool = new FilePool(openFile)): FileSource {
  return {
    kind: 'file',
    name: path,
    async *open(signal) {
      const file = await openFile(path)
      try {
        // One buffer for all blocks: a block is valid until the next one is requested. Not a `Buffer`, so
        // that all columns of a chunk are arrays of one kind.
        const buffer = new Uint8Array(BLOCK)
        for (;;) {
          signal.throwIfAborted()
          const { bytesRead } = await file.read(buffer, 0, BLOCK)
          if (bytesRead === 0) return
          yield buffer.subarray(0, bytesRead)
        }
      } finally {
        await file.close()
      }
    },
    openStore: async () => new FileStore(path, pool),
  }
}

/** Creates the platform of a replay from Node's zlib, crypto and file system. */
export function createReplayPlatform(): ReplayPlatform {
  return {
    ...createNodePlatform(),
    createSha256() {
      const hash = createHash('sha256')
      return { update: (bytes) => void hash.update(bytes), finish: () => hash.digest('hex') }
    },
    createCrc32() {
      let check = 0
      return {
        update: (bytes) => void (check = crc32(bytes, check)),
        finish: () => check.toString(16).padStart(8, '0'),
      }
    },
    unpack,
    openSpool: async () => new FileSpool(),
  }
}

class FileStore implements ByteStore {
  readonly name: string
  private readonly pool: FilePool

  constructor(name: string, pool: FilePool) {
    this.name = name
    this.pool = pool
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return this.pool.use(this.name, (file) => this.readFrom(file, offset, length))
  }

  close(): Promise<void> {
    return this.pool.close(this.name)
  }

  private async readFrom(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    for (let filled = 0; filled < length;) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled)
      if (bytesRead === 0) {
        throw new ReplayError('truncated_file', 'the file became shorter during the replay', {
          source: this.name,
          offset: offset + filled,
        })
      }
      filled += bytesRead
    }
    return bytes
  }
}

// Max bytes of a download that stay in memory; the rest goes to a temporary file.
const MEMORY_MAX = 1 << 25
// Bytes per write.
const WRITE_SIZE = 1 << 20

/** Keeps the first megabytes in memory and the rest in a temporary file. */
class FileSpool implements Spool {
  readonly name = 'spool'
  private readonly memory: Buffer[] = []
  private length = 0
  private file: FileHandle | undefined
  private waiting = Buffer.allocUnsafe(WRITE_SIZE)
  private filled = 0

  async append(bytes: Uint8Array): Promise<number> {
    const offset = this.length
    this.length += bytes.length
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(bytes.length - at, WRITE_SIZE - this.filled)
      this.waiting.set(bytes.subarray(at, at + count), this.filled)
      this.filled += count
      at += count
      if (this.filled === WRITE_SIZE) await this.flush()
    }
    return offset
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafeSlow(length)
    const flushed = this.length - this.filled
    for (let at = offset; at < offset + length;) {
      const block = Math.floor(at / WRITE_SIZE)
      const within = at - block * WRITE_SIZE
      const count = Math.min(WRITE_SIZE - within, offset + length - at)
      const into = bytes.subarray(at - offset, at - offset + count)
      if (at >= flushed) into.set(this.waiting.subarray(at - flushed, at - flushed + count))
      else if (block < this.memory.length) {
        into.set(this.memory[block]!.subarray(within, within + count))
      } else await this.readFile(into, at - this.memory.length * WRITE_SIZE)
      at += count
    }
    return bytes
  }

  async close(): Promise<void> {
    await this.file?.close()
    this.file = undefined
    this.memory.length = 0
  }

  private async flush(): Promise<void> {
    this.filled = 0
    if (this.memory.length * WRITE_SIZE < MEMORY_MAX) {
      this.memory.push(this.waiting)
      this.waiting = Buffer.allocUnsafe(WRITE_SIZE)
      return
    }
    this.file ??= await openUnlinked()
    await this.file.appendFile(this.waiting)
  }

  private async readFile(into: Buffer, position: number): Promise<void> {
    for (let filled = 0; filled < into.length;) {
      const left = into.length - filled
      const { bytesRead } = await this.file!.read(into, filled, left, position + filled)
      if (bytesRead === 0)
        throw new PriorbookError('store_unavailable', 'the temporary file is shorter than expected')
      filled += bytesRead
    }
  }
}

/** Opens a file that disappears when it is closed or the process ends. */
async function openUnlinked(): Promise<FileHandle> {
  const path = join(tmpdir(), `priorbook-replay-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  // Windows cannot unlink an open file; there the file stays.
  await unlink(path).catch(() => undefined)
  return file
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (cause) {
    const why = (cause as Error).message
    throw new ReplayError('store_unavailable', `cannot be read: ${why}`, { source: path }, cause)
  }
}

async function* unpack(
  kind: 'gzip' | 'zstd',
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const unpacker = kind === 'gzip' ? createGunzip() : createZstdDecompress()
  pipeline(Readable.from(copies(bytes)), unpacker, () => undefined)
  try {
    for await (const block of unpacker) yield block as Uint8Array
  } catch (cause) {
    const detail = `its ${kind} data is truncated or damaged: ${(cause as Error).message}`
    throw new PriorbookError('truncated_file', detail, { cause })
  } finally {
    unpacker.destroy()
  }
}

// A block is valid until the next one is requested, and a stream requests some ahead.
async function* copies(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const block of blocks) yield Buffer.from(block)
}
