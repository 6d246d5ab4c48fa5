import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from './control.ts'

/** The use of a key on a day and a route, by column; the day is its start in microseconds. */
export type UsageCounts = {
  readonly key_id: string
  readonly day: number
  readonly route: string
  readonly requests: number
  readonly refused: number
  readonly limited: number
  readonly row_count: number
  readonly bytes: number
}

export const USAGE_COLUMNS = [
  'key_id',
  'day',
  'route',
  'requests',
  'refused',
  'limited',
  'row_count',
  'bytes',
] as const satisfies readonly (keyof UsageCounts)[]

/** What this node counted since a day, to be shared with other nodes. */
export function exportUsage(database: DatabaseSync, firstDay: number): readonly UsageCounts[] {
  const rows = database.prepare('SELECT * FROM usage WHERE day >= ?').all(firstDay)
  return rows as unknown as UsageCounts[]
}

/** Replaces what all other nodes counted since a day. */
export function importUsage(
  database: DatabaseSync,
  firstDay: number,
  rows: readonly UsageCounts[],
): void {
  const places = USAGE_COLUMNS.map(() => '?').join(', ')
  inTransaction(database, () => {
    database.prepare('DELETE FROM usage_elsewhere WHERE day >= ?').run(firstDay)
    const add = database.prepare(
      `INSERT INTO usage_elsewhere (${USAGE_COLUMNS.join(', ')}) VALUES (${places})`,
    )
    for (const row of rows) add.run(...USAGE_COLUMNS.map((name) => row[name]))
  })
}
