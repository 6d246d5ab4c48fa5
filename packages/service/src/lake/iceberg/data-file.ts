import { DAY_MICROS, parseMicros } from '@priorbook/sdk/domain'
import type { LakeFile } from '../lake-manifest.ts'
import type { ColumnMap, DataFile } from './manifest-schemas.ts'
import type { TableSchema } from './table-schema.ts'

/** A file of the lake as a manifest of Iceberg describes it. */
export function toDataFile(
  location: string,
  venue: string,
  day: string,
  file: LakeFile,
  schema: TableSchema,
): DataFile {
  const { rows, bytes, first_market_id: firstMarket, last_market_id: lastMarket } = file
  // Columns that can be null are left out: their nulls are not counted.
  const required = schema.fields.filter((field) => field.required)
  return {
    content: 0,
    file_path: `${location}/${file.name}`,
    file_format: 'PARQUET',
    partition: { day: dayNumber(day) },
    record_count: rows,
    file_size_in_bytes: bytes,
    value_counts: required.map(({ id }) => ({ key: id, value: rows })),
    null_value_counts: required.map(({ id }) => ({ key: id, value: 0 })),
    lower_bounds: boundsOf(schema, venue, firstMarket, file.first_received_time),
    upper_bounds: boundsOf(schema, venue, lastMarket, file.last_received_time),
    sort_order_id: null,
  }
}

/** Days since 1970. */
function dayNumber(day: string): number {
  return parseMicros(`${day}T00:00:00Z`) / DAY_MICROS
}

/** A day as the bounds of partitions have it: 32 bits, the lowest byte first. */
export function dayBound(day: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(day)
  return bytes
}

// Text in UTF-8, times in 64 bits: https://iceberg.apache.org/spec/#appendix-d-single-value-serialization
function boundsOf(
  { fields }: TableSchema,
  venue: string,
  market: string | undefined,
  received: string | null,
): ColumnMap<Buffer> {
  const values = new Map<string, Buffer>([['venue', Buffer.from(venue)]])
  if (market !== undefined) values.set('market_id', Buffer.from(market))
  if (received !== null) {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(parseMicros(received)))
    values.set('received_time', bytes)
  }
  return fields
    .filter(({ name }) => values.has(name))
    .map(({ id, name }) => ({ key: id, value: values.get(name)! }))
}
