import type { Origin, VenueId } from '@priorbook/sdk/domain'
import { listSegments, openSegment } from '@priorbook/sdk/journal/format'

/** Where the newest readable file of a journal comes from; undefined where there is none. */
export function newestOrigin(dir: string, venue: VenueId): Origin | undefined {
  for (const name of listSegments(dir, venue).toReversed()) {
    const segment = openSegment(name)
    segment?.close()
    if (segment?.header !== undefined) return segment.header.origin
  }
  return undefined
}
