import { createHash } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { Column, Database } from '../database.ts'

// Max commits that are sent together; a statement has at most 65,535 values.
const MAX_COMMITS = 1000
const MANY = 256

/** The changes of one commit of a shared tape. */
export type CommitChanges = {
  /** Counts commits, without holes. */
  readonly id: number
  readonly changes: Uint8Array
}

/** Where a copy of a shared tape stands. */
export type CopyPlace = {
  /** Which tape it is a copy of. */
  readonly tape: string
  /** The last commit that it contains. */
  readonly commit: number
  /** The hash of that commit, by which a database is known that was put back; empty where it is not known. */
  readonly mark: string
}

// SQLite records the changes of tables with a primary key. These have none: what this machine has sent
// is no part of the tape.
const TABLES = `
CREATE TABLE IF NOT EXISTS copy_place (
  tape TEXT NOT NULL,
  last INTEGER NOT NULL,
  sent INTEGER NOT NULL,
  mark TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS outbox (id INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS outbox_by_id ON outbox (id);
`

/**
 * The commits of a copy that the shared tape does not have yet. They are stored in the transaction that
 * makes them, so that a kill between a commit and its sending loses nothing.
 */
export class Outbox {
  readonly #database: Database
  #last: number
  #sent: number
  /** Called after every commit. */
  onCommit: () => void = () => undefined

  constructor(database: Database) {
    this.#database = database
    const row = database.get('SELECT last, sent FROM copy_place')!
    this.#last = row['last'] as number
    this.#sent = row['sent'] as number
    database.onChanges = {
      store: (changes) => this.#store(changes),
      stored: () => {
        this.#last++
        this.onCommit()
      },
    }
  }

  /** The last commit of this copy, and the last one that the shared tape has. */
  get place(): { readonly last: number; readonly sent: number } {
    return { last: this.#last, sent: this.#sent }
  }

  /** The oldest commits that were not sent, up to a number of bytes, and at least one if there is any. */
  read(maxBytes: number): CommitChanges[] {
    const found: CommitChanges[] = []
    let bytes = 0
    for (let id = this.#sent + 1; id <= this.#last; id++) {
      const changes = this.#database.get('SELECT bytes FROM outbox WHERE id = ?', id)![
        'bytes'
      ] as Uint8Array
      if (found.length >= MAX_COMMITS || (found.length > 0 && bytes + changes.length > maxBytes))
        break
      bytes += changes.length
      found.push({ id, changes })
    }
    return found
  }

  /** The shared tape has all commits up to this one. They are removed with the next commit, or when many wait. */
  sent(id: number): void {
    const before = this.#sent
    this.#sent = Math.max(this.#sent, id)
    if (this.#sent - before < MANY) return
    // After an outage they may take the space that the next commit needs.
    this.#database.write(() => this.#trim())
  }

  // Runs inside the transaction.
  #store(changes: Uint8Array): void {
    const run = (sql: string, ...values: Column[]): number => this.#database.run(sql, ...values)
    run('INSERT INTO outbox (id, bytes) VALUES (?, ?)', this.#last + 1, changes)
    run('UPDATE copy_place SET last = ?, mark = ?', this.#last + 1, markOf(changes))
    this.#trim()
  }

  #trim(): void {
    this.#database.run('DELETE FROM outbox WHERE id <= ?', this.#sent)
    this.#database.run('UPDATE copy_place SET sent = ?', this.#sent)
  }
}

/** Which shared tape a file is a copy of; undefined where it is a tape of its own. */
export function readPlace(database: Database): CopyPlace | undefined {
  const table = database.get("SELECT 1 AS found FROM sqlite_schema WHERE name = 'copy_place'")
  const row = table && database.get('SELECT tape, last, mark FROM copy_place')
  if (row === undefined) return undefined
  const { tape, last, mark } = row as { tape: string; last: number; mark: string }
  return { tape, commit: last, mark }
}

/** Makes a tape a copy of a shared one. */
export function writePlace(database: Database, { tape, commit, mark }: CopyPlace): void {
  database.script(TABLES)
  database.run('DELETE FROM outbox')
  database.run('DELETE FROM copy_place')
  const insert = 'INSERT INTO copy_place (tape, last, sent, mark) VALUES (?, ?, ?, ?)'
  database.run(insert, tape, commit, commit, mark)
}

/** The hash of a commit: two commits with the same number differ in it. */
export function hashOf(changes: Uint8Array): Buffer {
  return createHash('sha256').update(changes).digest()
}

/** The mark of a commit: its hash as text. */
export function markOf(changes: Uint8Array): string {
  return hashOf(changes).toString('hex')
}

/** Makes a copy a tape of its own. */
export function erasePlace(database: Database): void {
  database.script('DROP TABLE copy_place; DROP TABLE outbox')
}

/** Throws `store_refused` for a copy: who writes it must send what is written. */
export function refuseCopy(database: Database): void {
  if (readPlace(database) === undefined) return
  const detail = `${database.file} is a copy of a shared tape, which serve --store writes`
  throw new PriorbookError('store_refused', detail)
}

/** The last commit of a copy that the shared tape is known to have. */
export function readSent(database: Database): number {
  return database.get('SELECT sent FROM copy_place')!['sent'] as number
}
