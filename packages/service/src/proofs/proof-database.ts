import { accessSync, chmodSync, closeSync, constants, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { PriorbookError } from '@priorbook/sdk/domain'

/** The name of the file with signed roots and their leaves in a data folder. */
export const PROOFS_FILE = 'proofs.db'

const VERSION = 2
const BUSY_MS = 5000

/**
 * - installation_key: the public keys that have signed here.
 * - waiting: sealed chunks that no root names yet, in the order of leaves.
 * - leaf, node: the tree of each day. A node of level n covers 2^n leaves; it is there once they all are.
 * - statement: what was signed. Nothing here is ever changed or removed; leaves beyond the size of the
 *   newest statement of a day are a draft.
 * - removed: days of which retention removed something: the tree of its roots, and chunks that no root names.
 */
const REMOVED = `
CREATE TABLE removed (
  day INTEGER PRIMARY KEY,
  tree INTEGER NOT NULL,
  unsigned INTEGER NOT NULL
) STRICT;
`
const SCHEMA = `
CREATE TABLE installation_key (public TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE waiting (
  day INTEGER NOT NULL,
  venue TEXT NOT NULL,
  market TEXT NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  metric TEXT NOT NULL,
  first INTEGER NOT NULL,
  hash TEXT NOT NULL,
  leaf TEXT NOT NULL,
  noted INTEGER NOT NULL,
  PRIMARY KEY (day, venue, market, key, kind, metric, first, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE leaf (
  day INTEGER NOT NULL,
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (day, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE node (
  day INTEGER NOT NULL,
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (day, level, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE statement (
  sequence INTEGER PRIMARY KEY,
  day INTEGER NOT NULL,
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  hash TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX statement_by_day ON statement (day, number);
${REMOVED}`

type Values = readonly SQLInputValue[]

/** The database of roots, with statements that are prepared once. */
export class ProofDatabase {
  private readonly connection: DatabaseSync
  private readonly statements = new Map<string, StatementSync>()

  constructor(folder: string, isReadOnly: boolean) {
    const file = join(folder, PROOFS_FILE)
    try {
      // Leaves name markets and their number of rows, which plans may leave out.
      if (!isReadOnly && !existsSync(file)) closeSync(openSync(file, 'a', 0o600))
      this.connection = isReadOnly ? connectReader(file) : connect(file, false)
      this.prepareSchema(file, isReadOnly)
      if (!isReadOnly) chmodSync(file, 0o600)
    } catch (cause) {
      if (cause instanceof PriorbookError) throw cause
      const why = cause instanceof Error ? cause.message : ''
      throw new PriorbookError('store_unavailable', `${file} cannot be opened: ${why}`, { cause })
    }
  }

  all<Row>(sql: string, ...values: Values): Row[] {
    return this.prepare(sql).all(...values) as Row[]
  }

  /** How many rows a statement changed. */
  run(sql: string, ...values: Values): number {
    return Number(this.prepare(sql).run(...values).changes)
  }

  /** Runs `work` in a transaction: all of it, synced, or nothing. */
  write<T>(work: () => T): T {
    this.connection.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.connection.exec('COMMIT')
      return result
    } catch (error) {
      if (this.connection.isTransaction) this.connection.exec('ROLLBACK')
      throw error
    }
  }

  /** Writes a consistent copy while others read and write. */
  copyTo(file: string): void {
    this.connection.prepare('VACUUM INTO ?').run(file)
    chmodSync(file, 0o600)
  }

  close(): void {
    this.statements.clear()
    this.connection.close()
  }

  private prepareSchema(file: string, isReadOnly: boolean): void {
    const { user_version: version } = this.connection.prepare('PRAGMA user_version').get() as {
      user_version: number
    }
    if (version > VERSION) {
      throw new PriorbookError('newer_schema', `${file} has version ${version}`)
    }
    if (version === VERSION || isReadOnly) return
    const missing = version === 0 ? SCHEMA : REMOVED
    this.write(() => this.connection.exec(`${missing} PRAGMA user_version = ${VERSION}`))
  }

  private prepare(sql: string): StatementSync {
    let statement = this.statements.get(sql)
    if (statement === undefined) {
      statement = this.connection.prepare(sql)
      this.statements.set(sql, statement)
    }
    return statement
  }
}

function connect(file: string, readOnly: boolean): DatabaseSync {
  return new DatabaseSync(file, { readOnly, timeout: BUSY_MS })
}

// A killed writer may leave an unfinished transaction. SQLite rolls it back when a process with write access
// opens the file next. A read-only mount has no writer.
function connectReader(file: string): DatabaseSync {
  let connection: DatabaseSync | undefined
  try {
    accessSync(file, constants.W_OK)
    connection = connect(file, false)
    connection.prepare('PRAGMA user_version').get()
    return connection
  } catch {
    connection?.close()
    return connect(file, true)
  }
}
