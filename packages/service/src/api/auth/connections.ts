import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

const TOUCH_MS = 5000
// Counts of a process that has not touched them for this long are ignored: it does not run any more.
const STALE_MS = 16_000
const BUSY_MS = 250

/** Opens the counts; where the file cannot be used, each process counts for itself. */
export function openConnections(
  file: string,
  onTrouble: (why: string) => void = () => {},
): Connections {
  try {
    return new Connections(new ConnectionTable(new DatabaseSync(file)), onTrouble)
  } catch (error) {
    onTrouble(error instanceof Error ? error.message : String(error))
    return new Connections(undefined, onTrouble)
  }
}

/**
 * Counts the open connections of keys, over all processes of a data folder. Each process writes its count
 * per key, and touches its rows every few seconds while it runs.
 */
export class Connections {
  readonly #table: ConnectionTable | undefined
  readonly #onTrouble: (why: string) => void
  readonly #own = new Map<string, number>()
  readonly #timer: NodeJS.Timeout

  constructor(table: ConnectionTable | undefined, onTrouble: (why: string) => void) {
    this.#table = table
    this.#onTrouble = onTrouble
    this.#timer = setInterval(() => {
      if (this.#own.size > 0) this.#attempt((one) => one.touch(Date.now()), undefined)
    }, TOUCH_MS).unref()
  }

  /** Counts one more connection; false when the key already has `max`. */
  open(keyId: string, max: number): boolean {
    const own = this.#own.get(keyId) ?? 0
    if (own >= max) return false
    const isFree = this.#attempt((table) => table.add(keyId, own, max, Date.now()), true)
    if (isFree) this.#own.set(keyId, own + 1)
    return isFree
  }

  /** Counts one connection less. */
  end(keyId: string): void {
    const left = (this.#own.get(keyId) ?? 1) - 1
    if (left > 0) this.#own.set(keyId, left)
    else this.#own.delete(keyId)
    this.#attempt((table) => table.set(keyId, left, Date.now()), undefined)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#attempt((table) => table.close(), undefined)
  }

  #attempt<T>(work: (table: ConnectionTable) => T, otherwise: T): T {
    if (this.#table === undefined) return otherwise
    try {
      return work(this.#table)
    } catch (error) {
      this.#onTrouble(error instanceof Error ? error.message : String(error))
      return otherwise
    }
  }
}

/** The counts of all processes in a database. */
class ConnectionTable {
  readonly #process = randomBytes(8).toString('hex')
  readonly #database: DatabaseSync
  readonly #others
  readonly #write
  readonly #drop
  readonly #touch
  readonly #forget

  constructor(database: DatabaseSync) {
    this.#database = database
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA synchronous = OFF`)
    database.exec(
      `CREATE TABLE IF NOT EXISTS connection (
         process TEXT NOT NULL, key_id TEXT NOT NULL, count INTEGER NOT NULL, touched INTEGER NOT NULL,
         PRIMARY KEY (process, key_id)
       ) STRICT, WITHOUT ROWID`,
    )
    this.#others = database.prepare(
      `SELECT coalesce(sum(count), 0) AS count FROM connection
       WHERE key_id = ? AND process <> ? AND touched > ?`,
    )
    this.#write = database.prepare(
      `INSERT INTO connection (process, key_id, count, touched) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = excluded.count, touched = excluded.touched`,
    )
    this.#drop = database.prepare('DELETE FROM connection WHERE process = ? AND key_id = ?')
    this.#touch = database.prepare('UPDATE connection SET touched = ? WHERE process = ?')
    this.#forget = database.prepare('DELETE FROM connection WHERE touched < ? OR process = ?')
  }

  /** Adds a connection to the `own` ones unless all processes together have `max`. */
  add(keyId: string, own: number, max: number, nowMs: number): boolean {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const found = this.#others.get(keyId, this.#process, nowMs - STALE_MS)
      if (Number(found?.['count'] ?? 0) + own >= max) return false
      this.#write.run(this.#process, keyId, own + 1, nowMs)
      return true
    } finally {
      this.#database.exec('COMMIT')
    }
  }

  set(keyId: string, count: number, nowMs: number): void {
    if (count > 0) this.#write.run(this.#process, keyId, count, nowMs)
    else this.#drop.run(this.#process, keyId)
  }

  /** Shows that this process runs, and deletes the rows of processes that ended long ago. */
  touch(nowMs: number): void {
    this.#touch.run(nowMs, this.#process)
    this.#forget.run(nowMs - 10 * STALE_MS, '')
  }

  close(): void {
    try {
      this.#forget.run(0, this.#process)
    } finally {
      this.#database.close()
    }
  }
}
