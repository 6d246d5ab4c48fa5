import type { Schema } from 'avsc'

/** The status of a file in a manifest. */
export const STATUS = { existing: 0, added: 1, deleted: 2 } as const

/** A map from the id of a column to a value, as Avro has maps whose keys are no texts. */
export type ColumnMap<Value> = readonly { readonly key: number; readonly value: Value }[]

/** One Parquet file of a table. */
export type DataFile = {
  readonly content: 0
  readonly file_path: string
  readonly file_format: 'PARQUET'
  readonly partition: { readonly day: number | null }
  readonly record_count: number
  readonly file_size_in_bytes: number
  readonly value_counts: ColumnMap<number> | null
  readonly null_value_counts: ColumnMap<number> | null
  readonly lower_bounds: ColumnMap<Buffer> | null
  readonly upper_bounds: ColumnMap<Buffer> | null
  readonly sort_order_id: number | null
}

/** One line of a manifest. Numbers of added files are null: they are those of the manifest in its list. */
export type ManifestEntry = {
  readonly status: (typeof STATUS)[keyof typeof STATUS]
  readonly snapshot_id: number | null
  readonly sequence_number: number | null
  readonly file_sequence_number: number | null
  readonly data_file: DataFile
}

/** One manifest, as the list of a snapshot names it. */
export type ManifestRow = {
  readonly manifest_path: string
  readonly manifest_length: number
  readonly partition_spec_id: number
  readonly content: 0
  readonly sequence_number: number
  readonly min_sequence_number: number
  readonly added_snapshot_id: number
  readonly added_files_count: number
  readonly existing_files_count: number
  readonly deleted_files_count: number
  readonly added_rows_count: number
  readonly existing_rows_count: number
  readonly deleted_rows_count: number
  readonly partitions:
    | readonly {
        readonly contains_null: boolean
        readonly contains_nan: boolean | null
        readonly lower_bound: Buffer | null
        readonly upper_bound: Buffer | null
      }[]
    | null
}

// Names and ids of all fields: https://iceberg.apache.org/spec/#manifests and #manifest-lists
type Field = {
  readonly name: string
  readonly type: Schema
  readonly 'field-id': number
  readonly default?: null
}

function required(name: string, id: number, type: unknown): Field {
  return { name, type: type as Schema, 'field-id': id }
}

function optional(name: string, id: number, type: unknown): Field {
  return { name, type: ['null', type] as Schema, default: null, 'field-id': id }
}

function columnMap(key: number, value: number, type: string): unknown {
  const fields = [required('key', key, 'int'), required('value', value, type)]
  const items = { type: 'record', name: `k${key}_v${value}`, fields }
  return { type: 'array', logicalType: 'map', items }
}

const PARTITION = {
  type: 'record',
  name: 'r102',
  fields: [optional('day', 1000, { type: 'int', logicalType: 'date' })],
}

const DATA_FILE = {
  type: 'record',
  name: 'r2',
  fields: [
    required('content', 134, 'int'),
    required('file_path', 100, 'string'),
    required('file_format', 101, 'string'),
    required('partition', 102, PARTITION),
    required('record_count', 103, 'long'),
    required('file_size_in_bytes', 104, 'long'),
    optional('value_counts', 109, columnMap(119, 120, 'long')),
    optional('null_value_counts', 110, columnMap(121, 122, 'long')),
    optional('lower_bounds', 125, columnMap(126, 127, 'bytes')),
    optional('upper_bounds', 128, columnMap(129, 130, 'bytes')),
    optional('sort_order_id', 140, 'int'),
  ],
}

/** The Avro schema of a manifest of format version 2, for tables by day. */
export const MANIFEST_SCHEMA = {
  type: 'record',
  name: 'manifest_entry',
  fields: [
    required('status', 0, 'int'),
    optional('snapshot_id', 1, 'long'),
    optional('sequence_number', 3, 'long'),
    optional('file_sequence_number', 4, 'long'),
    required('data_file', 2, DATA_FILE),
  ],
} as Schema

const PARTITION_BOUNDS = {
  type: 'array',
  'element-id': 508,
  items: {
    type: 'record',
    name: 'r508',
    fields: [
      required('contains_null', 509, 'boolean'),
      optional('contains_nan', 518, 'boolean'),
      optional('lower_bound', 510, 'bytes'),
      optional('upper_bound', 511, 'bytes'),
    ],
  },
}

/** The Avro schema of the list of manifests of a snapshot. */
export const LIST_SCHEMA = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    required('manifest_path', 500, 'string'),
    required('manifest_length', 501, 'long'),
    required('partition_spec_id', 502, 'int'),
    required('content', 517, 'int'),
    required('sequence_number', 515, 'long'),
    required('min_sequence_number', 516, 'long'),
    required('added_snapshot_id', 503, 'long'),
    required('added_files_count', 504, 'int'),
    required('existing_files_count', 505, 'int'),
    required('deleted_files_count', 506, 'int'),
    required('added_rows_count', 512, 'long'),
    required('existing_rows_count', 513, 'long'),
    required('deleted_rows_count', 514, 'long'),
    optional('partitions', 507, PARTITION_BOUNDS),
  ],
} as Schema
