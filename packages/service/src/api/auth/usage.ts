import type { DatabaseSync } from 'node:sqlite'
import type { UsageRow } from '../route.ts'
import { BUSY_MS, inTransaction } from './control.ts'

/** Counts what keys do. */
export interface UsageMeter {
  /** `requests` is 0 for what a request that was counted sends later. */
  note(
    keyId: string,
    route: string,
    status: number,
    rows: number,
    bytes: number,
    requests?: number,
  ): void
  /** What was counted and written of a key, with what waits in this process. */
  read(keyId: string, firstDay: number): readonly UsageRow[]
  flush(): void
  close(): void
}

const DAY_MS = 86_400_000
const FLUSH_MS = 1000
const PATIENCE_MS = 20

type Counts = { requests: number; refused: number; limited: number; rows: number; bytes: number }

/** Counts in memory and writes once a second, never while a request waits for it. */
export function createUsageMeter(
  database: DatabaseSync,
  onTrouble: (why: string) => void = () => {},
): UsageMeter {
  const add = database.prepare(
    `INSERT INTO usage (key_id, day, route, requests, refused, limited, row_count, bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET
       requests = requests + excluded.requests, refused = refused + excluded.refused,
       limited = limited + excluded.limited, row_count = row_count + excluded.row_count,
       bytes = bytes + excluded.bytes`,
  )
  const list = database.prepare(
    'SELECT * FROM usage WHERE key_id = ? AND day >= ? ORDER BY day, route',
  )
  let waiting = new Map<string, Map<string, Counts>>()
  let day = toDay(Date.now())

  const flush = (): void => {
    const today = toDay(Date.now())
    const writing = waiting
    if (writing.size > 0) {
      waiting = new Map()
      try {
        // Requests wait behind this: rather later than long.
        database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`)
        inTransaction(database, () => {
          for (const [keyId, routes] of writing) {
            for (const [route, one] of routes) {
              const { requests, refused, limited, rows, bytes } = one
              add.run(keyId, day, route, requests, refused, limited, rows, bytes)
            }
          }
        })
      } catch (error) {
        // Nothing was written: it waits for the next turn.
        waiting = writing
        onTrouble(error instanceof Error ? error.message : String(error))
        return
      } finally {
        database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
      }
    }
    day = today
  }
  const timer = setInterval(flush, FLUSH_MS).unref()

  return {
    note(keyId, route, status, rows, bytes, requests = 1) {
      let routes = waiting.get(keyId)
      if (routes === undefined) waiting.set(keyId, (routes = new Map()))
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
    },
    read(keyId, firstDay) {
      flush()
      return list.all(keyId, firstDay).map((row) => ({
        day: row['day'] as number,
        route: row['route'] as string,
        requests: row['requests'] as number,
        refused: row['refused'] as number,
        limited: row['limited'] as number,
        rows: row['row_count'] as number,
        bytes: row['bytes'] as number,
      }))
    },
    flush,
    close() {
      clearInterval(timer)
      flush()
    },
  }
}

function toDay(ms: number): number {
  return (ms - (ms % DAY_MS)) * 1000
}
