import type { Socket } from 'node:net'
import { Client, Pool, types, type ClientConfig, type CustomTypesConfig } from 'pg'
import { PriorbookError } from '@priorbook/sdk/domain'

/** A value of a statement. */
export type Value = number | string | Buffer | null

/** One row by column name; numbers of 64 bits come as numbers. */
export type Row = Record<string, unknown>

/** Runs statements: a connection, or one of a pool. */
export interface Runner {
  run(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
}

const CONNECT_MS = 5_000
const KEEP_ALIVE_MS = 5_000
const POOL = 4
const GOODBYE_MS = 1_000
/** A server that does not answer a read or a renewal for this long is away. */
const ANSWER_MS = 30_000

function settingsOf(address: string): ClientConfig {
  return {
    connectionString: address,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'priorbook',
    types: {
      // Everything that Priorbook counts stays below 2^53.
      getTypeParser: (type: Parameters<typeof types.getTypeParser>[0], format?: 'text') =>
        type === types.builtins.INT8 ? Number : types.getTypeParser(type, format),
    } as CustomTypesConfig,
  }
}

/** The connections of this process to a PostgreSQL server. */
export class Postgres implements Runner {
  readonly #address: string
  readonly #pool: Pool
  readonly #streams = new Set<Socket>()

  constructor(address: string) {
    this.#address = address
    this.#pool = new Pool({ ...settingsOf(address), max: POOL, query_timeout: ANSWER_MS })
    // The pool replaces an idle connection that breaks.
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', (client) => {
      const stream = streamOf(client)
      if (stream === undefined) return
      this.#streams.add(stream)
      stream.once('close', () => this.#streams.delete(stream))
    })
  }

  async run(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    try {
      return (await this.#pool.query<Row>(sql, [...values])).rows
    } catch (cause) {
      throw toStoreError(cause)
    }
  }

  /** Runs work in a transaction: all of it or nothing. */
  async transaction<T>(begin: string, work: (runner: Runner) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((cause: unknown) => {
      throw toStoreError(cause)
    })
    // It may break between two statements; the next one says so.
    const onError = (): void => undefined
    client.on('error', onError)
    try {
      await client.query(begin)
      const run: Runner['run'] = async (sql, values = []) =>
        (await client.query<Row>(sql, [...values])).rows
      const result = await work({ run })
      await client.query('COMMIT')
      client.off('error', onError)
      client.release()
      return result
    } catch (cause) {
      // The connection may be in any state; the server rolls back what it had begun.
      client.release(true)
      throw toStoreError(cause)
    }
  }

  /** Opens a connection of its own, for statements whose notices matter or that listen. */
  async connect(answerMs?: number): Promise<Connection> {
    return Connection.open(this.#address, answerMs)
  }

  /** Says goodbye; a server that does not hear it is not waited for. */
  async close(): Promise<void> {
    await withinGoodbye(this.#pool.end())
    for (const stream of this.#streams) stream.destroy()
  }
}

// The server gave up waiting for its standbys: the commit is on one machine alone.
const NOT_REPLICATED = '01000'

/** One connection. */
export class Connection {
  readonly #client: Client
  #notices: string[] = []
  /** Set when it broke; every later statement fails. */
  isBroken = false

  private constructor(client: Client) {
    this.#client = client
    client.on('error', () => (this.isBroken = true))
    client.on('end', () => (this.isBroken = true))
    client.on('notice', ({ code }) => void this.#notices.push(code ?? ''))
  }

  static async open(address: string, answerMs = 0): Promise<Connection> {
    const client = new Client({ ...settingsOf(address), query_timeout: answerMs })
    const connection = new Connection(client)
    try {
      await client.connect()
      return connection
    } catch (cause) {
      await client.end().catch(() => undefined)
      throw toStoreError(cause)
    }
  }

  /** Runs a statement that must be on a majority of machines when this resolves. */
  async replicated(sql: string, values: readonly Value[]): Promise<number> {
    this.#notices = []
    try {
      const { rowCount } = await this.#client.query(sql, [...values])
      if (this.#notices.includes(NOT_REPLICATED)) {
        const detail = 'a commit was not confirmed by a standby; it is sent again'
        throw new PriorbookError('store_unavailable', detail)
      }
      return rowCount ?? 0
    } catch (cause) {
      throw toStoreError(cause)
    }
  }

  /** Calls back for every notification of a channel. */
  async listen(channel: string, onNotice: () => void): Promise<void> {
    this.#client.on('notification', onNotice)
    try {
      await this.#client.query(`LISTEN ${channel}`)
    } catch (cause) {
      await this.close()
      throw toStoreError(cause)
    }
  }

  /** Says goodbye; a server that does not hear it is not waited for. */
  async close(): Promise<void> {
    await withinGoodbye(this.#client.end())
    streamOf(this.#client)?.destroy()
  }
}

async function withinGoodbye(ended: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, GOODBYE_MS)))
  await Promise.race([ended.catch(() => undefined), late])
  clearTimeout(timer)
}

function streamOf(client: object): Socket | undefined {
  return (client as { connection?: { stream?: Socket } }).connection?.stream
}

/** Creates a table if it does not exist. */
export async function createTable(runner: Runner, sql: string): Promise<void> {
  // Two processes that create it at the same time can fail although each says "if not exists".
  await runner.run(sql).catch(() => runner.run(sql))
}

const REFUSED = /^(28|3D000|42501|3F000)/
const FULL = '53100'

function toStoreError(cause: unknown): unknown {
  if (cause instanceof PriorbookError || !(cause instanceof Error)) return cause
  const { code } = cause as { code?: unknown }
  const text = typeof code === 'string' ? code : ''
  // Messages of the server do not contain the password.
  if (REFUSED.test(text)) {
    const detail = `the database refuses: ${cause.message}: check address, user, password and rights`
    return new PriorbookError('store_refused', detail, { cause })
  }
  if (text === FULL) {
    return new PriorbookError('disk_full', `the disk of the database is full: ${cause.message}`, {
      cause,
    })
  }
  const detail = `the database does not answer as it should: ${cause.message || text}`
  return new PriorbookError('store_unavailable', detail, { cause })
}
