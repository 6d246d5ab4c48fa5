import { randomInt } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { PriorbookError, printMicros, toMicros, type Micros } from '@priorbook/sdk/domain'
import { inTransaction } from './control.ts'
import { createKeyText, hashKey, shownParts } from './key-text.ts'

/** What is stored of a key; never the key itself. */
export type KeyRecord = {
  readonly id: string
  /** The first characters and the last four, for people who compare. */
  readonly prefix: string
  readonly lastFour: string
  readonly name: string
  readonly plan: string
  readonly created: Micros
  readonly expires?: Micros
  /** When it is refused from; in the future while a rolled key still overlaps with its successor. */
  readonly revoked?: Micros
  readonly replacedBy?: string
}

/** A new key with its text, which cannot be read again. */
export type NewKey = KeyRecord & { readonly key: string }

/** What a new key gets. */
export type KeyOptions = {
  readonly plan: string
  readonly name?: string
  readonly expires?: Micros
  /** For keys that are derived instead of random: that of emulated data, and those of sign-up. */
  readonly text?: string
}

const ID_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

/** The keys of a control database; `revision` shows every change to other processes. */
export class KeyRing {
  readonly #database: DatabaseSync
  readonly #now: () => Micros
  readonly #insert
  readonly #byHash
  readonly #byName
  readonly #all
  readonly #end
  readonly #readRevision
  readonly #raiseRevision

  constructor(database: DatabaseSync, now: () => Micros) {
    this.#database = database
    this.#now = now
    this.#insert = database.prepare(
      `INSERT INTO key (id, hash, prefix, last_four, name, plan, created, expires)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#byHash = database.prepare('SELECT * FROM key WHERE hash = ?')
    this.#byName = database.prepare('SELECT * FROM key WHERE id = ? OR last_four = ? OR hash = ?')
    this.#all = database.prepare('SELECT * FROM key ORDER BY created, id')
    this.#end = database.prepare('UPDATE key SET revoked = ?, replaced_by = ? WHERE id = ?')
    this.#readRevision = database.prepare(`SELECT value FROM counter WHERE name = 'keys'`)
    this.#raiseRevision = database.prepare(
      `INSERT INTO counter (name, value) VALUES ('keys', 1)
       ON CONFLICT DO UPDATE SET value = value + 1`,
    )
  }

  create(options: KeyOptions): NewKey {
    return inTransaction(this.#database, () => this.#put(options))
  }

  /**
   * Creates a key with a given id. Gives `used` where there is one with this id, and `full` where the plan has `most`
   * keys that work.
   */
  createOnce(
    options: KeyOptions & { readonly id: string },
    most: number,
  ): NewKey | 'used' | 'full' {
    return inTransaction(this.#database, () => {
      const known = this.#database.prepare('SELECT 1 FROM key WHERE id = ?').get(options.id)
      if (known !== undefined) return 'used'
      const now = this.#now()
      const working = this.#database
        .prepare(
          `SELECT count(*) AS n FROM key WHERE plan = ? AND coalesce(revoked, ?) >= ? AND
           coalesce(expires, ?) >= ?`,
        )
        .get(options.plan, now + 1, now + 1, now + 1, now + 1)
      return Number(working!['n']) >= most ? 'full' : this.#put(options)
    })
  }

  list(): readonly KeyRecord[] {
    return this.#all.all().map(toRecord)
  }

  findByHash(hash: string): KeyRecord | undefined {
    const row = this.#byHash.get(hash)
    return row === undefined ? undefined : toRecord(row)
  }

  /** Ends a key at once. It is named by its id, its text, or its last four characters if unique. */
  revoke(name: string): KeyRecord {
    return inTransaction(this.#database, () => {
      const record = this.#find(name)
      const at = this.#now()
      // A key that has ended keeps the time of its end.
      if (record.revoked !== undefined && record.revoked <= at) return record
      this.#end.run(at, record.replacedBy ?? null, record.id)
      this.#raiseRevision.run()
      return { ...record, revoked: at }
    })
  }

  /** Creates a successor with the same plan and name; the old key works until the overlap is over. */
  roll(name: string, overlapMs: number): NewKey {
    return inTransaction(this.#database, () => {
      const old = this.#find(name)
      const at = this.#now()
      if (old.revoked !== undefined && old.revoked <= at) {
        throw new PriorbookError('invalid_argument', `${old.id} was revoked; create a new key`)
      }
      const { plan, expires } = old
      const next = this.#put({
        plan,
        name: old.name,
        ...(expires === undefined ? {} : { expires }),
      })
      this.#end.run(toMicros(at + overlapMs * 1000), next.id, old.id)
      return next
    })
  }

  /** Rises with every change. */
  revision(): number {
    return (this.#readRevision.get()?.['value'] as number | undefined) ?? 0
  }

  #put(options: KeyOptions & { readonly id?: string }): NewKey {
    const key = options.text ?? createKeyText()
    const id = options.id ?? createId()
    const { prefix, lastFour } = shownParts(key)
    const { plan, name = '', expires } = options
    const created = this.#now()
    this.#insert.run(id, hashKey(key), prefix, lastFour, name, plan, created, expires ?? null)
    this.#raiseRevision.run()
    const record = { id, prefix, lastFour, name, plan, created }
    return { key, ...record, ...(expires === undefined ? {} : { expires }) }
  }

  #find(name: string): KeyRecord {
    // A whole key is accepted too: it is hashed, never stored.
    const rows = this.#byName.all(name, name, hashKey(name))
    const [row] = rows
    if (row === undefined) {
      throw new PriorbookError('invalid_argument', 'there is no such key; see keys list')
    }
    if (rows.length > 1) {
      const detail = `${rows.length} keys end with ${name}; name one by its id`
      throw new PriorbookError('invalid_argument', detail)
    }
    return toRecord(row)
  }
}

/** All keys of a control database by their hash. */
export function listKeys(database: DatabaseSync): ReadonlyMap<string, KeyRecord> {
  const rows = database.prepare('SELECT * FROM key').all()
  return new Map(rows.map((row) => [row['hash'] as string, toRecord(row)]))
}

/** Rises with every change of keys. */
export function readRevision(database: DatabaseSync): number {
  const row = database.prepare(`SELECT value FROM counter WHERE name = 'keys'`).get()
  return (row?.['value'] as number | undefined) ?? 0
}

/** Whether a key works now, and until when, for people. */
export function printKeyState({ expires, revoked }: KeyRecord): string {
  const now = Date.now() * 1000
  if (revoked !== undefined) {
    return revoked <= now ? 'revoked' : `ends ${printMicros(revoked).slice(0, 16)}`
  }
  if (expires === undefined) return 'active'
  return expires <= now ? 'expired' : `until ${printMicros(expires).slice(0, 10)}`
}

function createId(): string {
  const digits = Array.from({ length: 12 }, () => ID_DIGITS[randomInt(ID_DIGITS.length)]!)
  return `key_${digits.join('')}`
}

function toRecord(row: Record<string, unknown>): KeyRecord {
  const { expires, revoked, replaced_by: replacedBy } = row
  return {
    id: row['id'] as string,
    prefix: row['prefix'] as string,
    lastFour: row['last_four'] as string,
    name: row['name'] as string,
    plan: row['plan'] as string,
    created: row['created'] as Micros,
    ...(expires === null ? {} : { expires: expires as Micros }),
    ...(revoked === null ? {} : { revoked: revoked as Micros }),
    ...(replacedBy === null ? {} : { replacedBy: replacedBy as string }),
  }
}
