import type { Database } from './database.ts'
import { checkRow, insertRow } from './row-sum.ts'

const COLUMNS = ['market', 'first']

/** The first version of a market that retention left; absent where all are stored. */
export function findCut(database: Database, market: number): number | undefined {
  const row = database.get('SELECT market, first, sum FROM revision_cut WHERE market = ?', market)
  if (row === undefined) return undefined
  checkRow('revision_cut', COLUMNS, row)
  return row['first'] as number
}

/** Removes the versions of a market before one; the caller is in a write transaction. */
export function cutRevisions(database: Database, market: number, first: number): void {
  database.run('DELETE FROM revision WHERE market = ? AND ordinal < ?', market, first)
  insertRow(database, 'INSERT OR REPLACE INTO revision_cut', COLUMNS, [market, first])
}
