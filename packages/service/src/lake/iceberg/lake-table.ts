import { createHash } from 'node:crypto'
import type { ObjectStore } from '../../objects/object-store.ts'
import type { LakeManifest } from '../lake-manifest.ts'
import { toDataFile } from './data-file.ts'
import {
  dayManifestFile,
  decodeList,
  decodeManifest,
  encodeList,
  encodeManifest,
  hashFiles,
  listFile,
  parseDayManifest,
  removalFile,
  type SnapshotNumbers,
} from './day-manifest.ts'
import { STATUS, type ManifestEntry, type ManifestRow } from './manifest-schemas.ts'
import { summarize } from './snapshot-summary.ts'
import { TableFolder, versionFile } from './table-folder.ts'
import { commitMetadata, type Snapshot, type TableMetadata } from './table-metadata.ts'
import { toTableSchema, type TableSchema } from './table-schema.ts'

type Manifests = ReadonlyMap<string, LakeManifest>

/** The days that a snapshot adds, and the manifests of the snapshot before that it leaves out. */
type Change = { readonly added: readonly LakeManifest[]; readonly dropped: readonly ManifestRow[] }

/**
 * The Iceberg table over the files of one dataset of one venue, with one manifest per day. It follows the manifests of
 * the lake: what differs becomes a snapshot, so a run that was interrupted is completed by the next one.
 */
export class LakeTable {
  readonly #folder: TableFolder
  readonly #objects: ObjectStore
  readonly #venue: string
  readonly #dataset: string
  #version = 0
  #metadata: TableMetadata | undefined
  /** The manifests of the newest snapshot that have files. */
  #rows: readonly ManifestRow[] = []

  private constructor(objects: ObjectStore, venue: string, dataset: string) {
    this.#folder = new TableFolder(objects, venue, dataset)
    this.#objects = objects
    this.#venue = venue
    this.#dataset = dataset
  }

  /** Reads the newest version of a table, if there is one. */
  static async open(objects: ObjectStore, venue: string, dataset: string): Promise<LakeTable> {
    const table = new LakeTable(objects, venue, dataset)
    const newest = await table.#folder.readNewest()
    if (newest === undefined) return table
    table.#version = newest.number
    table.#metadata = newest.metadata
    // Paths of a folder that was moved name files of the old place; the next commit begins again.
    if (newest.metadata.location !== table.#folder.location) return table
    const path = table.#newest!['manifest-list']
    table.#rows = decodeList(path, await table.#folder.read(fileOf(path))).filter(isLive)
    return table
  }

  get exists(): boolean {
    return this.#metadata !== undefined
  }

  /**
   * Brings the table to the manifests of a lake, by up to two snapshots: new days are appended, changed ones overwritten.
   * After it the lake may remove files of changed days. Returns the number of snapshots.
   */
  async publish(manifests: Manifests, check: () => void): Promise<number> {
    const changes = this.#changes(manifests)
    for (const change of changes) {
      check()
      await this.#commit(change, toTableSchema(newestFirst(manifests), this.#columns()), check)
    }
    if (this.#metadata === undefined) return 0
    check()
    await this.#folder.setHint(this.#version)
    return changes.length
  }

  /** Removes files of interrupted commits, and of snapshots that cannot be read any more. */
  async clean(check: () => void): Promise<void> {
    if (this.#metadata === undefined) return
    const { snapshots, 'metadata-log': versions } = this.#metadata
    const needed = [
      this.#folder.pathOf(versionFile(this.#version)),
      ...versions.map((one) => one['metadata-file']),
      ...snapshots.map((one) => one['manifest-list']),
      ...snapshots.map((one) => removalFile(one['sequence-number'])),
      // Older snapshots name no other ones: a snapshot ends when a manifest that it names is left out.
      ...this.#rows.map((row) => row.manifest_path),
    ]
    await this.#folder.keepOnly(new Set(needed.map(fileOf)), check)
  }

  get #isMoved(): boolean {
    return this.#metadata !== undefined && this.#metadata.location !== this.#folder.location
  }

  get #newest(): Snapshot | undefined {
    return this.#metadata?.snapshots.at(-1)
  }

  #columns(): Parameters<typeof toTableSchema>[1] {
    if (this.#metadata === undefined) return undefined
    const { schemas, 'current-schema-id': current, 'last-column-id': lastId } = this.#metadata
    return { schema: schemas.find((one) => one['schema-id'] === current)!, lastId }
  }

  #changes(manifests: Manifests): readonly Change[] {
    const wanted = [...manifests.values()].filter(({ files }) => files.length > 0)
    const hashes = new Map(wanted.map(({ day, files }) => [day, hashFiles(files)]))
    const had = new Map(this.#rows.map((row) => [parseDayManifest(row.manifest_path).day, row]))
    const dropped = this.#rows.filter(({ manifest_path: path }) => {
      const { day, hash } = parseDayManifest(path)
      return hashes.get(day) !== hash
    })
    const fresh = wanted.filter(({ day }) => !had.has(day))
    const changed = wanted.filter(({ day }) => dropped.includes(had.get(day)!))
    const changes = [
      { added: fresh, dropped: [] },
      { added: changed, dropped },
    ]
    return changes.filter(({ added, dropped: left }) => added.length + left.length > 0)
  }

  async #commit(change: Change, columns: NumberedColumns, check: () => void): Promise<void> {
    const { schema } = columns
    const before = this.#isMoved ? undefined : this.#newest
    const numbers = this.#numbersOf(change, before)
    const { entries, rows } = await this.#writeManifests(change, schema, numbers, check)
    const list = listFile(numbers)
    const gone = new Set(change.dropped)
    const all = [...this.#rows.filter((row) => !gone.has(row)), ...rows]
    check()
    await this.#folder.put(list, encodeList(all, numbers))
    const metadata = commitMetadata(this.#metadata, {
      location: this.#folder.location,
      venue: this.#venue,
      dataset: this.#dataset,
      columns,
      snapshot: {
        'snapshot-id': numbers.id,
        ...(numbers.parent === undefined ? {} : { 'parent-snapshot-id': numbers.parent }),
        'sequence-number': numbers.sequence,
        'timestamp-ms': Math.max(Date.now(), this.#metadata?.['last-updated-ms'] ?? 0),
        'manifest-list': this.#folder.pathOf(list),
        summary: summarize(entries, before),
        'schema-id': schema['schema-id'],
      },
      keepBefore: this.#isMoved
        ? 0
        : Math.min(Infinity, ...change.dropped.map((row) => row.sequence_number)),
      previousFile:
        before === undefined ? undefined : this.#folder.pathOf(versionFile(this.#version)),
    })
    check()
    await this.#folder.commit({ number: this.#version + 1, metadata })
    this.#version++
    this.#metadata = metadata
    this.#rows = all.filter(isLive)
  }

  // The same change of the same snapshot has the same id, so that an interrupted commit writes the same files again.
  #numbersOf({ added, dropped }: Change, before: Snapshot | undefined): SnapshotNumbers {
    const sequence = (this.#metadata?.['last-sequence-number'] ?? 0) + 1
    const parent = before?.['snapshot-id']
    const days = added.map(({ day, files }) => [day, hashFiles(files)])
    const paths = dropped.map((row) => row.manifest_path)
    const what = JSON.stringify([this.#folder.location, sequence, parent ?? null, days, paths])
    const hash = createHash('sha256').update(what).digest('hex')
    // 52 bits: readers in JavaScript have no more.
    return { id: Number.parseInt(hash.slice(0, 13), 16), parent, sequence }
  }

  async #writeManifests(
    { added, dropped }: Change,
    schema: TableSchema,
    numbers: SnapshotNumbers,
    check: () => void,
  ): Promise<{
    readonly entries: readonly ManifestEntry[]
    readonly rows: readonly ManifestRow[]
  }> {
    const entries: ManifestEntry[] = []
    const rows: ManifestRow[] = []
    const write = async (file: string, own: readonly ManifestEntry[]): Promise<void> => {
      const path = this.#folder.pathOf(file)
      const { bytes, row } = encodeManifest(path, own, schema, numbers)
      check()
      await this.#folder.put(file, bytes)
      entries.push(...own)
      rows.push(row)
    }
    const old = await this.#entriesOf(dropped)
    for (const manifest of added) {
      const { day, files } = manifest
      const own = files.map((file): ManifestEntry => {
        const data = toDataFile(this.#objects.location, this.#venue, day, file, schema)
        // A part of the day that did not change.
        const same = old.get(data.file_path)
        old.delete(data.file_path)
        if (same !== undefined) return { ...same, status: STATUS.existing }
        return {
          status: STATUS.added,
          snapshot_id: numbers.id,
          sequence_number: null,
          file_sequence_number: null,
          data_file: data,
        }
      })
      await write(dayManifestFile(numbers.sequence, manifest), own)
    }
    const removed = [...old.values()].map((entry): ManifestEntry => {
      return { ...entry, status: STATUS.deleted, snapshot_id: numbers.id }
    })
    if (removed.length > 0) await write(removalFile(numbers.sequence), removed)
    return { entries, rows }
  }

  async #entriesOf(rows: readonly ManifestRow[]): Promise<Map<string, ManifestEntry>> {
    const entries = new Map<string, ManifestEntry>()
    for (const row of rows) {
      const bytes = await this.#folder.read(fileOf(row.manifest_path))
      for (const entry of decodeManifest(row, bytes)) entries.set(entry.data_file.file_path, entry)
    }
    return entries
  }
}

type NumberedColumns = ReturnType<typeof toTableSchema>

function isLive(row: ManifestRow): boolean {
  return row.added_files_count + row.existing_files_count > 0
}

// Columns are in the order of the newest day.
function newestFirst(manifests: Manifests): readonly LakeManifest[] {
  return [...manifests.values()]
    .filter(({ files }) => files.length > 0)
    .sort((a, b) => (a.day < b.day ? 1 : -1))
}

/** The name of a file in its folder. */
function fileOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
