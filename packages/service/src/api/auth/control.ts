import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PriorbookError } from '@priorbook/sdk/domain'

/** The name of the file of keys, usage and secrets in a data folder. */
export const CONTROL_FILE = 'control.db'

const VERSION = 1
/** How long a writer waits for another process. */
export const BUSY_MS = 5000

const SCHEMA = `
CREATE TABLE IF NOT EXISTS key (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  last_four TEXT NOT NULL,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER,
  revoked INTEGER,
  replaced_by TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS usage (
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  route TEXT NOT NULL,
  requests INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  limited INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (key_id, day, route)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secret (
  id INTEGER PRIMARY KEY,
  purpose TEXT NOT NULL,
  value BLOB NOT NULL,
  created INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
`

/** Opens or creates the control database, which several processes read and write. */
export function openControl(file: string): DatabaseSync {
  try {
    mkdirSync(dirname(file), { recursive: true })
    const database = new DatabaseSync(file)
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL`)
    const { user_version: version } = database.prepare('PRAGMA user_version').get() as {
      user_version: number
    }
    if (version > VERSION) {
      database.close()
      throw new PriorbookError('newer_schema', `${file} has version ${version}`)
    }
    if (version < VERSION) database.exec(`${SCHEMA} PRAGMA user_version = ${VERSION}`)
    return database
  } catch (cause) {
    if (cause instanceof PriorbookError) throw cause
    const why = cause instanceof Error ? cause.message : ''
    throw new PriorbookError('store_unavailable', `${file} cannot be opened: ${why}`, { cause })
  }
}

/** Runs work in one write transaction. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // SQLite has already rolled back when the disk is full.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
