import { chmodSync, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createHmac, randomBytes } from 'node:crypto'
import { PriorbookError, type Micros } from '@priorbook/sdk/domain'
import { makeFolder } from '../../lib/make-folder.ts'
import { createKeyText } from './key-text.ts'

/** The name of the file of keys, usage and secrets in a data folder. */
export const CONTROL_FILE = 'control.db'

const VERSION = 2
/** How long a writer waits for another process. */
export const BUSY_MS = 5000

// What this node counted, and what all other nodes of a shared tape did.
function toUsageTable(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  route TEXT NOT NULL,
  requests INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  limited INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (key_id, day, route)
) STRICT, WITHOUT ROWID;`
}

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
${['usage', 'usage_elsewhere'].map(toUsageTable).join('')}
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
    makeFolder(dirname(file))
    const database = new DatabaseSync(file)
    // Keys are hashed, but usage and cursor secrets are for the operator alone. SQLite gives its log and
    // its shared memory the mode of the database.
    chmodSync(file, 0o600)
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL`)
    // The file has a few pages, so its log need not become a thousand.
    database.exec('PRAGMA wal_autocheckpoint = 100')
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

/** Copies a small database of a folder into another one, as of one moment; does nothing without one. */
export function copyDatabase(name: string, fromFolder: string, toFolder: string): void {
  const from = join(fromFolder, name)
  if (!existsSync(from)) return
  const database = new DatabaseSync(from, { readOnly: true })
  try {
    const to = join(toFolder, name)
    database.prepare('VACUUM INTO ?').run(to)
    chmodSync(to, 0o600)
  } finally {
    database.close()
  }
}

/** How many keys a folder has; 0 without a control database. */
export function countKeys(folder: string): number {
  const file = join(folder, CONTROL_FILE)
  if (!existsSync(file)) return 0
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return (database.prepare('SELECT count(*) AS n FROM key').get() as { n: number }).n
  } finally {
    database.close()
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

const SECRET_BYTES = 32

/** The secrets of a purpose, newest first; one is created when there is none. */
export function readSecrets(
  database: DatabaseSync,
  purpose: 'cursor' | 'demo_key',
  now: Micros,
): readonly Uint8Array[] {
  const all = database.prepare('SELECT value FROM secret WHERE purpose = ? ORDER BY id DESC')
  const read = (): Uint8Array[] => all.all(purpose).map((row) => row['value'] as Uint8Array)
  const known = read()
  if (known.length > 0) return known
  return inTransaction(database, () => {
    // Another process may have created one meanwhile.
    const others = read()
    if (others.length > 0) return others
    const value = randomBytes(SECRET_BYTES)
    database
      .prepare('INSERT INTO secret (purpose, value, created) VALUES (?, ?, ?)')
      .run(purpose, value, now)
    return [value]
  })
}

/** A secret of its own for a part of the service, such as the demo. */
export function deriveSecret(secret: Uint8Array, purpose: string): Uint8Array {
  return createHmac('sha256', secret).update(purpose).digest()
}

/**
 * The key of an emulated data folder: derived from a secret of the folder, so that it can be shown at
 * every start although no key is ever stored.
 */
export function deriveKeyText(secret: Uint8Array): string {
  // Bytes from 248 on are skipped: taken modulo 62 they would favour some digits.
  const bytes: number[] = []
  for (let block = 0; bytes.length < 30; block++) {
    bytes.push(...deriveSecret(secret, `digits ${block}`).filter((byte) => byte < 248))
  }
  let next = 0
  return createKeyText(() => bytes[next++]! % 62)
}
