import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from './control.ts'

/** A key as it is stored, by column; times are microseconds. */
export type KeyRow = {
  readonly id: string
  readonly hash: string
  readonly prefix: string
  readonly last_four: string
  readonly name: string
  readonly plan: string
  readonly created: number
  readonly expires: number | null
  readonly revoked: number | null
  readonly replaced_by: string | null
}

/** All keys of a control database, to be shared with other machines. */
export function exportKeys(database: DatabaseSync): readonly KeyRow[] {
  return database.prepare('SELECT * FROM key ORDER BY id').all() as unknown as KeyRow[]
}

/** Adds keys of other machines, and what happened to known ones; true where that changed anything. */
export function importKeys(database: DatabaseSync, rows: readonly KeyRow[]): boolean {
  const newsOf = (): readonly KeyRow[] => {
    const known = new Map(exportKeys(database).map((row) => [row.id, row]))
    return rows.flatMap((row) => mergeKeys(known.get(row.id), row) ?? [])
  }
  if (newsOf().length === 0) return false
  return inTransaction(database, () => {
    // Again, because a key may have been revoked here since.
    const changed = newsOf()
    const put = database.prepare(
      `INSERT INTO key
       (id, hash, prefix, last_four, name, plan, created, expires, revoked, replaced_by)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, revoked = excluded.revoked,
        replaced_by = excluded.replaced_by`,
    )
    for (const { id, hash, prefix, last_four: lastFour, name, plan, ...more } of changed) {
      const { created, expires, revoked, replaced_by: next } = more
      put.run(id, hash, prefix, lastFour, name, plan, created, expires, revoked, next)
    }
    database.exec(`INSERT INTO counter (name, value) VALUES ('keys', 1)
      ON CONFLICT DO UPDATE SET value = value + 1`)
    return changed.length > 0
  })
}

/**
 * Merges two records of one key. Where both have an end, the earlier one counts. Returns undefined where the
 * other record adds nothing to the known one.
 */
export function mergeKeys(known: KeyRow | undefined, other: KeyRow): KeyRow | undefined {
  if (known === undefined) return other
  const merged = {
    ...known,
    expires: earlier(known.expires, other.expires),
    revoked: earlier(known.revoked, other.revoked),
    replaced_by: known.replaced_by ?? other.replaced_by,
  }
  const isSame =
    merged.expires === known.expires &&
    merged.revoked === known.revoked &&
    merged.replaced_by === known.replaced_by
  return isSame ? undefined : merged
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

/** Makes a secret the one that signs; those from before still verify. */
export function adoptSecret(
  database: DatabaseSync,
  purpose: 'cursor',
  value: Uint8Array,
  now: number,
): void {
  const newest = database
    .prepare('SELECT value FROM secret WHERE purpose = ? ORDER BY id DESC LIMIT 1')
    .get(purpose)?.['value'] as Uint8Array | undefined
  if (newest !== undefined && Buffer.compare(newest, value) === 0) return
  database
    .prepare('INSERT INTO secret (purpose, value, created) VALUES (?, ?, ?)')
    .run(purpose, value, now)
}
