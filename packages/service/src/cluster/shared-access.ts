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
import { sleep } from '../lib/wait.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
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

/**
 * Keeps the keys of the nodes of a shared tape the same: a key that is created, rolled or revoked on one
 * node is so on all of them a second later. All nodes sign cursors with one secret.
 */
export class SharedAccess {
  readonly #postgres: Postgres
  readonly #control: DatabaseSync
  readonly #log: CaptureLog
  #isFailing = false
  #isPrepared = false

  constructor(address: string, folder: string, log: CaptureLog) {
    this.#postgres = new Postgres(address)
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
    await this.#postgres.close()
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
