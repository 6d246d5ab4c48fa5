import { PriorbookError, type Gap, type Micros } from '@priorbook/sdk/domain'
import type { Stream } from './streams.ts'

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
