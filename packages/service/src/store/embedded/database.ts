import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { constants as sqlite, DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { PriorbookError } from '@priorbook/sdk/domain'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { Progress } from '../store.ts'
import { migrate, OVERLAID, overlaySteps, SCHEMA_VERSION } from './schema.ts'
import { findWalDamage } from './wal-check.ts'

/** A value of a SQLite column as Priorbook uses them. */
export type Column = number | string | Uint8Array | null

/** One row by column name. */
export type Row = Record<string, Column>

/** Gets the changes of every write transaction, in the format of `shared/changes.ts`. */
export type ChangeListener = {
  /** Called inside the transaction that made them. */
  store(changes: Uint8Array): void
  /** Called when that transaction is durable. */
  stored(): void
}

/** Rows that a write transaction may change many times, written once at its end or before they are read. */
export type Draft = {
  /** True where there was something to write. */
  write(): boolean
}

/** Thrown when work that should not need the database queries it; one object, because it is thrown often. */
export const ASKED = new Error('the database was asked')

// "PBTA": lets `file` and other tools tell a tape from any other SQLite database.
const APPLICATION_ID = 0x50425441

// A tape of an older schema up to this size is completed in memory where it cannot be written.
const MAX_IN_MEMORY = 1_000_000_000
// Up to this many markets a migration takes less than a second, and nothing is said of it.
const SMALL_CATALOGUE = 2000
const REMEDY = 'priorbook-server rebuild --fresh derives it again from the journal'

// Searches make a text for every sequence of kinds of terms, hundreds of thousands; a statement takes about 10 KB.
const COLUMN_STATEMENTS_KEPT = 500

// 100 ms to check.
const LONG_ROWS = 50_000

/**
 * One SQLite connection with Priorbook's settings: errors have listed codes, statements are prepared
 * once, and transactions are atomic.
 */
export class Database {
  readonly file: string
  readonly readOnly: boolean
  private readonly connection: DatabaseSync
  private readonly statements = new Map<string, StatementSync>()
  private readonly columnStatements = new BoundedMap<string, StatementSync>(COLUMN_STATEMENTS_KEPT)
  private readonly whole = new Set<string>()
  private isShut = false
  /** What the running write transaction drafts. */
  private drafts: Map<string, Draft> | undefined
  /** True where the tables that an older schema lacks are in memory, because the file cannot be written. */
  isOverlaid = false
  /** What becomes of the changes of a commit, for a tape that is shared. */
  onChanges: ChangeListener | undefined

  constructor(file: string, readOnly: boolean, mayBeFixed = false, onUpgrade?: Progress) {
    this.file = file
    this.readOnly = readOnly
    this.connection = guard(file, () => connect(file, readOnly, mayBeFixed))
    try {
      guard(file, () => this.configure(onUpgrade))
    } catch (error) {
      this.connection.close()
      throw error
    }
  }

  /** The schema version of a file; 0 where it cannot be read. */
  static versionOf(file: string): number {
    try {
      const connection = connect(file, true, true)
      try {
        return Number(connection.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
      } finally {
        connection.close()
      }
    } catch {
      return 0
    }
  }

  /** What a look into a file tells; undefined where it cannot be read. */
  static inspect<T>(file: string, look: (database: Database) => T): T | undefined {
    let database: Database | undefined
    try {
      database = new Database(file, true, true)
      return look(database)
    } catch {
      return undefined
    } finally {
      database?.close()
    }
  }

  /** Runs a statement that returns no rows. */
  run(sql: string, ...values: Column[]): number {
    return guard(this.file, () => Number(this.prepare(sql).run(...values).lastInsertRowid))
  }

  /** The first row, if any. */
  get(sql: string, ...values: Column[]): Row | undefined {
    return guard(this.file, () => this.prepare(sql).get(...values) as Row | undefined)
  }

  /** All rows; never an open cursor, which would pin the WAL. */
  all(sql: string, ...values: Column[]): Row[] {
    return guard(this.file, () => this.prepare(sql).all(...values) as Row[])
  }

  /**
   * All rows, each as its columns in order. A row by name is a dictionary to V8: to make and to read one takes twice as
   * long, and leaves more to collect.
   */
  columns(sql: string, ...values: Column[]): Column[][] {
    return guard(this.file, () => {
      const rows: unknown[] = this.prepareColumns(sql).all(...values)
      return rows as Column[][]
    })
  }

  /** Runs SQL text of several statements, such as a schema. */
  script(sql: string): void {
    guard(this.file, () => this.connection.exec(sql))
  }

  /** Runs `work` in a write transaction: all of it, synced, or nothing. */
  write<T>(work: () => T): T {
    if (this.readOnly && !this.isOverlaid) {
      throw new PriorbookError('store_read_only', `${this.file} was opened for reading only`)
    }
    const { onChanges } = this
    const drafts = new Map<string, Draft>()
    const drafted = (): T => {
      this.drafts = drafts
      const made = work()
      // What one draft writes may be a change of another.
      for (let hasMore = true; hasMore;) {
        hasMore = false
        for (const draft of drafts.values()) if (draft.write()) hasMore = true
      }
      return made
    }
    try {
      return onChanges === undefined
        ? this.transaction('BEGIN IMMEDIATE', drafted)
        : this.recordedWrite(onChanges, drafted)
    } finally {
      this.drafts = undefined
    }
  }

  /** What the running write transaction drafts under a name. */
  draft<T extends Draft>(name: string, create: () => T): T {
    const { drafts } = this
    if (drafts === undefined) throw new Error(`${name} is written in a transaction only`)
    let draft = drafts.get(name) as T | undefined
    if (draft === undefined) drafts.set(name, (draft = create()))
    return draft
  }

  /** The same, if there is a transaction and it has drafted anything under the name. */
  drafted(name: string): Draft | undefined {
    return this.drafts?.get(name)
  }

  /** Writes what the running transaction has drafted under a name so far. */
  writeDraft(name: string): void {
    this.drafts?.get(name)?.write()
  }

  private recordedWrite<T>(listener: ChangeListener, work: () => T): T {
    let hasChanges = false
    const result = this.transaction('BEGIN IMMEDIATE', () => {
      const recording = guard(this.file, () => this.connection.createSession())
      try {
        const made = work()
        const changes = recording.patchset()
        hasChanges = changes.length > 0
        if (hasChanges) listener.store(changes)
        return made
      } finally {
        recording.close()
      }
    })
    if (hasChanges) listener.stored()
    return result
  }

  /** Applies recorded changes inside `write`; throws `corrupt_database` where they do not fit. */
  applyChanges(changes: Uint8Array): void {
    const onConflict = (): number => sqlite.SQLITE_CHANGESET_ABORT
    const fit = guard(this.file, () => this.connection.applyChangeset(changes, { onConflict }))
    if (!fit) {
      throw new PriorbookError('corrupt_database', `${this.file}: a commit does not fit this copy`)
    }
  }

  /** Runs `work` without the database; returns `ASKED` if it needs it after all. */
  withoutAsking<T>(work: () => T): T | typeof ASKED {
    this.isShut = true
    try {
      return work()
    } catch (error) {
      if (error !== ASKED) throw error
      return ASKED
    } finally {
      this.isShut = false
    }
  }

  /** Runs `work` on one consistent view of the database. */
  read<T>(work: () => T): T {
    if (this.connection.isTransaction) return work()
    this.run('BEGIN')
    try {
      return work()
    } finally {
      this.endRead()
    }
  }

  /**
   * Throws `corrupt_database` unless a table and its indexes agree. For tables whose rows are found by
   * name: a row missing from its index would go unnoticed. Checked once per connection, and only by
   * `verify` where the table is so long that opening would wait for it.
   */
  ensureWhole(table: string): void {
    if (this.whole.has(table)) return
    if (this.isLong(table)) {
      this.whole.add(table)
      return
    }
    const text = String(this.get(`PRAGMA integrity_check('${table}')`)!['integrity_check'])
    if (text !== 'ok') {
      const detail = `${this.file}: table ${table}: ${text}: ${REMEDY}`
      throw new PriorbookError('corrupt_database', detail)
    }
    this.whole.add(table)
  }

  /** True for a table that is too long to be read whole when a tape is opened. */
  isLong(table: string): boolean {
    const keyed = this.get(
      `SELECT 1 AS found FROM pragma_table_list WHERE name = ? AND wr = 0`,
      table,
    )
    if (keyed === undefined) return false
    const last = this.get(`SELECT max(rowid) AS id FROM ${table}`)?.['id'] as number | null
    return (last ?? 0) > LONG_ROWS
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return this.get('PRAGMA data_version')!['data_version'] as number
  }

  /**
   * The schema version; throws `newer_schema` where a newer build wrote the file. It may do so while this process reads:
   * the tables that statements name may then be there, and be empty.
   */
  refuseNewer(): number {
    const version = this.get('PRAGMA user_version')!['user_version'] as number
    if (version <= SCHEMA_VERSION) return version
    const detail = `${this.file} has schema ${version}, this build reads up to ${SCHEMA_VERSION}`
    throw new PriorbookError('newer_schema', `${detail}: upgrade Priorbook to open it`)
  }

  close(): void {
    this.statements.clear()
    this.columnStatements.clear()
    this.connection.close()
  }

  private transaction<T>(begin: string, work: () => T): T {
    this.run(begin)
    try {
      const result = work()
      this.run('COMMIT')
      return result
    } catch (error) {
      // After a full disk SQLite may have rolled back by itself, and ROLLBACK would throw.
      if (this.connection.isTransaction) this.run('ROLLBACK')
      throw error
    }
  }

  // Nothing was written, so nothing is lost. SQLite repeats here the damage that it found while reading.
  private endRead(): void {
    try {
      this.run('COMMIT')
    } catch {
      if (this.connection.isTransaction) this.run('ROLLBACK')
    }
  }

  private configure(onUpgrade?: Progress): void {
    this.connection.exec('PRAGMA busy_timeout = 5000')
    // Check first: never write to a foreign file, or to one newer than this build.
    const version = this.checkIdentity()
    this.checkWal()
    if (!this.readOnly) {
      // Small pages waste least around chunks of 4 to 8 KB; see docs/operate/benchmarks.md.
      this.connection.exec('PRAGMA page_size = 1024')
      this.connection.exec('PRAGMA journal_mode = WAL')
      // FULL syncs the WAL at every commit; fullfsync makes macOS mean it.
      this.connection.exec('PRAGMA synchronous = FULL')
      this.connection.exec('PRAGMA fullfsync = 1')
      this.connection.exec('PRAGMA wal_autocheckpoint = 8000')
      this.connection.exec('PRAGMA journal_size_limit = 67108864')
    }
    this.connection.exec('PRAGMA cache_size = -16384')
    this.connection.exec('PRAGMA mmap_size = 67108864')
    this.connection.exec('PRAGMA temp_store = MEMORY')
    if (version === SCHEMA_VERSION) return
    if (this.readOnly) {
      this.overlay()
      return
    }
    const isLarge = version > 0 && this.isLargeCatalogue()
    this.write(() => {
      migrate(version, (sql) => this.script(sql), isLarge ? onUpgrade : undefined)
      this.script(`PRAGMA application_id = ${APPLICATION_ID}`)
      this.script(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    })
  }

  private isLargeCatalogue(): boolean {
    const last = this.get('SELECT max(id) AS id FROM market')!['id'] as number | null
    return (last ?? 0) > SMALL_CATALOGUE
  }

  // Lists, sums and indexes of the newest schema in temporary tables, which hide those of the file.
  private overlay(): void {
    if (statSync(this.file).size > MAX_IN_MEMORY) this.connection.exec('PRAGMA temp_store = FILE')
    this.isOverlaid = true
    const tables = this.all("SELECT name FROM main.sqlite_schema WHERE type = 'table'")
    const existing = new Set(tables.map(({ name }) => String(name)))
    for (const sql of overlaySteps(existing)) this.script(sql)
    for (const table of OVERLAID)
      this.script(`INSERT INTO temp.${table} SELECT * FROM main.${table}`)
    this.script("DELETE FROM state WHERE name IN ('counted', 'searchable', 'recounting')")
  }

  // A database whose header lost its WAL flag would be read without the commits in its log.
  private checkWal(): void {
    const wal = `${this.file}-wal`
    const waits = (statSync(wal, { throwIfNoEntry: false })?.size ?? 0) > 0
    const mode = this.get('PRAGMA journal_mode')!['journal_mode']
    const damage =
      waits && mode !== 'wal' ? 'the header does not know of the log' : findWalDamage(wal)
    if (damage !== undefined) {
      throw new PriorbookError('corrupt_database', `${this.file}: ${damage}`)
    }
  }

  private checkIdentity(): number {
    const version = this.refuseNewer()
    const id = this.get('PRAGMA application_id')!['application_id'] as number
    const tables = this.get('SELECT count(*) AS n FROM sqlite_schema')!['n'] as number
    if (id !== APPLICATION_ID && tables > 0) {
      throw new PriorbookError('store_unavailable', `${this.file} is not a Priorbook tape`)
    }
    if (this.readOnly && version === 0) {
      throw new PriorbookError('store_unavailable', `${this.file} is empty: nothing was recorded`)
    }
    return version
  }

  private prepare(sql: string): StatementSync {
    if (this.isShut) throw ASKED
    let statement = this.statements.get(sql)
    if (statement === undefined) {
      statement = this.connection.prepare(sql)
      this.statements.set(sql, statement)
    }
    return statement
  }

  private prepareColumns(sql: string): StatementSync {
    if (this.isShut) throw ASKED
    let statement = this.columnStatements.get(sql)
    if (statement === undefined) {
      statement = this.connection.prepare(sql)
      statement.setReturnArrays(true)
      this.columnStatements.set(sql, statement)
    }
    return statement
  }
}

// SQLite needs a shared-memory file beside a database in WAL mode, even to read it. On a read-only mount
// it cannot create one, so a database without a log is opened as one that never changes.
function connect(file: string, readOnly: boolean, mayBeFixed: boolean): DatabaseSync {
  if (!readOnly || !mayBeFixed || existsSync(`${file}-shm`) || canWriteTo(dirname(file))) {
    return new DatabaseSync(file, { readOnly })
  }
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    const detail = `${file} has commits in ${file}-wal that a read-only mount does not let SQLite read`
    throw new PriorbookError(
      'store_unavailable',
      `${detail}: copy the folder, or mount it writable`,
    )
  }
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly })
}

function canWriteTo(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

// The primary result codes of SQLite that mean something to an operator.
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const NOTADB = 26
// Extended: the file ends before a page that it should have.
const SHORT_READ = 522

function guard<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw toStoreError(file, cause)
  }
}

function toStoreError(file: string, cause: unknown): unknown {
  if (cause instanceof PriorbookError || !(cause instanceof Error)) return cause
  const { errcode: extended, code } = cause as { errcode?: unknown; code?: unknown }
  // Priorbook never writes numbers that JavaScript cannot represent.
  if (code === 'ERR_OUT_OF_RANGE') {
    return new PriorbookError('corrupt_row', `${file}: ${cause.message}`, { cause })
  }
  if (typeof extended !== 'number') return cause
  const say = (code: ConstructorParameters<typeof PriorbookError>[0], text: string): Error =>
    new PriorbookError(code, `${file}: ${text} (${cause.message})`, { cause })
  // Every statement matches the schema of its version, so the stored schema text is damaged.
  if (/no such (table|column)/.test(cause.message)) {
    return say('corrupt_database', 'the schema is damaged')
  }
  if (extended === SHORT_READ) return say('corrupt_database', 'the database file is cut short')
  switch (extended & 0xff) {
    case FULL:
      return say('disk_full', 'no space is left; nothing of this write was kept')
    case READONLY:
      return say('store_read_only', 'the file or its folder does not allow writing')
    case BUSY:
    case LOCKED:
      return say('store_locked', 'another process holds the database')
    case CORRUPT:
    case NOTADB:
      return say('corrupt_database', `the database file is damaged: ${REMEDY}`)
    case CANTOPEN:
      return say('store_unavailable', 'the file cannot be opened')
    default:
      return say('store_unavailable', 'the database does not answer')
  }
}
