import { randomBytes } from 'node:crypto'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import {
  hashOf,
  type CommitChanges,
  type CopyPlace,
  type TableRows,
} from '../store/embedded/shared/copy.ts'
import { foldChanges, MAX_BYTES, NEXT_CHANGES } from './fold.ts'
import { readImage, writeRows } from './image.ts'
import {
  createTable,
  Postgres,
  type Connection,
  type Row,
  type Runner,
  type Value,
} from './postgres.ts'

/**
 * A tape that several machines share, in PostgreSQL: the commits of its writer in order, and an image of
 * all rows as of a commit. The image and the commits after it are the whole tape. Tables and statements are
 * plain SQL, for any server that speaks PostgreSQL's protocol.
 */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS priorbook_tape (
    one BOOLEAN PRIMARY KEY CHECK (one),
    format INTEGER NOT NULL,
    tape TEXT NOT NULL,
    schema INTEGER NOT NULL,
    epoch BIGINT NOT NULL,
    holder TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL,
    last BIGINT NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS priorbook_change (
    id BIGINT PRIMARY KEY,
    epoch BIGINT NOT NULL,
    made TIMESTAMPTZ NOT NULL,
    hash BYTEA NOT NULL,
    changes BYTEA NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS priorbook_image (
    one BOOLEAN PRIMARY KEY CHECK (one),
    folded BIGINT NOT NULL,
    loading TEXT,
    parts BIGINT NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS priorbook_standby (
    name TEXT PRIMARY KEY,
    venues TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS priorbook_table (name TEXT PRIMARY KEY, keys BYTEA NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS priorbook_row (
    relation TEXT NOT NULL,
    key BYTEA NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (relation, key)
  )`,
]

const FORMAT = 1
/** Less than a lease lasts, so that one that was lost can be repeated. */
const RENEWAL_MS = 1_500
/** The channel that announces commits. An announcement may be lost. */
const CHANNEL = 'priorbook_commit'

/** The right to write the tape until another writer takes it. */
export type Lease = {
  readonly holder: string
  readonly epoch: number
  /** The previous writer; empty if there was none. */
  readonly before: string
}

/** What a shared tape says of itself. */
export type TapeState = {
  readonly tape: string
  /** The schema of its rows; 0 before the first writer. */
  readonly schema: number
  readonly epoch: number
  readonly holder: string
  /** Milliseconds until another may take the lease; negative when it is free. */
  readonly leaseMs: number
  readonly last: number
  readonly folded: number
  /** True while a tape is being loaded, or was and did not come to its end. */
  readonly loading: boolean
}

/** A recorder that stands by and could go on with some venues. */
export type StandbyState = {
  readonly name: string
  readonly venues: readonly VenueId[]
  /** For how long it is taken to be ready. */
  readonly readyMs: number
}

/** The shared tape at an address `postgres://…`. */
export class SharedTape {
  readonly #postgres: Postgres
  #writer: Connection | undefined
  /** A connection of its own, so that no other statement delays a renewal. */
  #renewals: Connection | undefined
  #isClosed = false

  constructor(address: string) {
    this.#postgres = new Postgres(address)
  }

  /** Creates what is missing. Throws `unsupported_format` where a newer Priorbook made it. */
  async prepare(): Promise<void> {
    const run = (sql: string, values?: readonly Value[]): Promise<readonly Row[]> =>
      this.#postgres.run(sql, values)
    for (const sql of TABLES) await createTable(this.#postgres, sql)
    const name = randomBytes(8).toString('hex')
    await run(
      `INSERT INTO priorbook_tape (one, format, tape, schema, epoch, holder, until, last)
       VALUES (TRUE, $1, $2, 0, 0, '', now(), 0) ON CONFLICT DO NOTHING`,
      [FORMAT, name],
    )
    await run(
      'INSERT INTO priorbook_image (one, folded, parts) VALUES (TRUE, 0, 0) ON CONFLICT DO NOTHING',
    )
    const [row] = await run('SELECT format FROM priorbook_tape')
    if (row!['format'] !== FORMAT) {
      const detail = `the shared tape has format ${String(row!['format'])}, this build knows ${FORMAT}`
      throw new PriorbookError('unsupported_format', detail)
    }
  }

  async state(): Promise<TapeState> {
    const [row] = await this.#postgres.run(
      `SELECT tape, schema, epoch, holder, last, folded, loading IS NOT NULL AS loading,
        EXTRACT(EPOCH FROM until - clock_timestamp())::FLOAT8 * 1000 AS lease
       FROM priorbook_tape, priorbook_image`,
    )
    const { lease, ...state } = row as unknown as Omit<TapeState, 'leaseMs'> & {
      readonly lease: number
    }
    return { ...state, leaseMs: lease }
  }

  /** Notes that a recorder stands by and is ready to go on with some venues, for so long. */
  async noteStandby(name: string, venues: readonly VenueId[], ttlMs: number): Promise<void> {
    await this.#postgres.run(
      `INSERT INTO priorbook_standby (name, venues, until)
       VALUES ($1, $2, clock_timestamp() + $3 * INTERVAL '1 millisecond')
       ON CONFLICT (name) DO UPDATE SET venues = excluded.venues, until = excluded.until`,
      [name, venues.join(' '), ttlMs],
    )
  }

  /** The venues that a recorder other than this one is ready to go on with. */
  async successors(name: string): Promise<ReadonlySet<VenueId>> {
    const rows = await this.#postgres.run(
      'SELECT venues FROM priorbook_standby WHERE name <> $1 AND until > clock_timestamp()',
      [name],
    )
    return new Set(rows.flatMap(({ venues }) => (venues as string).split(' ') as VenueId[]))
  }

  /** The recorders that are ready to go on, with which venues and for how long. */
  async standbys(): Promise<readonly StandbyState[]> {
    const rows = await this.#postgres.run(
      `SELECT name, venues, EXTRACT(EPOCH FROM until - clock_timestamp())::FLOAT8 * 1000 AS ready
       FROM priorbook_standby WHERE until > clock_timestamp() ORDER BY name`,
    )
    return rows.map(({ name, venues, ready }) => ({
      name: name as string,
      venues: (venues as string).split(' ') as VenueId[],
      readyMs: ready as number,
    }))
  }

  /** Becomes the writer, if nobody else is; undefined where another holds the lease. */
  async take(holder: string, ttlMs: number): Promise<Lease | undefined> {
    const [row] = await this.#postgres.run(
      `WITH before AS (SELECT holder FROM priorbook_tape FOR UPDATE)
       UPDATE priorbook_tape tape SET epoch = epoch + 1, holder = $1,
        until = clock_timestamp() + $2 * INTERVAL '1 millisecond'
       FROM before WHERE until < clock_timestamp() OR tape.holder = $1
       RETURNING epoch, before.holder AS before`,
      [holder, ttlMs],
    )
    return row && { holder, epoch: row['epoch'] as number, before: row['before'] as string }
  }

  /** Stays the writer; false where another took over. */
  async renew({ epoch }: Lease, ttlMs: number): Promise<boolean> {
    const sql = `UPDATE priorbook_tape SET until = clock_timestamp() + $2 * INTERVAL '1 millisecond'
      WHERE epoch = $1`
    try {
      this.#renewals ??= await this.#connect(RENEWAL_MS)
      return (await this.#renewals.replicated(sql, [epoch, ttlMs])) > 0
    } catch (error) {
      // A server that lost its power does not say so: the next renewal uses another connection.
      await this.#renewals?.close()
      this.#renewals = undefined
      throw error
    }
  }

  /** Lets another take over at once. */
  async release({ epoch }: Lease): Promise<void> {
    await this.#postgres.run(
      `UPDATE priorbook_tape SET until = clock_timestamp(), holder = '' WHERE epoch = $1`,
      [epoch],
    )
  }

  /**
   * Appends commits of the writer that follow the last one, all or none. Resolves when they are durable, on
   * the standbys too where the server waits for them, with the last one that is. Rejects with `not_writer`
   * where another took over.
   */
  async append(lease: Lease, commits: readonly CommitChanges[]): Promise<number> {
    const first = commits[0]!.id
    const last = commits.at(-1)!.id
    const hashes = commits.map(({ changes }) => hashOf(changes))
    const rows = commits.map(
      (_, at) => `($${4 + at * 3}::BIGINT, $${5 + at * 3}::BYTEA, $${6 + at * 3}::BYTEA)`,
    )
    const sql = `WITH held AS (
        UPDATE priorbook_tape SET last = $3 WHERE epoch = $1 AND last = $2 RETURNING epoch
      ), told AS (SELECT pg_notify('${CHANNEL}', '') FROM held)
      INSERT INTO priorbook_change (id, epoch, made, hash, changes)
      SELECT one.id, held.epoch, now(), one.hash, one.changes
      FROM held, told, (VALUES ${rows.join(', ')}) one (id, hash, changes)`
    const values = commits.flatMap(({ id, changes }, at): Value[] => [
      id,
      hashes[at]!,
      Buffer.from(changes),
    ])
    const writer = await this.#openWriter()
    const added = await writer.replicated(sql, [lease.epoch, first - 1, last, ...values])
    if (added === commits.length) return last
    // An earlier answer may have been lost, of these commits or of the first of them.
    const state = await this.state()
    const hash = hashes[state.last - first]
    if (state.epoch === lease.epoch && hash !== undefined) {
      if (await this.#has(state.last, hash)) {
        // This one waits for the standbys, which the lost one may not have done.
        const again = 'UPDATE priorbook_tape SET last = last WHERE epoch = $1'
        await writer.replicated(again, [lease.epoch])
        return state.last
      }
    }
    const detail =
      state.epoch === lease.epoch
        ? 'the shared tape does not end where this copy does'
        : `${state.holder} writes the shared tape now`
    throw new PriorbookError('not_writer', detail)
  }

  async #openWriter(): Promise<Connection> {
    if (this.#writer !== undefined && !this.#writer.isBroken) return this.#writer
    await this.dropWriter()
    return (this.#writer = await this.#connect())
  }

  // One that is there only after the tape was closed would stay for ever.
  async #connect(answerMs?: number): Promise<Connection> {
    const connection = await this.#postgres.connect(answerMs)
    if (!this.#isClosed) return connection
    await connection.close()
    throw new PriorbookError('store_closed', '')
  }

  /**
   * The commits after one, in order, checked; undefined where they are only in the image any more, or where
   * the database has another commit in the place of the given one.
   */
  async read(
    { commit: after, mark }: Pick<CopyPlace, 'commit' | 'mark'>,
    maxCommits: number,
  ): Promise<readonly CommitChanges[] | undefined> {
    const rows = await this.#postgres.run(
      `SELECT change.id, change.hash, change.changes, tape.last,
        (SELECT hash FROM priorbook_change WHERE id = $1) AS before
       FROM priorbook_tape tape
       LEFT JOIN (${NEXT_CHANGES}) change ON TRUE ORDER BY change.id`,
      [after, maxCommits, MAX_BYTES],
    )
    const {
      id: first,
      last,
      before,
    } = rows[0] as {
      id: number | null
      last: number
      before: Buffer | null
    }
    if (before !== null && mark !== '' && before.toString('hex') !== mark) return undefined
    // A database that lost commits, after a failover without synchronous standbys, is another tape from there on.
    if (last < after) return undefined
    if (first === null) return last > after ? undefined : []
    if (first !== after + 1) return undefined
    return rows.map((row, at) => toCommit(row, after + 1 + at))
  }

  /** Brings the image nearer to the last commit, and removes commits that are in it and old. */
  async fold(keepMs: number): Promise<number> {
    return this.#postgres.transaction('BEGIN', (runner) => foldChanges(runner, keepMs))
  }

  /** All rows as of a commit. Rejects with `store_unavailable` while they are being loaded. */
  async image(onRows: (rows: TableRows) => void): Promise<CopyPlace & { readonly schema: number }> {
    const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'
    return this.#postgres.transaction(begin, (runner) => readImage(runner, onRows))
  }

  /**
   * Replaces everything by the rows of a tape, in parts that are each durable. `source` names the tape and
   * its state: what an earlier attempt with the same source has loaded is not loaded again.
   */
  async load(
    lease: Lease,
    source: { readonly name: string; readonly schema: number },
    parts: Iterable<TableRows>,
    onPart: (done: number) => void,
  ): Promise<CopyPlace> {
    const done = await this.#postgres.transaction('BEGIN', (runner) =>
      beginLoad(runner, lease, source.name),
    )
    let at = 0
    for (const part of parts) {
      if (++at <= done) continue
      await this.#postgres.transaction('BEGIN', async (runner) => {
        await ensureWriter(runner, lease)
        await writeRows(runner, part)
        await runner.run('UPDATE priorbook_image SET parts = $1', [at])
      })
      onPart(at)
    }
    return this.#postgres.transaction('BEGIN', (runner) => endLoad(runner, lease, source.schema))
  }

  /** Notes the schema of the first writer. */
  async setSchema({ epoch }: Lease, schema: number): Promise<void> {
    await this.#postgres.run('UPDATE priorbook_tape SET schema = $2 WHERE epoch = $1', [
      epoch,
      schema,
    ])
  }

  /** Calls back soon after commits, until the connection breaks. A hint: some may be lost. */
  async listen(onCommit: () => void): Promise<Connection> {
    const connection = await this.#postgres.connect()
    await connection.listen(CHANNEL, onCommit)
    return connection
  }

  /** Breaks the connection on which commits are appended; the next append opens another. */
  async dropWriter(): Promise<void> {
    const writer = this.#writer
    this.#writer = undefined
    await writer?.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.dropWriter()
    await this.#renewals?.close()
    await this.#postgres.close()
  }

  async #has(id: number, hash: Buffer): Promise<boolean> {
    const [row] = await this.#postgres.run('SELECT hash FROM priorbook_change WHERE id = $1', [id])
    return row !== undefined && hash.equals(row['hash'] as Buffer)
  }
}

function toCommit(row: Row, expected: number): CommitChanges {
  const { id, hash, changes } = row as { id: number; hash: Buffer; changes: Buffer }
  if (id !== expected) {
    throw new PriorbookError('corrupt_database', `the shared tape lacks commit ${expected}`)
  }
  if (!hashOf(changes).equals(hash)) {
    throw new PriorbookError('corrupt_database', `commit ${id} of the shared tape is damaged`)
  }
  return { id, changes }
}

async function ensureWriter(runner: Runner, { epoch }: Lease): Promise<void> {
  const rows = await runner.run('SELECT 1 FROM priorbook_tape WHERE epoch = $1 FOR SHARE', [epoch])
  if (rows.length === 0) {
    throw new PriorbookError('not_writer', 'another process writes the shared tape now')
  }
}

async function beginLoad(runner: Runner, lease: Lease, name: string): Promise<number> {
  await ensureWriter(runner, lease)
  const [row] = await runner.run('SELECT loading, parts FROM priorbook_image FOR UPDATE')
  if (row!['loading'] === name) return row!['parts'] as number
  await runner.run('TRUNCATE priorbook_row, priorbook_table, priorbook_change')
  await runner.run('UPDATE priorbook_image SET loading = $1, parts = 0', [name])
  return 0
}

// The number of the next commit has a hole before it, so that followers fetch the image.
async function endLoad(runner: Runner, lease: Lease, schema: number): Promise<CopyPlace> {
  await ensureWriter(runner, lease)
  const [row] = await runner.run(
    'UPDATE priorbook_tape SET last = last + 1, schema = $1 RETURNING tape, last',
    [schema],
  )
  const { tape, last } = row as { tape: string; last: number }
  await runner.run('UPDATE priorbook_image SET loading = NULL, folded = $1', [last])
  return { tape, commit: last, mark: '' }
}
