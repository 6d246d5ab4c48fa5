import { createHash } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { LakeFile, LakeManifest } from '../lake-manifest.ts'
import { readAvro, writeAvro } from './avro-file.ts'
import { dayBound } from './data-file.ts'
import {
  LIST_SCHEMA,
  MANIFEST_SCHEMA,
  STATUS,
  type ManifestEntry,
  type ManifestRow,
} from './manifest-schemas.ts'
import { toPartitionSpec } from './table-metadata.ts'
import type { TableSchema } from './table-schema.ts'

/** The snapshot that files are written for. */
export type SnapshotNumbers = {
  readonly id: number
  readonly parent: number | undefined
  readonly sequence: number
}

/** The manifest of a day, by its files: the same files of a day are not written twice. */
export function dayManifestFile(sequence: number, { day, files }: LakeManifest): string {
  return `${numberText(sequence)}-${day}-${hashFiles(files)}.avro`
}

/** The manifest of the files that a snapshot removes. */
export function removalFile(sequence: number): string {
  return `${numberText(sequence)}-removed.avro`
}

/** The list of the manifests of a snapshot. */
export function listFile({ sequence, id }: SnapshotNumbers): string {
  return `snap-${numberText(sequence)}-${id}.avro`
}

/** The day of a manifest that has files, and those files as a hash. */
export function parseDayManifest(path: string): { readonly day: string; readonly hash: string } {
  const [, day, hash] = /\/\d{6,}-(\d{4}-\d\d-\d\d)-([0-9a-f]{16})\.avro$/.exec(path) ?? []
  if (day !== undefined && hash !== undefined) return { day, hash }
  throw new PriorbookError('unsupported_format', `${path} was not written by the lake`)
}

/** Tells the files of a day from other ones; their names have the hashes of their bytes. */
export function hashFiles(files: readonly LakeFile[]): string {
  const text = files.map(({ name, bytes }) => `${name} ${bytes}`).join('\n')
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** A manifest, and how the list of its snapshot names it. */
export function encodeManifest(
  path: string,
  entries: readonly ManifestEntry[],
  schema: TableSchema,
  { id, sequence }: SnapshotNumbers,
): { bytes: Buffer; row: ManifestRow } {
  const spec = toPartitionSpec(schema)
  const bytes = writeAvro(MANIFEST_SCHEMA, entries, {
    schema: JSON.stringify(schema),
    'schema-id': String(schema['schema-id']),
    'partition-spec': JSON.stringify(spec.fields),
    'partition-spec-id': String(spec['spec-id']),
    'format-version': '2',
    content: 'data',
  })
  const count = (status: number): { files: number; rows: number } => {
    const found = entries.filter((entry) => entry.status === status)
    const rows = found.reduce((sum, { data_file: file }) => sum + file.record_count, 0)
    return { files: found.length, rows }
  }
  const [added, existing, deleted] = [STATUS.added, STATUS.existing, STATUS.deleted].map(count)
  const days = entries.map(({ data_file: file }) => file.partition.day!)
  const row: ManifestRow = {
    manifest_path: path,
    manifest_length: bytes.length,
    partition_spec_id: spec['spec-id'],
    content: 0,
    sequence_number: sequence,
    min_sequence_number: Math.min(...entries.map((entry) => entry.sequence_number ?? sequence)),
    added_snapshot_id: id,
    added_files_count: added!.files,
    existing_files_count: existing!.files,
    deleted_files_count: deleted!.files,
    added_rows_count: added!.rows,
    existing_rows_count: existing!.rows,
    deleted_rows_count: deleted!.rows,
    partitions: [
      {
        contains_null: false,
        contains_nan: false,
        lower_bound: dayBound(Math.min(...days)),
        upper_bound: dayBound(Math.max(...days)),
      },
    ],
  }
  return { bytes, row }
}

/** The entries of a manifest with all numbers; those of added files come from its row in the list. */
export function decodeManifest(row: ManifestRow, bytes: Uint8Array): readonly ManifestEntry[] {
  const entries = readAvro(row.manifest_path, bytes) as readonly ManifestEntry[]
  return entries.map((entry) => ({
    ...entry,
    snapshot_id: entry.snapshot_id ?? row.added_snapshot_id,
    sequence_number: entry.sequence_number ?? row.sequence_number,
    file_sequence_number: entry.file_sequence_number ?? row.sequence_number,
  }))
}

/** The list of the manifests of a snapshot. */
export function encodeList(rows: readonly ManifestRow[], numbers: SnapshotNumbers): Buffer {
  return writeAvro(LIST_SCHEMA, rows, {
    'snapshot-id': String(numbers.id),
    'parent-snapshot-id': String(numbers.parent ?? null),
    'sequence-number': String(numbers.sequence),
    'format-version': '2',
  })
}

/** Reads what `encodeList` made. */
export function decodeList(path: string, bytes: Uint8Array): readonly ManifestRow[] {
  return readAvro(path, bytes) as readonly ManifestRow[]
}

function numberText(sequence: number): string {
  return String(sequence).padStart(6, '0')
}
