import { crc32 } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { Column, Database, Row } from './database.ts'

const SEPARATOR = '\u001f'

/** The checksum of a row: CRC-32 over its table's name and its columns in order, each with its type. */
export function rowSum(table: string, values: readonly Column[]): number {
  let sum = 0
  // Adjacent text is hashed in one call.
  let text = table
  for (const value of values) {
    text += SEPARATOR
    if (value === null) text += 'n'
    else if (typeof value === 'number') text += `i${value}`
    else if (typeof value === 'string') text += `t${value}`
    else {
      sum = crc32(value, crc32(`${text}b`, sum))
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
  if (!holds(table, columns, row)) {
    throw new PriorbookError('corrupt_row', `a row of table ${table} fails its checksum`)
  }
}
