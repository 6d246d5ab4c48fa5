import { VENUE_IDS } from '@priorbook/sdk/domain'
import { listSegments, openSegment } from '@priorbook/sdk/journal/format'
import { listNotes } from './away-notes.ts'

/** What the files of all journals take: as they were recorded, packed, and in other storage. */
export function journalBytes(dir: string): Record<'raw' | 'archived' | 'elsewhere', number> {
  const sum = { raw: 0, archived: 0, elsewhere: 0 }
  for (const venue of VENUE_IDS) {
    for (const { file } of listNotes(dir, venue)) sum.elsewhere += file?.size ?? 0
    for (const name of listSegments(dir, venue)) {
      const segment = name.isAway ? undefined : openSegment(name)
      if (segment === undefined) continue
      sum[segment.header?.version === 2 ? 'archived' : 'raw'] += segment.size
      segment.close()
    }
  }
  return sum
}
