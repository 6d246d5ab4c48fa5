import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

/** Counts the open connections of keys, over all processes of a data folder. */
export interface Connections {
  /** Counts one more connection; false when the key has as many as it may. */
  open(keyId: string, most: number): boolean
  /** Counts one less. */
  end(keyId: string): void
  close(): void
}

const TOUCH_MS = 5000
// What a process counted that does not run any more is forgotten.
const STALE_MS = 16_000
const PATIENCE_MS = 250

/**
 * Each process writes how many connections it has for each key, and says every few seconds that it still
 * runs. Where the file cannot be used, each process counts for itself.
 */
export function openConnections(
  file: string,
  onTrouble: (why: string) => void = () => {},
): Connections {
  const own = new Map<string, number>()
  const name = randomBytes(8).toString('hex')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}; PRAGMA synchronous = OFF`)
    database.exec(
      `CREATE TABLE IF NOT EXISTS connection (
         process TEXT NOT NULL, key_id TEXT NOT NULL, count INTEGER NOT NULL, touched INTEGER NOT NULL,
         PRIMARY KEY (process, key_id)
       ) STRICT, WITHOUT ROWID`,
    )
  } catch (error) {
    onTrouble(error instanceof Error ? error.message : String(error))
  }
  const others = database?.prepare(
    `SELECT coalesce(sum(count), 0) AS count FROM connection
     WHERE key_id = ? AND process <> ? AND touched > ?`,
  )
  const write = database?.prepare(
    `INSERT INTO connection (process, key_id, count, touched) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = excluded.count, touched = excluded.touched`,
  )
  const drop = database?.prepare('DELETE FROM connection WHERE process = ? AND key_id = ?')
  const touch = database?.prepare('UPDATE connection SET touched = ? WHERE process = ?')
  const forget = database?.prepare('DELETE FROM connection WHERE touched < ? OR process = ?')

  const attempt = <T>(work: () => T, otherwise: T): T => {
    try {
      return work()
    } catch (error) {
      onTrouble(error instanceof Error ? error.message : String(error))
      return otherwise
    }
  }
  const timer = setInterval(() => {
    if (own.size === 0) return
    attempt(() => {
      touch?.run(Date.now(), name)
      forget?.run(Date.now() - 10 * STALE_MS, '')
    }, undefined)
  }, TOUCH_MS).unref()

  return {
    open(keyId, most) {
      const now = Date.now()
      const mine = own.get(keyId) ?? 0
      if (mine >= most) return false
      const isFree = attempt(() => {
        database?.exec('BEGIN IMMEDIATE')
        try {
          const found = others?.get(keyId, name, now - STALE_MS)
          if (Number(found?.['count'] ?? 0) + mine >= most) return false
          write?.run(name, keyId, mine + 1, now)
          return true
        } finally {
          database?.exec('COMMIT')
        }
      }, true)
      if (isFree) own.set(keyId, mine + 1)
      return isFree
    },
    end(keyId) {
      const left = (own.get(keyId) ?? 1) - 1
      if (left > 0) own.set(keyId, left)
      else own.delete(keyId)
      attempt(() => {
        if (left > 0) write?.run(name, keyId, left, Date.now())
        else drop?.run(name, keyId)
      }, undefined)
    },
    close() {
      clearInterval(timer)
      attempt(() => forget?.run(0, name), undefined)
      database?.close()
    },
  }
}
