import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../embedded/database.ts'
import type { ReadBody } from '../embedded/bodies.ts'

// Max files that stay open; the least recently used are closed first.
const OPEN_FILES = 256

/** Where the bodies of an index are: file, offset and length by the number of the body. */
export const PLACE_TABLES = `
CREATE TABLE folder_file (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  size INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  code TEXT,
  detail TEXT
) STRICT;
CREATE TABLE folder_place (
  body INTEGER PRIMARY KEY,
  file INTEGER NOT NULL,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL
) STRICT;
`

/** Reads chunks from the files of a folder. An unreadable chunk is absent and becomes a gap. */
export class FolderBodies {
  private readonly folder: string
  private readonly names: readonly string[]
  private readonly file: Uint32Array
  private readonly start: Float64Array
  private readonly length: Uint32Array
  private readonly open = new Map<number, number>()

  constructor(folder: string, index: Database) {
    this.folder = folder
    const files = index.all('SELECT id, name FROM folder_file ORDER BY id')
    const names: string[] = []
    for (const { id, name } of files) names[id as number] = name as string
    this.names = names
    const last = index.get('SELECT coalesce(max(body), 0) AS last FROM folder_place')!['last']
    const size = (last as number) + 1
    this.file = new Uint32Array(size)
    this.start = new Float64Array(size)
    this.length = new Uint32Array(size)
    for (const row of index.all('SELECT body, file, start, length FROM folder_place')) {
      const body = row['body'] as number
      this.file[body] = row['file'] as number
      this.start[body] = row['start'] as number
      this.length[body] = row['length'] as number
    }
  }

  readonly read: ReadBody = (body) => {
    const length = this.length[body]
    if (length === undefined || length === 0) return undefined
    return this.readPlace(this.file[body]!, this.start[body]!, length)
  }

  /** The bytes at a position of a file; absent where the file no longer has them. */
  readPlace(id: number, start: number, length: number): Uint8Array | undefined {
    const bytes = Buffer.allocUnsafe(length)
    try {
      const file = this.openFile(id)
      for (let filled = 0; filled < length;) {
        const count = readSync(file, bytes, filled, length - filled, start + filled)
        if (count === 0) return undefined
        filled += count
      }
    } catch {
      return undefined
    }
    return bytes
  }

  close(): void {
    for (const file of this.open.values()) closeSync(file)
    this.open.clear()
  }

  private openFile(id: number): number {
    let file = this.open.get(id)
    if (file === undefined) {
      file = openSync(join(this.folder, this.names[id]!), 'r')
      const oldest = this.open.size >= OPEN_FILES ? this.open.entries().next().value : undefined
      if (oldest !== undefined) {
        closeSync(oldest[1])
        this.open.delete(oldest[0])
      }
    } else this.open.delete(id)
    this.open.set(id, file)
    return file
  }
}
