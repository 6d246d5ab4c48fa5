import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { toMicros } from '@priorbook/sdk/domain'
import { CONTROL_FILE, openControl, readSecrets } from '../api/auth/control.ts'
import {
  adoptSecret,
  exportKeys,
  importKeys,
  mergeKeys,
  type KeyRow,
} from '../api/auth/shared-keys.ts'
import { LIMITS_FILE, NodeCount } from '../api/auth/limiter.ts'
import {
  exportUsage,
  importUsage,
  USAGE_COLUMNS,
  type UsageCounts,
} from '../api/auth/shared-usage.ts'
import { sleep } from '../lib/wait.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import { readMemberId } from './member-id.ts'
import { createTable, Postgres, type Runner } from './postgres.ts'

const TABLES = [
  `CREATE TABLE IF NOT EXISTS priorbook_secret (purpose TEXT PRIMARY KEY, value BYTEA NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS priorbook_key (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    prefix TEXT NOT NULL,
    last_four TEXT NOT NULL,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    revoked BIGINT,
    replaced_by TEXT
  )`,
  `CREATE TABLE IF NOT EXISTS priorbook_node (name TEXT PRIMARY KEY, until TIMESTAMPTZ NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS priorbook_usage (
    node TEXT NOT NULL,
    key_id TEXT NOT NULL,
    day BIGINT NOT NULL,
    route TEXT NOT NULL,
    requests BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    limited BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (day, node, key_id, route)
  )`,
]
const COLUMNS = [
  'id',
  'hash',
  'prefix',
  'last_four',
  'name',
  'plan',
  'created',
  'expires',
  'revoked',
  'replaced_by',
] as const

const PERIOD_MS = 1_000
/** A node that has not been heard of for so long has no share of the limits. */
const NODE_MS = 5_000
const USAGE_MS = 3_000

/**
 * Keeps the keys of the nodes of a shared tape the same: a key that is created, rolled or revoked on one
 * node is so on all of them a second later. All nodes sign cursors with one secret, know how many they are, and
 * add up what keys used.
 */
export class SharedAccess {
  readonly #postgres: Postgres
  readonly #control: DatabaseSync
  readonly #log: CaptureLog
  readonly #name: string
  readonly #nodes: NodeCount
  #isFailing = false
  #isPrepared = false
  #usageMs = -Infinity
  /** The first day whose usage may have changed; all of them at first. */
  #usageFrom = 0

  constructor(address: string, folder: string, log: CaptureLog) {
    this.#postgres = new Postgres(address)
    this.#name = readMemberId(folder)
    this.#nodes = new NodeCount(join(folder, LIMITS_FILE))
    this.#control = openControl(join(folder, CONTROL_FILE))
    this.#log = log
  }

  /** Before requests are served: takes over the common secret and all keys. */
  async prepare(): Promise<void> {
    for (const sql of TABLES) await createTable(this.#postgres, sql)
    const now = toMicros(Date.now() * 1000)
    const own = readSecrets(this.#control, 'cursor', now)[0]!
    await this.#postgres.run(
      `INSERT INTO priorbook_secret (purpose, value) VALUES ('cursor', $1) ON CONFLICT DO NOTHING`,
      [Buffer.from(own)],
    )
    const [row] = await this.#postgres.run(
      `SELECT value FROM priorbook_secret WHERE purpose = 'cursor'`,
    )
    adoptSecret(this.#control, 'cursor', row!['value'] as Buffer, now)
    await this.#exchange()
    this.#isPrepared = true
  }

  /** Goes on until the signal. While the database is away, every node goes on with the keys that it has. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(PERIOD_MS, signal)
      if (signal.aborted) return
      try {
        if (this.#isPrepared) await this.#exchange()
        else await this.prepare()
        await this.#countNodes()
        await this.#exchangeUsage()
        if (this.#isFailing) this.#log.info({}, 'keys are shared again')
        this.#isFailing = false
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        if (!this.#isFailing) this.#log.error({ error: why }, 'keys are not shared')
        this.#isFailing = true
      }
    }
  }

  async close(): Promise<void> {
    this.#control.close()
    this.#nodes.close()
    await this.#postgres.close()
  }

  async #countNodes(): Promise<void> {
    await this.#postgres.run(
      `INSERT INTO priorbook_node (name, until)
       VALUES ($1, clock_timestamp() + $2 * INTERVAL '1 millisecond')
       ON CONFLICT (name) DO UPDATE SET until = excluded.until`,
      [this.#name, NODE_MS],
    )
    const live = await this.#postgres.run(
      'SELECT name FROM priorbook_node WHERE until > clock_timestamp()',
    )
    this.#nodes.write(Math.max(1, live.length))
  }

  // Every node writes its own totals, so that writing them again changes nothing.
  async #exchangeUsage(): Promise<void> {
    if (performance.now() - this.#usageMs < USAGE_MS) return
    this.#usageMs = performance.now()
    const from = this.#usageFrom
    await this.#postgres.transaction('BEGIN', async (runner) => {
      for (const row of exportUsage(this.#control, from)) await writeUsage(runner, this.#name, row)
    })
    const rows = await this.#postgres.run(
      `SELECT key_id, day, route, ${SUMS} FROM priorbook_usage
       WHERE node <> $1 AND day >= $2 GROUP BY key_id, day, route`,
      [this.#name, from],
    )
    importUsage(this.#control, from, rows as unknown as UsageCounts[])
    // A day that has ended may still be written for a while.
    this.#usageFrom = (Math.floor(Date.now() / DAY_MS) - 1) * DAY_MS * 1000
  }

  async #exchange(): Promise<void> {
    const theirs = await readKeys(this.#postgres)
    importKeys(this.#control, [...theirs.values()])
    const isNews = (row: KeyRow): boolean => mergeKeys(theirs.get(row.id), row) !== undefined
    const news = exportKeys(this.#control).filter(isNews)
    if (news.length === 0) return
    await this.#postgres.transaction('BEGIN', async (runner) => {
      for (const row of news) await writeKey(runner, row)
    })
  }
}

async function readKeys(runner: Runner): Promise<Map<string, KeyRow>> {
  const rows = await runner.run(`SELECT ${COLUMNS.join(', ')} FROM priorbook_key`)
  return new Map(rows.map((row) => [row['id'] as string, row as unknown as KeyRow]))
}

// Another node may have written the key since it was read: the earlier end counts here too.
async function writeKey(runner: Runner, row: KeyRow): Promise<void> {
  const places = COLUMNS.map((_, at) => `$${at + 1}`)
  await runner.run(
    `INSERT INTO priorbook_key AS key (${COLUMNS.join(', ')}) VALUES (${places.join(', ')})
     ON CONFLICT (id) DO UPDATE SET
      expires = LEAST(key.expires, EXCLUDED.expires),
      revoked = LEAST(key.revoked, EXCLUDED.revoked),
      replaced_by = COALESCE(key.replaced_by, EXCLUDED.replaced_by)`,
    COLUMNS.map((name) => row[name]),
  )
}

const DAY_MS = 86_400_000
const COUNTS = ['requests', 'refused', 'limited', 'row_count', 'bytes'] as const
const SUMS = COUNTS.map((name) => `sum(${name})::BIGINT AS ${name}`).join(', ')

async function writeUsage(runner: Runner, node: string, row: UsageCounts): Promise<void> {
  const places = USAGE_COLUMNS.map((_, at) => `$${at + 2}`)
  await runner.run(
    `INSERT INTO priorbook_usage (node, ${USAGE_COLUMNS.join(', ')}) VALUES ($1, ${places.join(', ')})
     ON CONFLICT (day, node, key_id, route) DO UPDATE SET
      ${COUNTS.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    [node, ...USAGE_COLUMNS.map((name) => row[name])],
  )
}
