import { PriorbookError } from '@priorbook/sdk/domain'
import type { GapJson } from '@priorbook/sdk/wire'
import type { ObjectStore } from '../objects/object-store.ts'

/** The version of the layout of a lake; columns have the schema version of the wire. */
export const LAKE_VERSION = 1

/** One Parquet file of a day. */
export type LakeFile = {
  /** Its name inside the lake. */
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
  readonly first_received_time: string | null
  readonly last_received_time: string | null
  /** The smallest and the largest market id; absent in files that were written without. */
  readonly first_market_id?: string
  readonly last_market_id?: string
}

/** What the files of one dataset of one venue hold of one day. */
export type LakeManifest = {
  readonly lake_version: number
  readonly schema_version: string
  readonly venue: string
  readonly dataset: string
  readonly day: string
  /** Counts the times that the files of the day changed, from 1 on. */
  readonly number: number
  readonly rows: number
  readonly files: readonly LakeFile[]
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly is_nullable: boolean
  }[]
  readonly gaps: readonly GapJson[]
}

/** The folder of one dataset of one venue, with a slash at its end. */
export function datasetFolder(venue: string, dataset: string): string {
  return `venue=${venue}/dataset=${dataset}/`
}

/** The folder of the files of a day. */
export function dayFolder(venue: string, dataset: string, day: string): string {
  return `${datasetFolder(venue, dataset)}day=${day}/`
}

// Readers of Hive partitions leave folders out that begin with an underscore.
const MANIFESTS = '_manifests/'

/** Keeps a manifest; false where there is one of its number, which another writer has put. */
export function putManifest(objects: ObjectStore, manifest: LakeManifest): Promise<boolean> {
  const { venue, dataset, day, number } = manifest
  const name = `${MANIFESTS}${dayFolder(venue, dataset, day)}${String(number).padStart(6, '0')}.json`
  return objects.put(name, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`))
}

/** The newest manifest of every day of a dataset, by day. */
export async function readManifests(
  objects: ObjectStore,
  venue: string,
  dataset: string,
): Promise<Map<string, LakeManifest>> {
  const newest = new Map<string, { readonly name: string; readonly size: number }>()
  // Names are in order, so the last one of a day is its newest.
  for await (const object of objects.list(`${MANIFESTS}${datasetFolder(venue, dataset)}`)) {
    const [, day] = /\/day=(\d{4}-\d\d-\d\d)\/\d{6}\.json$/.exec(object.name) ?? []
    if (day !== undefined) newest.set(day, object)
  }
  const manifests = new Map<string, LakeManifest>()
  for (const [day, { name, size }] of newest) {
    const text = Buffer.from(await objects.read(name, 0, size)).toString()
    manifests.set(day, parseManifest(name, text))
  }
  return manifests
}

function parseManifest(name: string, text: string): LakeManifest {
  let manifest: LakeManifest | undefined
  try {
    manifest = JSON.parse(text) as LakeManifest
  } catch {
    throw new PriorbookError('object_damaged', `${name} is no manifest of a lake`)
  }
  if (manifest.lake_version === LAKE_VERSION && Array.isArray(manifest.files)) return manifest
  throw new PriorbookError('unsupported_format', `${name} has another version of the lake`)
}
