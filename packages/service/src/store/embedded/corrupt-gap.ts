import { PriorbookError, type Gap, type Micros } from '@priorbook/sdk/domain'
import { placeOfOrdinal, type Directory } from './directory.ts'
import type { Stream } from './streams.ts'
import type { View } from './view.ts'

/**
 * The gap in place of damaged observations. Pages, lists of gaps, coverage and replay all use it, so its
 * bounds are the same everywhere. It ends at the next readable row: until then the book is unknown.
 */
export function corruptAt(view: View, stream: Stream, place: Directory['places'][number]): Gap {
  const gap = corruptGap(stream, place)
  const { places } = view.directory(stream)
  const next = places[placeOfOrdinal(places, place.first) + 1]?.firstReceived
  const end = next ?? view.tailOf(stream)?.columns.received[0]
  // The next row may have the time of the last that is lost: the gap covers that moment too.
  const least = 'lost' in place ? gap.start : place.lastReceived + 1
  return end === undefined ? gap : { ...gap, end: Math.max(end, least) as Micros }
}

/** The gap reported in place of rows that are damaged on disk. */
export function corruptGap(
  stream: Stream,
  place: { first: number; count: number; firstReceived: number; lastReceived: number },
): Gap {
  const open = place.lastReceived === Number.MAX_SAFE_INTEGER
  return {
    venue: stream.venue,
    scope: 'instrument',
    key: stream.key,
    reason: 'corrupt',
    start: place.firstReceived as Micros,
    ...(open ? {} : { end: (place.lastReceived + 1) as Micros }),
    afterSequence: place.first - 1,
    detail: `${place.count === 0 ? 'an unknown number of' : place.count} ${stream.kind} rows`,
    journal: 0,
  }
}

/** The error for stored rows that are in neither a chunk nor a log batch. */
export function missingRows(stream: Stream, ordinal: number): PriorbookError {
  return new PriorbookError(
    'corrupt_chunk',
    `${stream.venue}:${stream.key} has lost its ${stream.kind} row ${ordinal}`,
  )
}
