import {
  DAY_MICROS,
  PriorbookError,
  printMicros,
  type Gap,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import { SCHEMA_VERSION, toGapJson, type SampleMetric } from '@priorbook/sdk/wire'
import { columnsOf, typeName } from '../api/bulk/columns.ts'
import type { BulkScope } from '../api/bulk/scope.ts'
import type { ApiContext, Grant } from '../api/route.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { putChecked } from '../objects/put-checked.ts'
import { distinctGaps } from '../rows/index.ts'
import { yieldToEventLoop } from '../lib/yielder.ts'
import { REMOVED_MARKETS } from '../store/store.ts'
import { makeParts } from './day-parts.ts'
import {
  dayFolder,
  LAKE_VERSION,
  putManifest,
  type LakeFile,
  type LakeManifest,
} from './lake-manifest.ts'

/** The datasets of a lake: books, trades, and the samples of each metric. */
export const LAKE_DATASETS = ['books', 'trades', 'chance', 'price', 'last_trade'] as const

/** The name of one dataset. */
export type LakeDataset = (typeof LAKE_DATASETS)[number]

/** Which day is written, and where to. */
export type DayOrder = {
  readonly context: ApiContext
  readonly objects: ObjectStore
  readonly venue: VenueId
  readonly dataset: LakeDataset
  /** The start of the day. */
  readonly day: number
  readonly partRows: number
  /** The manifest that the lake has of the day. */
  readonly before: LakeManifest | undefined
  /** Throws where this process may not write to the lake any more. */
  check(): void
  /** Called when a new manifest counts, before files of the one before are removed. */
  onManifest(manifest: LakeManifest): Promise<void>
}

/** What became of a day; a day without rows and gaps has no manifest, unless it had one before. */
export type DayReport = { readonly manifest: LakeManifest; readonly isChanged: boolean }

/**
 * Writes the files of a day and then its manifest, which makes them count. Files are named by their hash: a run that
 * was interrupted writes the same ones again. Files of an earlier manifest are removed last.
 */
export async function writeDay(order: DayOrder): Promise<DayReport | undefined> {
  const { objects, venue, dataset, before } = order
  const scope = scopeOf(order)
  const day = dayText(order.day)
  const folder = dayFolder(venue, dataset, day)
  const gaps: Gap[] = []
  const files = await writeParts(order, scope, folder, (gap) => void gaps.push(gap))
  const manifest: LakeManifest = {
    lake_version: LAKE_VERSION,
    schema_version: SCHEMA_VERSION,
    venue,
    dataset,
    day,
    number: (before?.number ?? 0) + 1,
    rows: files.reduce((sum, { rows }) => sum + rows, 0),
    files,
    columns: columnsOf(scope).map((spec) => ({
      name: spec.name,
      type: typeName(spec),
      is_nullable: spec.isNullable,
    })),
    gaps: distinctGaps(gaps).map((gap) => toGapJson(gap)),
  }
  if (before === undefined && files.length === 0 && gaps.length === 0) return undefined
  // What retention has removed from the tape since stays in the lake.
  if (before !== undefined && manifest.rows < before.rows && (await isTrimmed(order, gaps))) {
    order.check()
    const own = new Set(before.files.map(({ name }) => name))
    for (const { name } of files) {
      if (own.has(name)) continue
      order.check()
      await objects.remove(name)
    }
    return { manifest: before, isChanged: false }
  }
  const isChanged = before === undefined || contentOf(before) !== contentOf(manifest)
  order.check()
  if (isChanged && !(await putManifest(objects, manifest))) {
    throw new PriorbookError('store_locked', `another process writes ${folder} of the lake`)
  }
  const counting = isChanged ? manifest : before
  // Also where it is an older one: the run that wrote it may have ended before the tables followed it.
  await order.onManifest(counting)
  await removeOthers(objects, folder, files, () => order.check())
  return { manifest: counting, isChanged }
}

// The gap that takes the place of removed rows goes with the record of its market.
async function isTrimmed(
  { context, venue, day }: DayOrder,
  gaps: readonly Gap[],
): Promise<boolean> {
  if (gaps.some(({ reason }) => reason === 'retention')) return true
  // Rows of a removed market were received before this time, perhaps on this day.
  const removed = await context.store.fact(REMOVED_MARKETS.before(venue))
  return removed !== undefined && removed > day
}

async function writeParts(
  order: DayOrder,
  scope: BulkScope,
  folder: string,
  onGap: (gap: Gap) => void,
): Promise<readonly LakeFile[]> {
  const files: LakeFile[] = []
  const parts = makeParts(order.context, scope, order.partRows, onGap)
  for await (const { bytes, hash, receipt, markets } of parts) {
    const sha256 = hash.toString('hex')
    const number = String(files.length).padStart(5, '0')
    const name = `${folder}part-${number}-${sha256.slice(0, 16)}.parquet`
    order.check()
    const rest = { isNeeded: async () => false, rest: yieldToEventLoop }
    await putChecked(order.objects, name, bytes, hash, rest)
    const { rows, first_received_time, last_received_time } = receipt
    const bounds = {
      first_received_time,
      last_received_time,
      first_market_id: markets.first,
      last_market_id: markets.last,
    }
    files.push({ name, rows, bytes: bytes.length, sha256, ...bounds })
  }
  return files
}

/** Removes the files of a folder that a manifest does not name; `check` throws where this process may not any more. */
export async function removeOthers(
  objects: ObjectStore,
  folder: string,
  files: readonly LakeFile[],
  check: () => void,
): Promise<number> {
  const known = new Set(files.map(({ name }) => name))
  const others: string[] = []
  for await (const { name } of objects.list(folder)) if (!known.has(name)) others.push(name)
  for (const name of others) {
    check()
    await objects.remove(name)
  }
  return others.length
}

/** A day as text. */
export function dayText(day: number): string {
  return printMicros(day as Micros).slice(0, 10)
}

function contentOf({ number: _number, ...content }: LakeManifest): string {
  return JSON.stringify(content)
}

function scopeOf({ venue, dataset, day }: DayOrder): BulkScope {
  const isSamples = dataset !== 'books' && dataset !== 'trades'
  return {
    venue,
    family: { venue },
    dataset: isSamples ? 'samples' : dataset,
    ...(isSamples ? { metric: dataset satisfies SampleMetric } : {}),
    start: day,
    end: day + DAY_MICROS,
    windowStart: 0,
    ladders: true,
    style: {},
    isFinal: true,
    notices: [],
    grant: EVERYTHING,
  }
}

// The operator reads everything.
const EVERYTHING: Grant = {
  keyId: 'lake',
  plan: 'operator',
  requireVenue: () => {},
  requireAsset: () => {},
  requireFeature: () => {},
  allows: () => true,
  windowStart: () => 0 as Micros,
}
