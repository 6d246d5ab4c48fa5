import type { FileHandle } from 'node:fs/promises'

type Entry = { readonly file: Promise<FileHandle>; users: number; isUnwanted: boolean }

// Far below the limit of open files that systems set by default (1,024 or 256).
const MAX_OPEN = 64

/** Keeps a bounded number of files open, so that a replay can read thousands of them. */
export class FilePool {
  private readonly openFile: (path: string) => Promise<FileHandle>
  /** Open files by path, the least recently used first. */
  private readonly files = new Map<string, Entry>()

  constructor(openFile: (path: string) => Promise<FileHandle>) {
    this.openFile = openFile
  }

  /** Calls `work` with an open file. */
  async use<Result>(path: string, work: (file: FileHandle) => Promise<Result>): Promise<Result> {
    const entry = this.files.get(path) ?? this.open(path)
    this.files.delete(path)
    this.files.set(path, entry)
    entry.users++
    try {
      return await work(await entry.file)
    } finally {
      entry.users--
      await this.closeIdle()
    }
  }

  /** Closes a file: at once, or after the reads that have begun. */
  async close(path: string): Promise<void> {
    const entry = this.files.get(path)
    if (entry === undefined) return
    entry.isUnwanted = true
    await this.closeIdle()
  }

  private open(path: string): Entry {
    const file = this.openFile(path)
    // A file that could not be opened is tried again with the next read.
    file.catch(() => this.files.delete(path))
    return { file, users: 0, isUnwanted: false }
  }

  private async closeIdle(): Promise<void> {
    const idle = [...this.files].filter(([, { users }]) => users === 0)
    for (const [path, entry] of idle) {
      if (!entry.isUnwanted && this.files.size <= MAX_OPEN) continue
      if (entry.users > 0 || !this.files.delete(path)) continue
      await (await entry.file).close()
    }
  }
}
