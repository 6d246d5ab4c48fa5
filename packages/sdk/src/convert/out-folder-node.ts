import { appendFile, mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PriorbookError } from '../domain/index.ts'

// Bytes per read of what was written before.
const BLOCK = 1 << 20

/** A folder that gets finished files only: they are written beside their place and moved when they are complete. */
export class OutFolder {
  private readonly folder: string
  private readonly onBytes: (bytes: number) => void

  /** Calls `onBytes` before each write; where it throws, nothing is written. */
  constructor(folder: string, onBytes: (bytes: number) => void = () => undefined) {
    this.folder = folder
    this.onBytes = onBytes
  }

  /** Creates the folder; one with files is refused unless they may be replaced. */
  async open(isForced: boolean): Promise<void> {
    await mkdir(this.folder, { recursive: true })
    await rm(this.partsFolder, { recursive: true, force: true })
    if (isForced || (await readdir(this.folder)).length === 0) return
    throw new PriorbookError('invalid_argument', `${this.folder} has files already`)
  }

  /** Appends to a part. No file stays open, because a family has thousands of instruments. */
  async append(part: string, bytes: Uint8Array): Promise<void> {
    this.onBytes(bytes.length)
    const path = join(this.partsFolder, part)
    await mkdir(dirname(path), { recursive: true })
    await appendFile(path, bytes)
  }

  /** Reads a part. A block is valid until the next one is requested. */
  async *read(part: string): AsyncGenerator<Uint8Array> {
    let file: FileHandle | undefined
    try {
      file = await open(join(this.partsFolder, part))
      const buffer = Buffer.allocUnsafe(BLOCK)
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, BLOCK)
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
      }
    } finally {
      await file?.close()
    }
  }

  /** Moves a complete part to its place. */
  async keep(part: string, path: string): Promise<void> {
    const place = join(this.folder, path)
    await mkdir(dirname(place), { recursive: true })
    await rename(join(this.partsFolder, part), place)
  }

  /** Removes what is not complete. */
  async close(): Promise<void> {
    await rm(this.partsFolder, { recursive: true, force: true })
  }

  private get partsFolder(): string {
    return join(this.folder, '.parts')
  }
}
