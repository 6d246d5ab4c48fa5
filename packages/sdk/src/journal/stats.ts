import type { Micros, VenueId } from '../domain/index.ts'
import type { SegmentStats } from './record.ts'
import {
  listSegments,
  openSegment,
  readAway,
  walkBlocks,
  type BadPiece,
  type GoodPiece,
  type Segment,
  type SegmentName,
} from './segments.ts'

/** Counts and times of a venue's journal, from its headers. */
export type JournalStats = {
  readonly files: number
  readonly bytes: number
  readonly records: number
  readonly first: number | undefined
  readonly last: number | undefined
  readonly firstReceived: Micros | undefined
  readonly lastReceived: Micros | undefined
  readonly segments: readonly SegmentStats[]
}

/** Counts a venue's journal by headers alone; use `readJournal` to verify it. */
export function journalStats(dir: string, venue: VenueId): JournalStats {
  const segments = listSegments(dir, venue)
    .map(segmentStats)
    .filter((segment) => segment !== undefined)
  const filled = segments.filter((segment) => segment.records > 0)
  return {
    files: segments.length,
    bytes: segments.reduce((sum, segment) => sum + segment.bytes, 0),
    records: segments.reduce((sum, segment) => sum + segment.records, 0),
    first: filled[0]?.first,
    last: filled.at(-1)?.last,
    firstReceived: filled[0]?.firstReceived,
    lastReceived: filled.at(-1)?.lastReceived,
    segments,
  }
}

/** Counts one file by its headers, or by the note on it; undefined when it is gone. */
export function segmentStats(name: SegmentName): SegmentStats | undefined {
  const away = name.isAway ? readAway(name) : undefined
  if (away !== undefined) return { ...away.stats, file: name.path }
  const segment = openSegment(name)
  if (segment === undefined) return undefined
  // It was moved since it was listed.
  if (segment.name.isAway && !name.isAway) return segmentStats(segment.name)
  try {
    const counting = countSegment(segment)
    for (let step = counting.next(); ; step = counting.next()) {
      if (step.done === true) return { ...step.value, file: name.path }
    }
  } finally {
    segment.close()
  }
}

/** Counts a file by its headers, block by block. */
export function* countSegment(
  segment: Segment,
): Generator<GoodPiece | BadPiece, Omit<SegmentStats, 'file'>, void> {
  const { name, size: bytes } = segment
  let last: number | undefined
  let firstReceived: Micros | undefined
  let lastReceived: Micros | undefined
  let minReceived: Micros | undefined
  let maxReceived: Micros | undefined
  let origin = segment.header?.origin
  let blocks = 0
  let records = 0
  let rawBytes = 0
  let badBytes = 0
  for (const piece of walkBlocks(segment, name.first, () => false)) {
    yield piece
    if (piece.kind === 'bad') {
      badBytes += piece.length
      continue
    }
    const { header } = piece
    if (header.count === 0) continue
    blocks++
    records += header.count
    rawBytes += header.rawBytes
    last = header.first + header.count - 1
    origin ??= header.origin
    firstReceived ??= header.firstReceived
    lastReceived = header.lastReceived
    if (minReceived === undefined || header.minReceived < minReceived) {
      minReceived = header.minReceived
    }
    if (maxReceived === undefined || header.maxReceived > maxReceived) {
      maxReceived = header.maxReceived
    }
  }
  const times = { firstReceived, lastReceived, minReceived, maxReceived }
  const counts = { blocks, records, rawBytes, badBytes }
  return { bytes, first: name.first, last, origin, ...times, ...counts }
}
