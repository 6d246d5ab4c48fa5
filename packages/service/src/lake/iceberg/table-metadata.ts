import { randomUUID } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import { toNameMapping, type NumberedSchema, type TableSchema } from './table-schema.ts'

/** What a commit did, by the names of Iceberg; all values are texts. */
export type SnapshotSummary = {
  readonly operation: 'append' | 'overwrite' | 'delete'
} & Readonly<Record<string, string>>

/** One state of a table. */
export type Snapshot = {
  readonly 'snapshot-id': number
  readonly 'parent-snapshot-id'?: number
  readonly 'sequence-number': number
  readonly 'timestamp-ms': number
  readonly 'manifest-list': string
  readonly summary: SnapshotSummary
  readonly 'schema-id': number
}

/** The metadata of a table, format version 2: https://iceberg.apache.org/spec/#table-metadata */
export type TableMetadata = {
  readonly 'format-version': 2
  readonly 'table-uuid': string
  readonly location: string
  readonly 'last-sequence-number': number
  readonly 'last-updated-ms': number
  readonly 'last-column-id': number
  readonly schemas: readonly TableSchema[]
  readonly 'current-schema-id': number
  readonly 'partition-specs': readonly PartitionSpec[]
  readonly 'default-spec-id': number
  readonly 'last-partition-id': number
  readonly properties: Readonly<Record<string, string>>
  readonly 'current-snapshot-id': number
  readonly snapshots: readonly Snapshot[]
  readonly 'snapshot-log': readonly { 'snapshot-id': number; 'timestamp-ms': number }[]
  readonly 'metadata-log': readonly { 'metadata-file': string; 'timestamp-ms': number }[]
  readonly 'sort-orders': readonly { 'order-id': number; fields: readonly never[] }[]
  readonly 'default-sort-order-id': number
  readonly refs: {
    readonly main: { readonly 'snapshot-id': number; readonly type: 'branch' }
  }
}

type PartitionSpec = {
  readonly 'spec-id': number
  readonly fields: readonly {
    readonly name: string
    readonly transform: string
    readonly 'source-id': number
    readonly 'field-id': number
  }[]
}

// Max snapshots that a table can be read as of, and max older versions of its metadata.
const MAX_SNAPSHOTS = 100
const MAX_VERSIONS = 100
const DAY_FIELD_ID = 1000

/** What changes with a commit. */
export type Commit = {
  readonly location: string
  readonly venue: string
  readonly dataset: string
  readonly columns: NumberedSchema
  readonly snapshot: Snapshot
  /** Snapshots before this sequence number stay; later ones name files that are removed. */
  readonly keepBefore: number
  /** The file that has the metadata before; absent for a new table. */
  readonly previousFile: string | undefined
}

/** The metadata after a commit. */
export function commitMetadata(before: TableMetadata | undefined, commit: Commit): TableMetadata {
  const { location, columns, snapshot, keepBefore, previousFile } = commit
  const { schema, lastId } = columns
  const id = snapshot['snapshot-id']
  const time = snapshot['timestamp-ms']
  const older = (before?.snapshots ?? []).filter((one) => one['sequence-number'] < keepBefore)
  const snapshots = [...older, snapshot].slice(-MAX_SNAPSHOTS)
  const kept = new Set(snapshots.map((one) => one['snapshot-id']))
  const log = [...(before?.['snapshot-log'] ?? []), { 'snapshot-id': id, 'timestamp-ms': time }]
  const schemas = (before?.schemas ?? []).filter((one) => one['schema-id'] !== schema['schema-id'])
  const versions = before?.['metadata-log'] ?? []
  return {
    'format-version': 2,
    'table-uuid': before?.['table-uuid'] ?? randomUUID(),
    location,
    'last-sequence-number': snapshot['sequence-number'],
    'last-updated-ms': time,
    'last-column-id': lastId,
    schemas: [...schemas, schema],
    'current-schema-id': schema['schema-id'],
    'partition-specs': [toPartitionSpec(schema)],
    'default-spec-id': 0,
    'last-partition-id': DAY_FIELD_ID,
    properties: {
      'schema.name-mapping.default': toNameMapping(schema),
      'write.format.default': 'parquet',
      // The lake removes its files itself: programs that expire snapshots or drop the table must not.
      'gc.enabled': 'false',
      'priorbook.venue': commit.venue,
      'priorbook.dataset': commit.dataset,
    },
    'current-snapshot-id': id,
    snapshots,
    // Before a snapshot that is gone nothing is known: a reader of that time must not get an earlier one.
    'snapshot-log': log.slice(log.findLastIndex((one) => !kept.has(one['snapshot-id'])) + 1),
    'metadata-log': (previousFile === undefined
      ? []
      : [...versions, { 'metadata-file': previousFile, 'timestamp-ms': before!['last-updated-ms'] }]
    ).slice(-MAX_VERSIONS),
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
    refs: { main: { 'snapshot-id': id, type: 'branch' } },
  }
}

/** Files are divided by the UTC day of `received_time`. */
export function toPartitionSpec({ fields }: TableSchema): PartitionSpec {
  const source = fields.find(({ name }) => name === 'received_time')!
  const day = { name: 'day', transform: 'day', 'source-id': source.id, 'field-id': DAY_FIELD_ID }
  return { 'spec-id': 0, fields: [day] }
}

/** Reads metadata that `commitMetadata` made. */
export function parseMetadata(name: string, text: string): TableMetadata {
  let metadata: TableMetadata | undefined
  try {
    metadata = JSON.parse(text) as TableMetadata
  } catch {
    throw new PriorbookError('object_damaged', `${name} is not the metadata of a table`)
  }
  if (metadata['format-version'] === 2 && Array.isArray(metadata.snapshots)) return metadata
  throw new PriorbookError('unsupported_format', `${name} has another version of the table format`)
}
