import { existsSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { VenueId } from '@priorbook/sdk/domain'
import {
  awayPath,
  listSegments,
  segmentStats,
  type SegmentName,
} from '@priorbook/sdk/journal/format'
import { markUnwanted } from './away-notes.ts'
import { syncFolder, toDiskError } from './disk.ts'

/** The files that retention removed, their bytes, and the record numbers that they held. */
export type RemovedSegments = {
  readonly files: readonly string[]
  readonly bytes: number
  readonly first: number
  readonly last: number
}

/** Which files of a journal may stay. */
export type SegmentLimits = {
  /** Files all of whose records were received before this time go. */
  readonly before?: number | undefined
  /** The oldest files go until the rest has at most this many bytes. */
  readonly bytes?: number | undefined
  /** The last record that the tape has: later ones stay. */
  readonly applied?: number | undefined
  /** Counts what would go, and keeps it. */
  readonly isDryRun?: boolean | undefined
}

/** A file of a journal, here or in other storage, its size, and when the newest of its records was received. */
export type KeptSegment = SegmentName & {
  readonly bytes: number
  /** Absent where no block of the file can be read. */
  readonly newest: number | undefined
}

/** Measures the files of journals; finished ones are read once, and once more when they were packed. */
export class SegmentSizes {
  readonly #known = new Map<string, KeptSegment>()

  /** The files of a venue's journal, oldest first. */
  list(dir: string, venue: VenueId): readonly KeptSegment[] {
    const names = listSegments(dir, venue)
    const newest = newestIndex(names)
    const found = names.map((name, index) =>
      // The newest file grows; its times do not matter, because it always stays.
      index >= newest ? newestOf(name) : this.#measure(name),
    )
    for (const [path, { venue: of }] of this.#known) {
      if (of === venue && !names.some((name) => name.path === path)) this.#known.delete(path)
    }
    return found
  }

  #measure(name: SegmentName): KeptSegment {
    const known = this.#known.get(name.path)
    // A file that was packed since is smaller.
    if (known !== undefined && (name.isAway || known.bytes === sizeOf(name))) return known
    const stats = segmentStats(name)
    const found = { ...name, bytes: stats?.bytes ?? 0, newest: stats?.maxReceived }
    this.#known.set(name.path, found)
    return found
  }
}

/** The file that a writer goes on with, or the last one: it and all after it stay. */
export function newestIndex(names: readonly SegmentName[]): number {
  const growing = names.findLastIndex(({ isAway }) => !isAway)
  return growing < 0 ? names.length - 1 : growing
}

function newestOf(name: SegmentName): KeptSegment {
  return { ...name, bytes: sizeOf(name), newest: undefined }
}

function sizeOf({ path }: SegmentName): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Removes the oldest files that are beyond the limits. The newest file always stays, because it
 * determines the next record number.
 */
export function removeSegments(
  dir: string,
  venue: VenueId,
  limits: SegmentLimits,
  sizes: SegmentSizes = new SegmentSizes(),
): RemovedSegments | undefined {
  const { before = 0, bytes: most = Infinity, applied = Infinity } = limits
  const segments = sizes.list(dir, venue)
  let rest = segments.reduce((sum, { bytes }) => sum + bytes, 0)
  let gone = 0
  for (const [index, { bytes, newest }] of segments.slice(0, newestIndex(segments)).entries()) {
    if (segments[index + 1]!.first - 1 > applied) break
    const isTooMuch = rest > most
    rest -= bytes
    // A file without a readable block is removed only together with a later file that is old enough.
    if (newest === undefined && !isTooMuch) continue
    if (!isTooMuch && newest! >= before) break
    gone = index + 1
  }
  const kept = segments[gone]
  if (kept === undefined || gone === 0) return undefined
  const old = segments.slice(0, gone)
  const files = old.map(({ path }) => path)
  if (limits.isDryRun !== true) unlink(join(dir, venue), old)
  const bytes = old.reduce((sum, segment) => sum + segment.bytes, 0)
  return { files, bytes, first: segments[0]!.first, last: kept.first - 1 }
}

// Oldest first, so that a crash in between does not leave a hole.
function unlink(folder: string, segments: readonly SegmentName[]): void {
  try {
    for (const { path, isAway } of segments) {
      // A mover that was killed leaves a note beside its file.
      const note = isAway ? path : awayPath(path)
      if (isAway || existsSync(note)) markUnwanted(note, Date.now() * 1000)
      if (!isAway) unlinkSync(path)
    }
    syncFolder(folder)
  } catch (error) {
    throw toDiskError(error, folder)
  }
}
