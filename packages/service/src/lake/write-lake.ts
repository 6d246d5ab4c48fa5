import { DAY_MICROS, startOfDay, VENUES, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { ApiContext } from '../api/route.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import type { StoreReader } from '../store/store.ts'
import { LakeTable } from './iceberg/lake-table.ts'
import { dayFolder, datasetFolder, readManifests, type LakeManifest } from './lake-manifest.ts'
import { dayText, LAKE_DATASETS, removeOthers, writeDay, type LakeDataset } from './write-day.ts'

// Rows are stored within seconds of being received; recorders that take over need a few minutes.
const AFTER_DAY = 600_000_000

/** What of a tape is written, and where to. */
export type LakeOrder = {
  readonly store: StoreReader
  readonly objects: ObjectStore
  /** The time in microseconds. */
  readonly now: number
  readonly venue?: VenueId | undefined
  /** The start of the only day that is written. */
  readonly day?: number | undefined
  /** True to make days again that the lake has, such as after a rebuild. */
  readonly isRewritten: boolean
  readonly partRows: number
  /** True to make an Iceberg table of each dataset; tables that are there are kept up in any case. */
  readonly withTables: boolean
  /** Up to when the rows and gaps of a venue are stored; Infinity where nothing is recorded any more. */
  reached(venue: VenueId): Promise<number>
  /** Throws where this process may not write to the lake any more. */
  check(): void
  onDay(manifest: LakeManifest, isChanged: boolean): void
  /** Called for a venue whose days from this one on wait until its recorder has said what it missed. */
  onWait?(venue: VenueId, day: string, reached: number): void
}

/**
 * How many days, rows and snapshots of tables were written, how many days the lake had already, and of how many venues
 * days wait for their recorder.
 */
export type LakeReport = {
  days: number
  rows: number
  kept: number
  unchanged: number
  snapshots: number
  waiting: number
}

/** Writes the days that a lake does not have, each exactly once. */
export async function writeLake(order: LakeOrder): Promise<LakeReport> {
  const report: LakeReport = { days: 0, rows: 0, kept: 0, unchanged: 0, snapshots: 0, waiting: 0 }
  for (const venue of order.venue === undefined ? VENUE_IDS : [order.venue]) {
    const first = await firstDay(order.store, venue)
    if (first === undefined) continue
    const reached = await order.reached(venue)
    tellWaiting(order, venue, Math.max(first, startOfDay(reached)), reached, report)
    for (const dataset of LAKE_DATASETS) {
      if (isSampled(dataset) && !VENUES[venue].metrics.includes(dataset)) {
        continue
      }
      await writeDataset(order, venue, dataset, first, reached, report)
    }
  }
  return report
}

// Days that are over and are not written must not look as if there were none.
function tellWaiting(
  order: LakeOrder,
  venue: VenueId,
  day: number,
  reached: number,
  report: LakeReport,
): void {
  if (day + DAY_MICROS + AFTER_DAY > order.now || (order.day ?? day) < day) return
  report.waiting++
  order.onWait?.(venue, dayText(day), reached)
}

async function writeDataset(
  order: LakeOrder,
  venue: VenueId,
  dataset: LakeDataset,
  first: number,
  reached: number,
  report: LakeReport,
): Promise<void> {
  const { store, objects, now, partRows, isRewritten } = order
  const manifests = await readManifests(objects, venue, dataset)
  const stored = await filesByDay(objects, venue, dataset)
  const table = await openTable(order, venue, dataset)
  const check = (): void => order.check()
  const publish = async (): Promise<void> => {
    report.snapshots += (await table?.publish(manifests, check)) ?? 0
  }
  const context = contextOf(store, now)
  for (let day = first; day + DAY_MICROS + AFTER_DAY <= now; day += DAY_MICROS) {
    // A recorder that stood still has yet to say what it missed.
    if (day + DAY_MICROS > reached) break
    if (order.day !== undefined && order.day !== day) continue
    const text = dayText(day)
    const before = manifests.get(text)
    if (before !== undefined && !isRewritten && hasAll(stored.get(text), before)) {
      // A run that ended after the manifest may have left files of an earlier one.
      if ((stored.get(text)?.size ?? 0) > before.files.length) {
        await publish()
        await removeOthers(objects, dayFolder(venue, dataset, text), before.files, check)
      }
      report.kept++
      continue
    }
    const written = await writeDay({
      context,
      objects,
      venue,
      dataset,
      day,
      partRows,
      before,
      check,
      async onManifest(manifest) {
        manifests.set(text, manifest)
        // Readers of the table must not look for files that are gone.
        if (before !== undefined) await publish()
      },
    })
    if (written === undefined) continue
    order.onDay(written.manifest, written.isChanged)
    if (written.isChanged) {
      report.days++
      report.rows += written.manifest.rows
    } else report.unchanged++
  }
  await publish()
  await table?.clean(check)
}

async function openTable(
  { objects, withTables }: LakeOrder,
  venue: VenueId,
  dataset: LakeDataset,
): Promise<LakeTable | undefined> {
  const table = await LakeTable.open(objects, venue, dataset)
  return table.exists || withTables ? table : undefined
}

async function filesByDay(
  objects: ObjectStore,
  venue: VenueId,
  dataset: LakeDataset,
): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const days = new Map<string, Map<string, number>>()
  for await (const { name, size } of objects.list(datasetFolder(venue, dataset))) {
    const [, day] = /\/day=(\d{4}-\d\d-\d\d)\//.exec(name) ?? []
    if (day === undefined) continue
    const files = days.get(day) ?? new Map<string, number>()
    days.set(day, files.set(name, size))
  }
  return days
}

function hasAll(stored: ReadonlyMap<string, number> | undefined, manifest: LakeManifest): boolean {
  return manifest.files.every(({ name, bytes }) => stored?.get(name) === bytes)
}

async function firstDay(store: StoreReader, venue: VenueId): Promise<number | undefined> {
  const extents = await store.extents(venue)
  const times = extents.map(({ firstReceived }) => firstReceived)
  return times.length === 0 ? undefined : startOfDay(Math.min(...times))
}

function isSampled(dataset: LakeDataset): boolean {
  return dataset !== 'books' && dataset !== 'trades'
}

// Downloads are walked without pages, so no cursor is ever made.
function contextOf(store: StoreReader, now: number): ApiContext {
  const refuse = (): never => {
    throw new Error('a lake has no cursors')
  }
  return { store, cursors: { sign: refuse, read: refuse }, now: () => now as never }
}
