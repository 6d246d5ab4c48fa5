import { createHash } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { Database } from '../database.ts'
import { recount } from '../recount.ts'
import { SCHEMA_VERSION } from '../schema.ts'
import { changeState, STATE } from '../state.ts'
import { View } from '../view.ts'
import { openWriterLock } from '../writer-lock.ts'
import { encodeValue, printInserts, type ChangedTable } from './changes.ts'
import {
  erasePlace,
  markOf,
  readPlace,
  readSent,
  writePlace,
  type CommitChanges,
  type CopyPlace,
} from './outbox.ts'

export { SCHEMA_VERSION } from '../schema.ts'
export { readChanges, splitRow, type ChangedTable } from './changes.ts'
export { hashOf, type CommitChanges, type CopyPlace, type Outbox } from './outbox.ts'

/** Rows of one table, encoded. */
export type TableRows = { readonly table: ChangedTable; readonly rows: readonly Uint8Array[] }

/** A copy of a shared tape that follows it. */
export interface TapeCopy {
  /** Undefined where the file is a tape of its own, or new. */
  place(): CopyPlace | undefined
  /** The last commit that the shared tape is known to have; less than `place` where it was the writer. */
  sent(): number
  /** Compares commits of the shared tape with its own; false where they differ. */
  acknowledge(commits: readonly CommitChanges[]): boolean
  /** Adds rows to a new copy. */
  load(rows: TableRows): void
  /** The copy is complete up to a commit. */
  loaded(place: CopyPlace): void
  /** Applies the commits that follow its last one, all or none; throws `corrupt_database` where they do not fit. */
  apply(commits: readonly CommitChanges[]): void
  /** Makes lists and sums from the rows: those that a build with an older schema wrote do not fit. */
  recount(): void
  /** Makes the file a tape of its own. */
  detach(): void
  /** Changes whenever the tape does. */
  fingerprint(): string
  /** All rows of the tape, a bounded number at a time. */
  rows(): Generator<TableRows>
  close(): void
}

/** Opens the copy in a file for writing, and creates the file where there is none. */
export function openTapeCopy(file: string): TapeCopy {
  const lock = openWriterLock(`${file}.lock`)
  let database: Database
  try {
    database = new Database(file, false)
  } catch (error) {
    lock.close()
    throw error
  }
  return {
    place: () => readPlace(database),
    sent: () => readSent(database),
    acknowledge: (commits) => acknowledge(database, commits),
    load: ({ table, rows }) =>
      database.write(() => database.applyChanges(printInserts(table, rows))),
    loaded: (place) => database.write(() => writePlace(database, place)),
    apply: (commits) => applyCommits(database, commits),
    recount: () => {
      const view = new View(database, createNodePlatform())
      database.read(() => view.refresh())
      if (view.damagedLog !== undefined) throw view.damagedLog.error
      recount(view)
    },
    detach: () => detachCopy(database),
    fingerprint: () => fingerprintOf(database),
    rows: () => readRows(database),
    close() {
      database.close()
      lock.close()
    },
  }
}

function applyCommits(database: Database, commits: readonly CommitChanges[]): void {
  const place = readPlace(database)!
  database.write(() => {
    let { commit } = place
    for (const { id, changes } of commits) {
      if (id !== ++commit) {
        const detail = `${database.file}: commit ${id} does not follow ${commit - 1}`
        throw new PriorbookError('corrupt_database', detail)
      }
      database.applyChanges(changes)
    }
    const mark = commits.length === 0 ? place.mark : markOf(commits.at(-1)!.changes)
    const update = 'UPDATE copy_place SET last = ?, sent = ?, mark = ?'
    database.run(update, commit, commit, mark)
  })
}

function acknowledge(database: Database, commits: readonly CommitChanges[]): boolean {
  let sent = readSent(database)
  for (const { id, changes } of commits) {
    const own = database.get('SELECT bytes FROM outbox WHERE id = ?', id)?.['bytes'] as
      | Uint8Array
      | undefined
    // Commits of later writers follow the last own one.
    if (own === undefined) break
    if (Buffer.compare(own, changes) !== 0) return false
    sent = id
  }
  database.write(() => {
    database.run('DELETE FROM outbox WHERE id <= ?', sent)
    database.run('UPDATE copy_place SET sent = ?', sent)
  })
  return true
}

// A tape of its own must not remove segments that the shared one wrote and may need.
function detachCopy(database: Database): void {
  database.write(() => {
    erasePlace(database)
    changeState(database, STATE.owner, null)
  })
}

function fingerprintOf(database: Database): string {
  const states = database.all('SELECT name, value FROM state ORDER BY name')
  const ends = ['log', 'body', 'stream', 'market', 'gap', 'quarantine'].map((table) =>
    database.get(`SELECT max(id) AS last FROM ${table}`),
  )
  return createHash('sha256')
    .update(JSON.stringify([SCHEMA_VERSION, states, ends]))
    .digest('hex')
}

// Max bytes of rows that are read at once.
const PART_BYTES = 4_000_000
const PART_ROWS = 2000

type TableColumns = ChangedTable & {
  readonly columns: readonly {
    readonly name: string
    readonly isReal: boolean
    readonly key: number
  }[]
}

function* readRows(database: Database): Generator<TableRows> {
  for (const table of listTables(database)) {
    const ordered = table.columns.filter(({ key }) => key > 0).toSorted((a, b) => a.key - b.key)
    const names = ordered.map(({ name }) => name).join(', ')
    const select = `SELECT * FROM ${table.name}`
    const rest = `ORDER BY ${names} LIMIT ${PART_ROWS}`
    const after = `${select} WHERE (${names}) > (${ordered.map(() => '?').join(', ')}) ${rest}`
    let found = database.all(`${select} ${rest}`)
    while (found.length > 0) {
      let rows: Uint8Array[] = []
      let bytes = 0
      for (const row of found) {
        const encoded = Buffer.concat(
          table.columns.map(({ name, isReal }) => encodeValue(row[name]!, isReal)),
        )
        rows.push(encoded)
        bytes += encoded.length
        if (bytes < PART_BYTES) continue
        yield { table, rows }
        rows = []
        bytes = 0
      }
      yield { table, rows }
      const last = found.at(-1)!
      found = database.all(after, ...ordered.map(({ name }) => last[name]!))
    }
  }
}

// Those whose changes SQLite records: with a primary key.
function listTables(database: Database): TableColumns[] {
  const names = database.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
  return names.flatMap(({ name }) => {
    const info = database.all('SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid', name!)
    const columns = info.map((column) => ({
      name: column['name'] as string,
      isReal: column['type'] === 'REAL',
      key: column['pk'] as number,
    }))
    if (columns.every(({ key }) => key === 0)) return []
    return [{ name: name as string, keys: Uint8Array.from(columns, ({ key }) => key), columns }]
  })
}
