import { PriorbookError } from '@priorbook/sdk/domain'
import { hashOf, readChanges, splitRow, type ChangedTable } from '../store/embedded/shared/copy.ts'
import { ROWS_AT_ONCE, upsertRows, writeTable } from './image.ts'
import type { Runner } from './postgres.ts'

// Bounds the time of one transaction.
const COMMITS = 256
/** Max bytes of commits that are read at once, if more than one. */
export const MAX_BYTES = 8_000_000

/** The commits after $1: at most $2 of them, of at most $3 bytes, and at least one if there is any. */
export const NEXT_CHANGES = `SELECT id, hash, changes FROM (
    SELECT id, hash, changes, SUM(octet_length(changes)) OVER (ORDER BY id) AS total
    FROM priorbook_change WHERE id > $1 ORDER BY id LIMIT $2
  ) next WHERE total <= $3 OR id = $1 + 1 ORDER BY id`

type Columns = (Uint8Array | undefined)[]

/** What several commits make of the rows of one table: columns by key, undefined for removed rows. */
type FoldedTable = { readonly table: ChangedTable; readonly rows: Map<string, FoldedRow> }
type FoldedRow = { readonly key: Uint8Array; columns: Columns | undefined; isWhole: boolean }

/**
 * Puts the next commits into the image, each row once, however often they changed it; then removes commits
 * that are in the image and older than `keepMs`. Returns how many commits the image still lacks. The lock
 * on the image's own row keeps others from doing the same; appending does not wait for it.
 */
export async function foldChanges(runner: Runner, keepMs: number): Promise<number> {
  const [state] = await runner.run('SELECT folded, loading FROM priorbook_image FOR UPDATE')
  const { folded, loading } = state as { folded: number; loading: string | null }
  if (loading !== null) return 0
  const rows = await runner.run(NEXT_CHANGES, [folded, COMMITS, MAX_BYTES])
  const tables = new Map<string, FoldedTable>()
  let last = folded
  for (const row of rows) {
    const { id, hash, changes } = row as { id: number; hash: Buffer; changes: Buffer }
    if (id !== last + 1 || !hashOf(changes).equals(hash)) {
      throw new PriorbookError(
        'corrupt_database',
        `commit ${last + 1} of the shared tape is damaged`,
      )
    }
    addChanges(tables, changes)
    last = id
  }
  for (const one of tables.values()) await writeFolded(runner, one)
  await runner.run('UPDATE priorbook_image SET folded = $1', [last])
  await runner.run(
    `DELETE FROM priorbook_change WHERE id <= $1 AND made < now() - $2 * INTERVAL '1 millisecond'`,
    [last, keepMs],
  )
  const [end] = await runner.run('SELECT last FROM priorbook_tape')
  return (end!['last'] as number) - last
}

function addChanges(tables: Map<string, FoldedTable>, changes: Uint8Array): void {
  for (const { table, kind, key, columns } of readChanges(changes)) {
    let folded = tables.get(table.name)
    if (folded === undefined) tables.set(table.name, (folded = { table, rows: new Map() }))
    const name = Buffer.from(key).toString('latin1')
    const row = folded.rows.get(name)
    if (kind === 'delete') folded.rows.set(name, { key, columns: undefined, isWhole: true })
    else if (kind === 'insert') folded.rows.set(name, { key, columns: [...columns], isWhole: true })
    else if (row?.columns === undefined)
      folded.rows.set(name, { key, columns: [...columns], isWhole: false })
    else columns.forEach((column, at) => (row.columns![at] = column ?? row.columns![at]))
  }
}

async function writeFolded(runner: Runner, { table, rows }: FoldedTable): Promise<void> {
  await writeTable(runner, table.name, table.keys)
  const all = [...rows.values()]
  for (let from = 0; from < all.length; from += ROWS_AT_ONCE) {
    const some = all.slice(from, from + ROWS_AT_ONCE)
    await completeRows(
      runner,
      table,
      some.filter(({ columns, isWhole }) => columns !== undefined && !isWhole),
    )
    const kept = some.filter(({ columns }) => columns !== undefined)
    const entries = kept.map(({ key, columns }) => ({
      key,
      value: Buffer.concat(columns as Uint8Array[]),
    }))
    await upsertRows(runner, table.name, entries)
    await removeRows(
      runner,
      table.name,
      some.filter(({ columns }) => columns === undefined),
    )
  }
}

// An update has the changed columns only; the others are those of the image.
async function completeRows(
  runner: Runner,
  { name, keys }: ChangedTable,
  partial: readonly FoldedRow[],
): Promise<void> {
  if (partial.length === 0) return
  const places = partial.map((_, at) => `$${at + 2}`)
  const found = await runner.run(
    `SELECT key, value FROM priorbook_row WHERE relation = $1 AND key IN (${places.join(', ')})`,
    [name, ...partial.map(({ key }) => Buffer.from(key))],
  )
  const values = new Map(
    found.map(({ key, value }) => [(key as Buffer).toString('latin1'), value as Buffer]),
  )
  for (const row of partial) {
    const value = values.get(Buffer.from(row.key).toString('latin1'))
    if (value === undefined) {
      throw new PriorbookError(
        'corrupt_database',
        `the shared tape lacks a row of ${name} that changed`,
      )
    }
    const before = splitRow(value, keys.length)
    row.columns = row.columns!.map((column, at) => column ?? before[at])
    row.isWhole = true
  }
}

async function removeRows(runner: Runner, name: string, rows: readonly FoldedRow[]): Promise<void> {
  if (rows.length === 0) return
  const places = rows.map((_, at) => `$${at + 2}`)
  await runner.run(
    `DELETE FROM priorbook_row WHERE relation = $1 AND key IN (${places.join(', ')})`,
    [name, ...rows.map(({ key }) => Buffer.from(key))],
  )
}
