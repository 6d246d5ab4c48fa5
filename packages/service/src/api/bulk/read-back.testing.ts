import { zstdDecompressSync } from 'node:zlib'
import { tableFromIPC, type Vector } from 'apache-arrow'
import { parquetMetadata, parquetReadObjects, type FileMetaData } from 'hyparquet'
import { printScaled } from '@priorbook/sdk/domain'

/** A row of a file of columns: decimals as canonical text, times as microseconds, lists as arrays. */
export type ReadRow = Readonly<Record<string, unknown>>

/** The scale of every decimal column; -1 for other numbers. */
type Scales = ReadonlyMap<string, number>

/** Reads an Arrow stream by the library's reader. */
export function readArrow(bytes: Uint8Array): { rows: ReadRow[]; metadata: Map<string, string> } {
  const table = tableFromIPC(bytes)
  const rows: ReadRow[] = []
  for (let row = 0; row < table.numRows; row++) {
    const values = table.schema.fields.map(({ name }) => {
      const vector = table.getChild(name)!
      return [name, arrowValue(vector.get(row), vector)] as const
    })
    rows.push(Object.fromEntries(values))
  }
  return { rows, metadata: table.schema.metadata }
}

function arrowValue(value: unknown, { type }: Vector): unknown {
  if (value === null) return null
  const text = String(type)
  if (text.startsWith('List')) {
    const child = value as Vector
    return Array.from({ length: child.length }, (_, index) => arrowValue(child.get(index), child))
  }
  if (text.startsWith('Decimal')) {
    const { scale } = type as unknown as { scale: number }
    return printScaled(Number(wordsToInteger(value as Uint32Array)), scale)
  }
  // Timestamps come as milliseconds with a fraction, which a double holds to the microsecond.
  if (text.startsWith('Timestamp')) return Math.round((value as number) * 1000)
  return typeof value === 'bigint' ? Number(value) : value
}

function wordsToInteger(words: Uint32Array): bigint {
  let value = 0n
  for (let index = 3; index >= 0; index--) value = (value << 32n) | BigInt(words[index]!)
  return BigInt.asIntN(128, value)
}

/** Reads a Parquet file by hyparquet; decimals as the whole numbers that are stored. */
export async function readParquet(
  bytes: Uint8Array,
): Promise<{ rows: ReadRow[]; metadata: FileMetaData }> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const metadata = parquetMetadata(file)
  const scales = new Map<string, number>()
  let column = ''
  const schema = metadata.schema.map((element) => {
    if (element.name !== 'list' && element.name !== 'element') column = element.name
    if (element.converted_type === 'DECIMAL') scales.set(column, element.scale ?? 0)
    const { converted_type: converted, logical_type: logical, ...bare } = element
    const isKept = converted === 'UTF8' || converted === 'LIST'
    return isKept ? { ...bare, converted_type: converted, logical_type: logical } : bare
  })
  const raw = { ...metadata, schema } as FileMetaData
  const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) }
  const rows = await parquetReadObjects({ file, metadata: raw, compressors })
  return {
    metadata,
    rows: rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, parquetValue(value, name, scales)]),
      ),
    ),
  }
}

function parquetValue(value: unknown, name: string, scales: Scales): unknown {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.map((one) => parquetValue(one, name, scales))
  if (typeof value === 'string') return value
  const scale = scales.get(name)
  return scale === undefined ? Number(value) : printScaled(Number(value), scale)
}
