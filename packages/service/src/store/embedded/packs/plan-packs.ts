import { DAY_MICROS } from '@priorbook/sdk/domain'
import { PACK_CHUNKS } from '@priorbook/sdk/tape'
import { isCold } from '../cold/cold-places.ts'
import { readDirectory, type ChunkPlace } from '../directory.ts'
import { readStream } from '../streams.ts'
import type { View } from '../view.ts'

/** Consecutive sealed chunks of a stream and of one day. */
export type PackGroup = { readonly stream: number; readonly places: readonly ChunkPlace[] }

/** Some groups, and the stream behind which the next step goes on; absent after the last. */
export type PackPlan = { readonly groups: readonly PackGroup[]; readonly next: number | undefined }

// Bounds of a step: an append may wait for it.
const STEP_STREAMS = 16

/** Finds what may be packed of the next streams that have at least two sealed chunks from before a time. */
export function planPacks(view: View, before: number, after: number): PackPlan {
  const { database } = view
  const rows = database.all(
    `SELECT stream FROM chunk WHERE form = 2 AND stream > ?
     AND EXISTS (SELECT 1 FROM body WHERE id = chunk.body) GROUP BY stream HAVING sum(last_received < ?) > 1 ORDER BY stream LIMIT ?`,
    after,
    before,
    STEP_STREAMS,
  )
  const groups = rows.flatMap((row) => groupsOf(view, row['stream'] as number, before))
  return {
    groups,
    next: rows.length < STEP_STREAMS ? undefined : (rows.at(-1)!['stream'] as number),
  }
}

// What is in other storage stays there as it is: to pack it, all of it would have to come back. A pack is of one day, so that it can leave the machine and go as a whole. The newest chunk of a stream stays as it
// is, because the next rows build on it.
function groupsOf(view: View, id: number, before: number): PackGroup[] {
  const { places } = readDirectory(view.database, readStream(view.database, id))
  const groups: PackGroup[] = []
  let group: ChunkPlace[] = []
  const close = (): void => {
    if (group.length > 1) groups.push({ stream: id, places: group })
    group = []
  }
  for (const place of places.slice(0, -1)) {
    const isLoose = 'lost' in place || place.form !== 'sealed'
    if (isLoose || place.lastReceived >= before || isCold(view.database, place.body)) {
      close()
      continue
    }
    const day = dayOf(place.lastReceived)
    const isNext = group.length > 0 && dayOf(group[0]!.firstReceived) === day
    if (!isNext || group.length === PACK_CHUNKS) close()
    if (dayOf(place.firstReceived) === day) group.push(place)
    else close()
  }
  close()
  return groups
}

function dayOf(micros: number): number {
  return Math.floor(micros / DAY_MICROS)
}
