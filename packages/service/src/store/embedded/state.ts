import type { Database } from './database.ts'
import { checkColumns, checkRow, insertRow } from './row-sum.ts'

/** Reads one of the store's own numbers; 0 where it was never written. */
export function readState(database: Database, name: string): number {
  return findState(database, name) ?? 0
}

/** Reads a number that may never have been written. */
export function findState(database: Database, name: string): number | undefined {
  const row = database.get('SELECT name, value, sum FROM state WHERE name = ?', name)
  if (row === undefined) return undefined
  checkRow('state', ['name', 'value'], row)
  return row['value'] as number
}

/** The numbers whose names begin with a text, by name. */
export function listStates(
  database: Database,
  beginning: string,
): readonly (readonly [name: string, value: number])[] {
  // As a range the primary key finds them.
  const end = `${beginning}\u{10ffff}`
  const rows = database.columns(
    'SELECT name, value, sum FROM state WHERE name >= ? AND name < ? ORDER BY name',
    beginning,
    end,
  )
  return rows.map((row) => {
    checkColumns('state', row)
    return [row[0] as string, row[1] as number]
  })
}

/** Writes one of the store's own numbers. */
export function writeState(database: Database, name: string, value: number): void {
  insertRow(database, 'INSERT OR REPLACE INTO state', ['name', 'value'], [name, value])
}

/** Writes one of the store's own numbers, or removes it where the value is null. */
export function changeState(database: Database, name: string, value: number | null): void {
  if (value === null) database.run('DELETE FROM state WHERE name = ?', name)
  else writeState(database, name, value)
}

/** Checks every number: one whose name is damaged would silently read as 0. */
export function checkStates(database: Database): void {
  database.ensureWhole('state')
  for (const row of database.all('SELECT name, value, sum FROM state')) {
    checkRow('state', ['name', 'value'], row)
  }
}

/** The names of the store's numbers. */
export const STATE = {
  /** A number that tells this tape from its copies. */
  owner: 'owner',
  /** Who wrote a shared tape last. */
  writer: 'writer',
  /** The log begins after this batch. */
  sealedThrough: 'sealed_through',
  /** The batches after that one up to this one hold rows that a pass of packing left: others had their places before. */
  carriedThrough: 'carried_through',
  /** Counts packing steps; a stream whose own version is older has not changed since. */
  version: 'version',
  /** 1 when the kept lists and sums fit the rows; else they are made again on opening for writing. */
  counted: 'counted',
  /** Which pass makes lists and sums again, see `recount.ts`, and how far it has come; 0 for none. */
  recounting: 'recounting',
  recounted: 'recounted',
  /** 1 when every listed market can be found by its words. */
  searchable: 'searchable',
  /** Counts streams that were replaced by rebuilt ones. */
  adoptions: 'adoptions',
  /** The last journal record whose rows are stored, and the last whose rows are in chunks. */
  applied: (venue: string): string => `applied:${venue}`,
  fact: (name: string): string => `fact:${name}`,
  packed: (venue: string): string => `packed:${venue}`,
  /** The value of `applied` when a damaged log was cut off. */
  mended: (venue: string): string => `mended:${venue}`,
} as const
