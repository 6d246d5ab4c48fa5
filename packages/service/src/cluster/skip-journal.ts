import { readJournalEnds } from '../derive/journal-end.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import type { Store } from '../store/store.ts'
import { definitionOf } from '../venues/registry.ts'

/**
 * Passes over what this recorder journaled and did not store before another recorder wrote the tape: rows
 * of that time are the other one's. Numbers of journal records go on after the highest of both.
 */
export async function skipJournal(store: Store, data: DataFolder, recorder: string): Promise<void> {
  for (const { venue, applied, pending } of await readJournalEnds(store, data)) {
    if (pending === 0) continue
    await store.append({
      venue,
      position: applied + pending,
      origin: 'live',
      recorder,
      normalizer: definitionOf(venue).normalizer.version,
      observations: [],
      trades: [],
      samples: [],
      revisions: [],
      gaps: [],
      quarantine: [],
      facts: {},
    })
  }
}
