import { crc32 } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { Column, Database, Row } from './database.ts'

/**
 * The checksum of a row: CRC-32 over its table's name and its first columns in order, all by default, each behind a
 * separator (U+001F) and its type.
 */
export function rowSum(
  table: string,
  values: readonly Column[],
  count: number = values.length,
): number {
  let sum = 0
  // Adjacent text is hashed in one call.
  let text = table
  for (let at = 0; at < count; at++) {
    const value = values[at] as Column
    if (value === null) text += '\u001fn'
    else if (typeof value === 'number') text += `\u001fi${value}`
    else if (typeof value === 'string') text += `\u001ft${value}`
    else {
      sum = crc32(value, crc32(`${text}\u001fb`, sum))
      text = ''
    }
  }
  return text === '' ? sum : crc32(text, sum)
}

/** True when the row's `sum` fits the named columns. */
export function holds(table: string, columns: readonly string[], row: Row): boolean {
  const values = columns.map((name) => row[name] ?? null)
  return rowSum(table, values) === row['sum']
}

/** Writes a row with its checksum; `tail` is SQL for conflicts with an existing row. */
export function insertRow(
  database: Database,
  into: string,
  columns: readonly string[],
  values: readonly Column[],
  tail = '',
): void {
  const table = into.slice(into.lastIndexOf(' ') + 1)
  const places = '?, '.repeat(columns.length)
  database.run(
    `${into} (${columns.join(', ')}, sum) VALUES (${places}?) ${tail}`,
    ...values,
    rowSum(table, values),
  )
}

/** Throws `corrupt_row` unless the row's `sum` fits the named columns. */
export function checkRow(table: string, columns: readonly string[], row: Row): void {
  if (!holds(table, columns, row)) throw badSum(table)
}

/** True when the last of the columns is the sum of the others. */
export function columnsHold(table: string, columns: readonly Column[]): boolean {
  const last = columns.length - 1
  return rowSum(table, columns, last) === columns[last]
}

/** Throws `corrupt_row` unless the last of the columns is the sum of the others. */
export function checkColumns(table: string, columns: readonly Column[]): void {
  if (!columnsHold(table, columns)) throw badSum(table)
}

function badSum(table: string): PriorbookError {
  return new PriorbookError('corrupt_row', `a row of table ${table} fails its checksum`)
}
