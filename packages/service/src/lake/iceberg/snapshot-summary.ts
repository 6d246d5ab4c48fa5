import { STATUS, type ManifestEntry } from './manifest-schemas.ts'
import type { Snapshot, SnapshotSummary } from './table-metadata.ts'

/** Counts what a snapshot adds and removes; totals go on from the snapshot before. */
export function summarize(
  entries: readonly ManifestEntry[],
  before: Snapshot | undefined,
): SnapshotSummary {
  const added = count(entries, STATUS.added)
  const deleted = count(entries, STATUS.deleted)
  const total = (name: string, more: number, less: number): string =>
    String(Number(before?.summary[name] ?? 0) + more - less)
  const changed = entries.filter(({ status }) => status !== STATUS.existing)
  const days = new Set(changed.map(({ data_file: file }) => file.partition.day))
  return {
    operation: deleted.files === 0 ? 'append' : added.files === 0 ? 'delete' : 'overwrite',
    ...(added.files === 0 ? {} : toTexts('added', added)),
    ...(deleted.files === 0 ? {} : toTexts('deleted', deleted)),
    'changed-partition-count': String(days.size),
    'total-data-files': total('total-data-files', added.files, deleted.files),
    'total-records': total('total-records', added.rows, deleted.rows),
    'total-files-size': total('total-files-size', added.bytes, deleted.bytes),
    'total-delete-files': '0',
    'total-position-deletes': '0',
    'total-equality-deletes': '0',
  }
}

type Count = { files: number; rows: number; bytes: number }

function count(entries: readonly ManifestEntry[], status: number): Count {
  const sums: Count = { files: 0, rows: 0, bytes: 0 }
  for (const entry of entries) {
    if (entry.status !== status) continue
    sums.files++
    sums.rows += entry.data_file.record_count
    sums.bytes += entry.data_file.file_size_in_bytes
  }
  return sums
}

function toTexts(what: 'added' | 'deleted', { files, rows, bytes }: Count): Record<string, string> {
  return {
    [`${what}-data-files`]: String(files),
    [`${what}-records`]: String(rows),
    [what === 'added' ? 'added-files-size' : 'removed-files-size']: String(bytes),
  }
}
