import { randomInt } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { PriorbookError, toMicros, type Micros } from '@priorbook/sdk/domain'
import { inTransaction } from './control.ts'
import { createKeyText, hashKey, shownParts } from './key-text.ts'

/** What is kept of a key: everything but the key. */
export type KeyRecord = {
  readonly id: string
  /** The first characters and the last four, for people who compare. */
  readonly prefix: string
  readonly lastFour: string
  readonly name: string
  readonly plan: string
  readonly created: Micros
  readonly expires?: Micros
  /** From when it is refused; in the future while a rolled key still overlaps with its successor. */
  readonly revoked?: Micros
  readonly replacedBy?: string
}

/** A key that was just made, with its text, which nobody can ask for again. */
export type NewKey = KeyRecord & { readonly key: string }

/** Makes, finds and ends keys; every process sees a change by `revision`. */
export interface KeyRing {
  create(options: {
    readonly plan: string
    readonly name?: string
    readonly expires?: Micros
    /** Only for the key of emulated data, which is derived instead of drawn. */
    readonly text?: string
  }): NewKey
  list(): readonly KeyRecord[]
  findByHash(hash: string): KeyRecord | undefined
  /** Ends a key at once; it is named by its id, or by its last four characters if they are enough. */
  revoke(name: string): KeyRecord
  /** Makes a successor with the same plan and name; the old key works until the overlap is over. */
  roll(name: string, overlapMs: number): NewKey
  /** Rises with every change. */
  revision(): number
}

const ID_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

/** The keys of a control database. */
export function createKeyRing(database: DatabaseSync, now: () => Micros): KeyRing {
  const insert = database.prepare(
    `INSERT INTO key (id, hash, prefix, last_four, name, plan, created, expires)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const byHash = database.prepare('SELECT * FROM key WHERE hash = ?')
  const byName = database.prepare('SELECT * FROM key WHERE id = ? OR last_four = ? OR hash = ?')
  const all = database.prepare('SELECT * FROM key ORDER BY created, id')
  const end = database.prepare('UPDATE key SET revoked = ?, replaced_by = ? WHERE id = ?')
  const readRevision = database.prepare(`SELECT value FROM counter WHERE name = 'keys'`)
  const raise = database.prepare(
    `INSERT INTO counter (name, value) VALUES ('keys', 1)
     ON CONFLICT DO UPDATE SET value = value + 1`,
  )

  const put = (options: Parameters<KeyRing['create']>[0]): NewKey => {
    const key = options.text ?? createKeyText()
    const id = createId()
    const { prefix, lastFour } = shownParts(key)
    const { plan, name = '', expires } = options
    const created = now()
    insert.run(id, hashKey(key), prefix, lastFour, name, plan, created, expires ?? null)
    raise.run()
    const record = { id, prefix, lastFour, name, plan, created }
    return { key, ...record, ...(expires === undefined ? {} : { expires }) }
  }

  const find = (name: string): KeyRecord => {
    // A whole key may be given too: it is hashed, never stored.
    const rows = byName.all(name, name, hashKey(name))
    const [row] = rows
    if (row === undefined) {
      throw new PriorbookError('invalid_argument', 'there is no such key; see keys list')
    }
    if (rows.length > 1) {
      throw new PriorbookError('invalid_argument', `${rows.length} keys end so; name one by its id`)
    }
    return toRecord(row)
  }

  return {
    create: (options) => inTransaction(database, () => put(options)),
    list: () => all.all().map(toRecord),
    findByHash(hash) {
      const row = byHash.get(hash)
      return row === undefined ? undefined : toRecord(row)
    },
    revoke: (name) =>
      inTransaction(database, () => {
        const record = find(name)
        const at = now()
        // A key that ended before keeps the time of its end.
        if (record.revoked !== undefined && record.revoked <= at) return record
        end.run(at, record.replacedBy ?? null, record.id)
        raise.run()
        return { ...record, revoked: at }
      }),
    roll: (name, overlapMs) =>
      inTransaction(database, () => {
        const old = find(name)
        const at = now()
        if (old.revoked !== undefined && old.revoked <= at) {
          throw new PriorbookError('invalid_argument', `${old.id} was revoked; create a new key`)
        }
        const { plan, expires } = old
        const next = put({ plan, name: old.name, ...(expires === undefined ? {} : { expires }) })
        end.run(toMicros(at + overlapMs * 1000), next.id, old.id)
        return next
      }),
    revision: () => (readRevision.get()?.['value'] as number | undefined) ?? 0,
  }
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
