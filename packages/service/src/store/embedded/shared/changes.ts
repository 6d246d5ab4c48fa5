import { PriorbookError } from '@priorbook/sdk/domain'
import type { Column } from '../database.ts'

/**
 * The changes of a commit in the format of SQLite's session extension, as a patchset: for each table a
 * header, then its changed rows. An inserted row has all columns, an updated one its key and the changed
 * columns, a deleted one its key. Values stay as they are encoded, so that no value is read as another.
 */

/** A table as changes name it. */
export type ChangedTable = {
  readonly name: string
  /** For each column its place in the primary key from 1 on; 0 for the others. */
  readonly keys: Uint8Array
}

/** One changed row; `columns` are encoded, and absent where an update left them as they were. */
export type RowChange = {
  readonly table: ChangedTable
  readonly kind: 'insert' | 'update' | 'delete'
  readonly key: Uint8Array
  readonly columns: readonly (Uint8Array | undefined)[]
}

const PATCHSET = 0x50
const KINDS: Readonly<Record<number, RowChange['kind']>> = {
  18: 'insert',
  23: 'update',
  9: 'delete',
}
const INSERT = 18
const UNDEFINED = 0
const INTEGER = 1
const REAL = 2
const TEXT = 3
const BLOB = 4
const NULL = 5

/** Reads the changed rows, in order; throws `corrupt_chunk` where the bytes are not changes. */
export function* readChanges(bytes: Uint8Array): Generator<RowChange> {
  const reader = new Reader(bytes)
  let table: ChangedTable | undefined
  while (!reader.isAtEnd) {
    const byte = reader.byte()
    if (byte === PATCHSET) {
      table = reader.table()
      continue
    }
    const kind = KINDS[byte]
    if (kind === undefined || table === undefined) throw broken(`byte ${byte}`)
    // Whether a trigger made the change; the tape has none.
    reader.byte()
    const { keys } = table
    const columns = Array.from(keys, (key) =>
      kind === 'delete' && key === 0 ? undefined : reader.value(),
    )
    yield { table, kind, key: keyOf(keys, columns), columns }
  }
}

function keyOf(keys: Uint8Array, columns: readonly (Uint8Array | undefined)[]): Uint8Array {
  return Buffer.concat(
    columns.filter((column, at) => keys[at] !== 0 && column !== undefined) as Uint8Array[],
  )
}

/** Writes rows of one table as inserts. */
export function printInserts(table: ChangedTable, rows: Iterable<Uint8Array>): Uint8Array {
  const name = Buffer.from(table.name)
  const parts: Uint8Array[] = [
    Uint8Array.of(PATCHSET, ...varint(table.keys.length), ...table.keys),
    name,
    Uint8Array.of(0),
  ]
  for (const row of rows) parts.push(Uint8Array.of(INSERT, 0), row)
  return Buffer.concat(parts)
}

/** Encodes one value of a column; `isReal` where the column is of that type. */
export function encodeValue(value: Column, isReal: boolean): Uint8Array {
  if (value === null) return Uint8Array.of(NULL)
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9)
    bytes[0] = isReal ? REAL : INTEGER
    if (isReal) bytes.writeDoubleBE(value, 1)
    else bytes.writeBigInt64BE(BigInt(value), 1)
    return bytes
  }
  const content = typeof value === 'string' ? Buffer.from(value) : value
  const head = Uint8Array.of(typeof value === 'string' ? TEXT : BLOB, ...varint(content.length))
  return Buffer.concat([head, content])
}

/** Splits an encoded row into its columns. */
export function splitRow(row: Uint8Array, count: number): (Uint8Array | undefined)[] {
  const reader = new Reader(row)
  const columns = Array.from({ length: count }, () => reader.value())
  if (!reader.isAtEnd) throw broken('more columns than the table has')
  return columns
}

// SQLite's own: seven bits a byte, the highest first; lengths stay below 2^31.
function varint(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  byte(): number {
    if (this.isAtEnd) throw broken('it ends early')
    return this.#bytes[this.#at++]!
  }

  table(): ChangedTable {
    const count = this.#varint()
    const keys = this.#take(count)
    const end = this.#bytes.indexOf(0, this.#at)
    if (end === -1) throw broken('a table has no name')
    const name = Buffer.from(this.#take(end - this.#at)).toString()
    this.#at++
    return { name, keys }
  }

  /** The next value as it is encoded; undefined for a column that did not change. */
  value(): Uint8Array | undefined {
    const start = this.#at
    const type = this.byte()
    if (type === UNDEFINED) return undefined
    if (type === INTEGER || type === REAL) this.#take(8)
    else if (type === TEXT || type === BLOB) this.#take(this.#varint())
    else if (type !== NULL) throw broken(`a value of type ${type}`)
    return this.#bytes.subarray(start, this.#at)
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw broken('it ends early')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  #varint(): number {
    for (let value = 0; ;) {
      const byte = this.byte()
      value = value * 128 + (byte & 0x7f)
      if (byte < 0x80) return value
      if (value > 0xff_ffff) throw broken('a length is out of bounds')
    }
  }
}

function broken(why: string): PriorbookError {
  return new PriorbookError('corrupt_chunk', `the changes of a commit cannot be read: ${why}`)
}
