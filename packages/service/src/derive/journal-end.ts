import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { journalStats } from '@priorbook/sdk/journal'
import type { DataFolder } from '../lib/data-folder.ts'
import { MERGED_FACT, type StoreReader } from '../store/store.ts'

/** How far the journal of a venue and the tape derived from it reach. */
export type JournalEnd = {
  readonly venue: VenueId
  readonly bytes: number
  /** The last record of the journal; 0 where it holds none. */
  readonly last: number
  /** The last record that the tape was derived from. */
  readonly applied: number
  /** Records that the tape was derived from and the journal no longer ends with: it was truncated. */
  readonly missing: number
  /** Records that the tape does not have yet: its log was cut, or a process died before it applied them. */
  readonly pending: number
}

/**
 * Compares the ends of journal and tape for every venue that has a journal. A merged tape was derived
 * from other journals, so that it has nothing to compare.
 */
export async function readJournalEnds(
  store: StoreReader,
  data: DataFolder,
): Promise<readonly JournalEnd[]> {
  if ((await store.fact(MERGED_FACT)) !== undefined) return []
  const ends: JournalEnd[] = []
  for (const venue of VENUE_IDS) {
    // The tape is read first: a running recorder writes to the journal before it applies.
    const applied = await store.appliedPosition(venue)
    const { files, bytes, last = 0 } = journalStats(data.journal, venue)
    if (files === 0) continue
    const missing = Math.max(0, applied - last)
    ends.push({ venue, bytes, last, applied, missing, pending: Math.max(0, last - applied) })
  }
  return ends
}
