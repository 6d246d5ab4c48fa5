import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UsageRow } from '../route.ts'
import { BUSY_MS, inTransaction } from './control.ts'

const DAY_MS = 86_400_000
const FLUSH_MS = 1000
// A flush runs on the event loop, so it waits for other writers only briefly and retries later.
const FLUSH_BUSY_MS = 20

type Counts = { requests: number; refused: number; limited: number; rows: number; bytes: number }

/** Counts the use of keys in memory and writes it once a second, apart from requests. */
export class UsageMeter {
  #database!: DatabaseSync
  readonly #onTrouble: (why: string) => void
  #add!: StatementSync
  #list!: StatementSync
  readonly #timer: NodeJS.Timeout
  #waiting = new Map<string, Map<string, Counts>>()
  #day = toDay(Date.now())

  constructor(database: DatabaseSync, onTrouble: (why: string) => void = () => {}) {
    this.#onTrouble = onTrouble
    this.use(database)
    this.#timer = setInterval(() => this.flush(), FLUSH_MS).unref()
  }

  /** Goes on with another control database. */
  use(database: DatabaseSync): void {
    this.#database = database
    this.#add = database.prepare(
      `INSERT INTO usage (key_id, day, route, requests, refused, limited, row_count, bytes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, refused = refused + excluded.refused,
         limited = limited + excluded.limited, row_count = row_count + excluded.row_count,
         bytes = bytes + excluded.bytes`,
    )
    this.#list = database.prepare(
      `SELECT day, route, sum(requests) AS requests, sum(refused) AS refused, sum(limited) AS limited,
        sum(row_count) AS row_count, sum(bytes) AS bytes
       FROM (SELECT * FROM usage UNION ALL SELECT * FROM usage_elsewhere)
       WHERE key_id = ? AND day >= ? GROUP BY day, route ORDER BY day, route`,
    )
  }

  /** Counts a response; `requests` is 0 for what a counted request sends later. */
  note(
    keyId: string,
    route: string,
    status: number,
    rows: number,
    bytes: number,
    requests = 1,
  ): void {
    let routes = this.#waiting.get(keyId)
    if (routes === undefined) this.#waiting.set(keyId, (routes = new Map()))
    let counts = routes.get(route)
    if (counts === undefined) {
      counts = { requests: 0, refused: 0, limited: 0, rows: 0, bytes: 0 }
      routes.set(route, counts)
    }
    counts.requests += requests
    if (status >= 400) counts.refused++
    if (status === 429) counts.limited++
    counts.rows += rows
    counts.bytes += bytes
  }

  /** The use of a key that all processes and nodes have written, and what this process has counted. */
  read(keyId: string, firstDay: number): readonly UsageRow[] {
    this.flush()
    return this.#list.all(keyId, firstDay).map((row) => ({
      day: row['day'] as number,
      route: row['route'] as string,
      requests: row['requests'] as number,
      refused: row['refused'] as number,
      limited: row['limited'] as number,
      rows: row['row_count'] as number,
      bytes: row['bytes'] as number,
    }))
  }

  /** Writes the counts; they stay in memory where that fails. */
  flush(): void {
    const today = toDay(Date.now())
    const writing = this.#waiting
    if (writing.size > 0) {
      this.#waiting = new Map()
      try {
        this.#write(writing)
      } catch (error) {
        this.#waiting = writing
        this.#onTrouble(error instanceof Error ? error.message : String(error))
        return
      }
    }
    this.#day = today
  }

  close(): void {
    clearInterval(this.#timer)
    this.flush()
  }

  #write(writing: ReadonlyMap<string, ReadonlyMap<string, Counts>>): void {
    const database = this.#database
    try {
      database.exec(`PRAGMA busy_timeout = ${FLUSH_BUSY_MS}`)
      inTransaction(database, () => {
        for (const [keyId, routes] of writing) {
          for (const [route, one] of routes) {
            const { requests, refused, limited, rows, bytes } = one
            this.#add.run(keyId, this.#day, route, requests, refused, limited, rows, bytes)
          }
        }
      })
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    }
  }
}

function toDay(ms: number): number {
  return (ms - (ms % DAY_MS)) * 1000
}
