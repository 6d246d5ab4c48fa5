import { PriorbookError } from '@priorbook/sdk/domain'
import { splitRow, type CopyPlace, type TableRows } from '../store/embedded/shared/copy.ts'
import type { Runner, Value } from './postgres.ts'

/** Max rows of one statement. */
export const ROWS_AT_ONCE = 500
const READ_AT_ONCE = 2000

/** Writes rows of the image in as few statements as possible. */
export async function writeRows(runner: Runner, { table, rows }: TableRows): Promise<void> {
  const { name, keys } = table
  await writeTable(runner, name, keys)
  const entries = rows.map((value) => {
    const columns = splitRow(value, keys.length)
    const key = Buffer.concat(columns.filter((_, at) => keys[at] !== 0) as Uint8Array[])
    return { key, value }
  })
  await upsertRows(runner, name, entries)
}

/** Notes a table whose rows are in the image. */
export async function writeTable(runner: Runner, name: string, keys: Uint8Array): Promise<void> {
  await runner.run(
    'INSERT INTO priorbook_table (name, keys) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET keys = EXCLUDED.keys',
    [name, Buffer.from(keys)],
  )
}

/** Writes rows of one table. */
export async function upsertRows(
  runner: Runner,
  relation: string,
  entries: readonly { readonly key: Uint8Array; readonly value: Uint8Array }[],
): Promise<void> {
  for (let from = 0; from < entries.length; from += ROWS_AT_ONCE) {
    const some = entries.slice(from, from + ROWS_AT_ONCE)
    const places = some.map((_, at) => `($1, $${2 + at * 2}, $${3 + at * 2})`)
    const values = some.flatMap(({ key, value }): Value[] => [Buffer.from(key), Buffer.from(value)])
    await runner.run(
      `INSERT INTO priorbook_row (relation, key, value) VALUES ${places.join(', ')}
       ON CONFLICT (relation, key) DO UPDATE SET value = EXCLUDED.value`,
      [relation, ...values],
    )
  }
}

/** Reads all rows, a bounded number at a time; returns the commit that they are of. */
export async function readImage(
  runner: Runner,
  onRows: (rows: TableRows) => void,
): Promise<CopyPlace & { readonly schema: number }> {
  // A load empties these tables in a way that an open transaction would see.
  await runner.run('LOCK TABLE priorbook_table, priorbook_row IN ACCESS SHARE MODE')
  const [state] = await runner.run(
    'SELECT tape, schema, folded, loading FROM priorbook_tape, priorbook_image',
  )
  const { tape, schema, folded, loading } = state as {
    tape: string
    schema: number
    folded: number
    loading: string | null
  }
  if (loading !== null) {
    throw new PriorbookError(
      'store_unavailable',
      'a tape is being copied into the database: wait for its end',
    )
  }
  for (const { name, keys } of await runner.run('SELECT name, keys FROM priorbook_table')) {
    const table = { name: name as string, keys: new Uint8Array(keys as Buffer) }
    for (let after: Buffer = Buffer.alloc(0); ;) {
      const rows = await runner.run(
        `SELECT key, value FROM priorbook_row WHERE relation = $1 AND key > $2 ORDER BY key LIMIT ${READ_AT_ONCE}`,
        [table.name, after],
      )
      if (rows.length === 0) break
      onRows({ table, rows: rows.map(({ value }) => value as Buffer) })
      after = rows.at(-1)!['key'] as Buffer
    }
  }
  const [last] = await runner.run('SELECT hash FROM priorbook_change WHERE id = $1', [folded])
  const mark = last === undefined ? '' : (last['hash'] as Buffer).toString('hex')
  return { tape, commit: folded, mark, schema }
}
