import { randomBytes, randomInt } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseAlertRule, type AlertRule } from '@priorbook/sdk/alerts'
import { PriorbookError, toMicros, type Micros } from '@priorbook/sdk/domain'
import type { AlertEventJson } from '@priorbook/sdk/wire'
import { BUSY_MS, inTransaction } from '../api/auth/control.ts'
import type { AlertDelivery, StoredAlert } from '../api/route.ts'
import { makeFolder } from '../lib/make-folder.ts'

/** The name of the file of rules, their state and their events in a data folder. */
export const ALERTS_FILE = 'alerts.db'

const VERSION = 1
const SCHEMA = `
CREATE TABLE rule (
  id TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  created INTEGER NOT NULL,
  json TEXT NOT NULL,
  secret TEXT NOT NULL,
  -- Up to when markets of a family were looked for.
  scanned INTEGER NOT NULL,
  fired INTEGER NOT NULL,
  delivered INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  error TEXT
) STRICT;
CREATE INDEX rule_key ON rule (key_id, created, id);
CREATE TABLE watch (
  rule_id TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  -- When there was nothing more to watch.
  over INTEGER,
  PRIMARY KEY (rule_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
  rule_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  state INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  next INTEGER NOT NULL,
  ended INTEGER,
  status INTEGER,
  error TEXT,
  created INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (rule_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_pending ON event (rule_id, number) WHERE state = 0;
CREATE TABLE lease (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires INTEGER NOT NULL) STRICT;
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES ('rules', 0);
`

// Of version 1 too; what looks for watches passes over those that are over, which stay for ever.
const INDEXES = `
CREATE INDEX IF NOT EXISTS watch_open ON watch (rule_id, name) WHERE over IS NULL;
CREATE INDEX IF NOT EXISTS watch_state ON watch (over) WHERE state <> '';
`

const STATES = ['pending', 'delivered', 'dropped'] as const
const [PENDING, DELIVERED, DROPPED] = [0, 1, 2]

/** What an evaluation found: the new state of a watch and the events behind it, durable together. */
export type WatchStep = {
  readonly ruleId: string
  readonly name: string
  readonly state: string
  readonly events: readonly NewEvent[]
  /** Set when there is nothing more to watch. */
  readonly isOver?: boolean
}

/** An event without what the store adds: its number and id. */
export type NewEvent = Omit<AlertEventJson, 'id' | 'number' | 'alert_id'>

/** An event that is due, with where and how to send it. */
export type DueEvent = {
  /** The key that created its rule. */
  readonly keyId: string
  readonly ruleId: string
  readonly number: number
  readonly id: string
  readonly attempts: number
  readonly created: number
  readonly body: string
  readonly webhook: string
  readonly secret: string
}

/** Rules, states and events in one file, which several processes read and write. */
export class AlertStore {
  readonly #database: DatabaseSync
  readonly #maxPending: number
  readonly #now: () => Micros

  constructor(file: string, maxPending: number, now: () => Micros) {
    this.#database = openFile(file)
    this.#maxPending = maxPending
    this.#now = now
  }

  close(): void {
    this.#database.close()
  }

  /** Rises when rules are created or deleted. */
  revision(): number {
    return this.#number(`SELECT value AS n FROM counter WHERE name = 'rules'`)
  }

  count(): number {
    return this.#number('SELECT count(*) AS n FROM rule')
  }

  /** All rules, or those of some keys after an id, oldest first. */
  rules(
    owners?: readonly string[],
    after?: string,
    limit = Number.MAX_SAFE_INTEGER,
  ): readonly StoredAlert[] {
    const rows =
      owners === undefined
        ? this.#database.prepare('SELECT * FROM rule ORDER BY created, id').all()
        : this.#database
            .prepare(
              `SELECT * FROM rule WHERE key_id IN (SELECT value FROM json_each(?)) AND
               (created, id) > (SELECT coalesce(max(created), 0), coalesce(max(id), '') FROM rule
                WHERE id = ?) ORDER BY created, id LIMIT ?`,
            )
            .all(JSON.stringify(owners), after ?? '', limit)
    return rows.map((row) => this.#toAlert(row))
  }

  find(id: string): StoredAlert | undefined {
    const row = this.#database.prepare('SELECT * FROM rule WHERE id = ?').get(id)
    return row === undefined ? undefined : this.#toAlert(row)
  }

  /** Adds a rule of a key, unless its owners have `most` of them. */
  add(
    keyId: string,
    owners: readonly string[],
    rule: AlertRule,
    most: number,
  ): { readonly alert: StoredAlert; readonly secret: string } | undefined {
    return inTransaction(this.#database, () => {
      const had = this.#number(
        'SELECT count(*) AS n FROM rule WHERE key_id IN (SELECT value FROM json_each(?))',
        JSON.stringify(owners),
      )
      if (had >= most) return undefined
      const id = `alert_${digits(12)}`
      const secret = `whsec_${randomBytes(32).toString('base64')}`
      const created = this.#now()
      this.#database
        .prepare('INSERT INTO rule VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, NULL)')
        .run(id, keyId, created, JSON.stringify(rule.json), secret, created)
      this.#raise()
      return { alert: this.find(id)!, secret }
    })
  }

  remove(id: string): void {
    inTransaction(this.#database, () => {
      this.#database.prepare('DELETE FROM event WHERE rule_id = ?').run(id)
      this.#database.prepare('DELETE FROM watch WHERE rule_id = ?').run(id)
      this.#database.prepare('DELETE FROM rule WHERE id = ?').run(id)
      this.#raise()
    })
  }

  /** Where a watch of a rule stands; undefined for one that never began. */
  watch(
    ruleId: string,
    name: string,
  ): { readonly state: string; readonly isOver: boolean } | undefined {
    const row = this.#database
      .prepare('SELECT * FROM watch WHERE rule_id = ? AND name = ?')
      .get(ruleId, name)
    if (row === undefined) return undefined
    return { state: row['state'] as string, isOver: row['over'] !== null }
  }

  /** The names of the watches of a rule that are not over. */
  openWatches(ruleId: string): readonly string[] {
    const rows = this.#database
      .prepare(
        'SELECT name FROM watch INDEXED BY watch_open WHERE rule_id = ? AND over IS NULL ORDER BY name',
      )
      .all(ruleId)
    return rows.map((row) => row['name'] as string)
  }

  /** Up to when markets of a rule's family were looked for. */
  scanned(ruleId: string): number {
    return this.#number('SELECT scanned AS n FROM rule WHERE id = ?', ruleId)
  }

  setScanned(ruleId: string, at: number): void {
    this.#database.prepare('UPDATE rule SET scanned = ? WHERE id = ?').run(at, ruleId)
  }

  /** Takes or renews the right to evaluate and deliver; false while another process has it. */
  acquire(holder: string, nowMs: number, forMs: number): boolean {
    const { changes } = this.#database
      .prepare(
        `INSERT INTO lease VALUES ('worker', ?, ?) ON CONFLICT (name) DO UPDATE
         SET holder = excluded.holder, expires = excluded.expires
         WHERE holder = excluded.holder OR expires < ?`,
      )
      .run(holder, nowMs + forMs, nowMs)
    return Number(changes) === 1
  }

  release(holder: string): void {
    this.#database.prepare('DELETE FROM lease WHERE holder = ?').run(holder)
  }

  /**
   * Stores states with their events, all or nothing. False where another process took over, whose states
   * are then the truth. A rule that was deleted meanwhile is left out.
   */
  commit(holder: string, steps: readonly WatchStep[]): boolean {
    return inTransaction(this.#database, () => {
      const own = this.#database.prepare('SELECT holder FROM lease').get()?.['holder']
      if (own !== holder) return false
      const has = this.#database.prepare('SELECT 1 FROM rule WHERE id = ?')
      const put = this.#database.prepare(
        `INSERT INTO watch VALUES (?, ?, ?, ?) ON CONFLICT (rule_id, name) DO UPDATE
         SET state = excluded.state, over = excluded.over`,
      )
      for (const { ruleId, name, state, events, isOver = false } of steps) {
        if (has.get(ruleId) === undefined) continue
        put.run(ruleId, name, state, isOver ? wallMicros() : null)
        for (const event of events) this.#insert(ruleId, event)
        if (events.length > 0) this.#bound(ruleId)
      }
      return true
    })
  }

  /** Adds one event outside of an evaluation. */
  addEvent(ruleId: string, event: NewEvent): AlertDelivery {
    const number = inTransaction(this.#database, () => {
      const added = this.#insert(ruleId, event)
      this.#bound(ruleId)
      return added
    })
    return this.deliveries(ruleId, number + 1, 1)[0]!
  }

  deliveries(ruleId: string, before = Number.MAX_SAFE_INTEGER, limit: number): AlertDelivery[] {
    const rows = this.#database
      .prepare('SELECT * FROM event WHERE rule_id = ? AND number < ? ORDER BY number DESC LIMIT ?')
      .all(ruleId, before, limit)
    return rows.map(toDelivery)
  }

  /** The oldest waiting event of every rule that has one due, those that wait longest first; later ones wait for it. */
  due(now: number): readonly DueEvent[] {
    // One step in the index for each rule, however many of its events wait.
    const rows = this.#database
      .prepare(
        `SELECT event.*, rule.key_id, rule.json, rule.secret FROM rule JOIN event
         ON event.rule_id = rule.id AND event.number =
         (SELECT number FROM event WHERE rule_id = rule.id AND state = 0 ORDER BY number LIMIT 1)
         WHERE event.next <= ? ORDER BY event.next, event.created`,
      )
      .all(now)
    return rows.map((row) => ({
      keyId: row['key_id'] as string,
      ruleId: row['rule_id'] as string,
      number: row['number'] as number,
      id: eventId(row['rule_id'] as string, row['number'] as number),
      attempts: row['attempts'] as number,
      created: row['created'] as number,
      body: row['body'] as string,
      webhook: (JSON.parse(row['json'] as string) as { webhook: string }).webhook,
      secret: row['secret'] as string,
    }))
  }

  /** Notes that a receiver has an event; it is never sent again. */
  setDelivered({ ruleId, number }: DueEvent, status: number): void {
    inTransaction(this.#database, () => {
      const before = this.#stateOf(ruleId, number)
      if (before === undefined || before === DELIVERED) return
      this.#database
        .prepare(
          `UPDATE event SET state = ${DELIVERED}, attempts = attempts + 1, ended = ?, status = ?,
           error = NULL WHERE rule_id = ? AND number = ?`,
        )
        .run(wallMicros(), status, ruleId, number)
      // It may have been given up while it was on its way.
      this.#database
        .prepare(
          'UPDATE rule SET delivered = delivered + 1, dropped = dropped - ?, error = NULL WHERE id = ?',
        )
        .run(before === DROPPED ? 1 : 0, ruleId)
    })
  }

  /** Notes a failed attempt, and when the next one is due. */
  setFailed(
    { ruleId, number }: DueEvent,
    failure: { readonly status: number | undefined; readonly error: string },
    next: number,
  ): void {
    const { status = null, error } = failure
    inTransaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(
          `UPDATE event SET attempts = attempts + 1, next = ?, status = ?, error = ?
           WHERE rule_id = ? AND number = ? AND state = ${PENDING}`,
        )
        .run(next, status, error, ruleId, number)
      // Another process may have delivered it meanwhile.
      if (Number(changes) === 0) return
      this.#database.prepare('UPDATE rule SET error = ? WHERE id = ?').run(error, ruleId)
    })
  }

  /** Gives up the events of a rule that are older than a time. */
  dropOlder(ruleId: string, than: number, why: string): void {
    inTransaction(this.#database, () => {
      const found = this.#database
        .prepare(`SELECT number FROM event WHERE rule_id = ? AND state = 0 AND created < ?`)
        .all(ruleId, than)
      for (const { number } of found) this.#drop(ruleId, number as number, why)
    })
  }

  /**
   * Removes events that ended before a time, all but the newest of a rule, and the states of watches that are over.
   * That they are over stays: a watch that is not known begins with its rule, and would find old events again.
   */
  prune(before: number, most: number): void {
    const run = (sql: string, ...values: number[]): void => {
      this.#database.prepare(sql).run(...values)
    }
    run('DELETE FROM event WHERE state <> 0 AND ended < ?', before)
    run(
      `DELETE FROM event WHERE state <> 0 AND number <=
       (SELECT fired FROM rule WHERE rule.id = event.rule_id) - ?`,
      most,
    )
    run(`UPDATE watch INDEXED BY watch_state SET state = '' WHERE over < ? AND state <> ''`, before)
  }

  #insert(ruleId: string, event: NewEvent): number {
    const row = this.#database
      .prepare('UPDATE rule SET fired = fired + 1 WHERE id = ? RETURNING fired')
      .get(ruleId)
    const number = row!['fired'] as number
    const { kind, ...more } = event
    const body = { id: eventId(ruleId, number), kind, alert_id: ruleId, number, ...more }
    const created = wallMicros()
    this.#database
      .prepare('INSERT INTO event VALUES (?, ?, 0, 0, ?, NULL, NULL, NULL, ?, ?)')
      .run(ruleId, number, created, created, JSON.stringify(body))
    return number
  }

  // The queue of a rule is bounded: the oldest events are given up, and stay listed as dropped.
  #bound(ruleId: string): void {
    const waiting = this.#pending(ruleId)
    if (waiting <= this.#maxPending) return
    const oldest = this.#database
      .prepare('SELECT number FROM event WHERE rule_id = ? AND state = 0 ORDER BY number LIMIT ?')
      .all(ruleId, waiting - this.#maxPending)
    for (const { number } of oldest) {
      this.#drop(ruleId, number as number, `more than ${this.#maxPending} events waited`)
    }
  }

  #drop(ruleId: string, number: number, why: string): void {
    this.#database
      .prepare(
        `UPDATE event SET state = ${DROPPED}, ended = ?, error = ? WHERE rule_id = ? AND number = ?`,
      )
      .run(wallMicros(), why, ruleId, number)
    this.#database.prepare('UPDATE rule SET dropped = dropped + 1 WHERE id = ?').run(ruleId)
  }

  #stateOf(ruleId: string, number: number): number | undefined {
    const row = this.#database
      .prepare('SELECT state FROM event WHERE rule_id = ? AND number = ?')
      .get(ruleId, number)
    return row?.['state'] as number | undefined
  }

  #pending(ruleId: string): number {
    return this.#number(
      `SELECT count(*) AS n FROM event WHERE rule_id = ? AND state = ${PENDING}`,
      ruleId,
    )
  }

  #number(sql: string, ...values: string[]): number {
    return (this.#database.prepare(sql).get(...values)?.['n'] as number | undefined) ?? 0
  }

  #raise(): void {
    this.#database.exec(`UPDATE counter SET value = value + 1 WHERE name = 'rules'`)
  }

  #toAlert(row: Record<string, unknown>): StoredAlert {
    const id = row['id'] as string
    return {
      id,
      keyId: row['key_id'] as string,
      created: toMicros(row['created'] as number),
      rule: parseAlertRule(JSON.parse(row['json'] as string)),
      fired: row['fired'] as number,
      pending: this.#pending(id),
      delivered: row['delivered'] as number,
      dropped: row['dropped'] as number,
      error: (row['error'] as string | null) ?? undefined,
    }
  }
}

function toDelivery(row: Record<string, unknown>): AlertDelivery {
  const number = row['number'] as number
  const state = STATES[row['state'] as number]!
  return {
    id: eventId(row['rule_id'] as string, number),
    number,
    state,
    attempts: row['attempts'] as number,
    next: state === 'pending' ? (row['next'] as number) : undefined,
    ended: (row['ended'] as number | null) ?? undefined,
    status: (row['status'] as number | null) ?? undefined,
    error: (row['error'] as string | null) ?? undefined,
    event: row['body'] as string,
  }
}

// Numbers are given out in the transaction that stores the event, so that an id never names two of them.
function eventId(ruleId: string, number: number): string {
  return `${ruleId.replace('alert_', 'evt_')}-${number}`
}

function openFile(file: string): DatabaseSync {
  makeFolder(dirname(file))
  const database = new DatabaseSync(file)
  // It holds the secrets that sign deliveries.
  chmodSync(file, 0o600)
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL`)
  // An event that was delivered must not be forgotten when the machine loses power.
  database.exec('PRAGMA synchronous = FULL')
  const versionOf = (): number =>
    database.prepare('PRAGMA user_version').get()!['user_version'] as number
  if (versionOf() > VERSION) {
    const detail = `${file} has version ${versionOf()}`
    database.close()
    throw new PriorbookError('newer_schema', detail)
  }
  inTransaction(database, () => {
    // Another process may have created the tables meanwhile.
    if (versionOf() < VERSION) database.exec(`${SCHEMA} PRAGMA user_version = ${VERSION}`)
    database.exec(INDEXES)
  })
  return database
}

// Deliveries happen by the clock of the machine, whatever the time of the rows.
function wallMicros(): number {
  return Date.now() * 1000
}

const ID_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

function digits(count: number): string {
  return Array.from({ length: count }, () => ID_DIGITS[randomInt(ID_DIGITS.length)]!).join('')
}
