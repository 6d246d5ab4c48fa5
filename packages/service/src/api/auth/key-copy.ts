import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openControl } from './control.ts'
import type { KeyRecord } from './keys.ts'
import { listKeys, readRevision } from './keys.ts'

/**
 * The keys of a control file, held in memory: they stay valid while the file is damaged or missing. When another
 * file takes its place, the server opens that one.
 */
export class KeyCopy {
  readonly #file: string
  readonly #onReplaced: (database: DatabaseSync) => void
  readonly #onTrouble: (why: string) => void
  #database: DatabaseSync
  #inode: number | undefined
  #keys: ReadonlyMap<string, KeyRecord>
  #stored: number
  #revision = 1
  #told = ''

  constructor(
    file: string,
    database: DatabaseSync,
    onReplaced: (database: DatabaseSync) => void,
    onTrouble: (why: string) => void,
  ) {
    this.#file = file
    this.#database = database
    this.#onReplaced = onReplaced
    this.#onTrouble = onTrouble
    this.#inode = inodeOf(file)
    this.#stored = readRevision(database)
    this.#keys = listKeys(database)
  }

  /** Rises when keys have changed; looks at the file, and never throws. */
  revision(): number {
    try {
      this.#look()
      this.#told = ''
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      const why = `${this.#file}: ${detail}; the keys known so far go on working`
      if (why !== this.#told) this.#onTrouble(why)
      this.#told = why
    }
    return this.#revision
  }

  /** All keys, as they are now. */
  list(): readonly KeyRecord[] {
    this.revision()
    return [...this.#keys.values()]
  }

  findByHash(hash: string): KeyRecord | undefined {
    const known = this.#keys.get(hash)
    if (known !== undefined) return known
    // It may have been created a moment ago.
    this.revision()
    return this.#keys.get(hash)
  }

  #look(): void {
    const inode = inodeOf(this.#file)
    if (inode === undefined) throw new Error('the file is gone')
    if (inode === this.#inode && this.#isReadable()) {
      if (readRevision(this.#database) !== this.#stored) this.#take(this.#database)
      return
    }
    const database = openControl(this.#file)
    this.#take(database)
    this.#database = database
    this.#inode = inode
    this.#onReplaced(database)
  }

  // A file that was damaged may have been overwritten by a good one.
  #isReadable(): boolean {
    try {
      readRevision(this.#database)
      return true
    } catch {
      return false
    }
  }

  #take(database: DatabaseSync): void {
    const stored = readRevision(database)
    this.#keys = listKeys(database)
    this.#stored = stored
    this.#revision++
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}
