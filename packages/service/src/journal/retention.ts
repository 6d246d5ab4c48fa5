import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Micros, VenueId } from '@priorbook/sdk/domain'
import { syncFolder, toDiskError } from './disk.ts'
import { listSegments, segmentStats } from '@priorbook/sdk/journal/format'

/** The files that retention removed, their bytes, and the record numbers that they held. */
export type RemovedSegments = {
  readonly files: readonly string[]
  readonly bytes: number
  readonly first: number
  readonly last: number
}

/**
 * Removes the oldest files all of whose records were received before a time. The newest file always
 * stays, because it determines the next record number.
 */
export function removeSegmentsBefore(
  dir: string,
  venue: VenueId,
  received: Micros,
): RemovedSegments | undefined {
  const segments = listSegments(dir, venue)
  let bytes = 0
  let keep = 0
  let passedBytes = 0
  for (const [index, name] of segments.slice(0, -1).entries()) {
    const stats = segmentStats(name)
    passedBytes += stats?.bytes ?? 0
    // A file without a readable block is removed only together with a later file that is old enough.
    if (stats?.maxReceived === undefined) continue
    if (stats.maxReceived >= received) break
    keep = index + 1
    bytes = passedBytes
  }
  const oldest = segments[0]
  const kept = segments[keep]
  if (oldest === undefined || kept === undefined || keep === 0) return undefined
  const files = segments.slice(0, keep).map((name) => name.path)
  try {
    // Oldest first, so that a crash in between does not leave a hole.
    for (const file of files) unlinkSync(file)
    syncFolder(join(dir, venue))
  } catch (error) {
    throw toDiskError(error, join(dir, venue))
  }
  return { files, bytes, first: oldest.first, last: kept.first - 1 }
}
