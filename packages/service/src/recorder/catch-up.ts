import type { Origin, VenueId } from '@priorbook/sdk/domain'
import type { JournalDamage } from '@priorbook/sdk/journal'
import { readJournal } from '../journal/index.ts'
import type { StoreWriter } from '../store/store.ts'
import { Applier } from './applier.ts'

/** How many records of a journal were applied, and its damaged places. */
export type CatchUpReport = {
  readonly records: number
  readonly damage: readonly JournalDamage[]
}

const BATCH_RECORDS = 4096

/**
 * Applies journal records that the store does not have yet: after a crash between the journal's
 * commit and the store's, after a damaged log was cut off, and for a rebuild from nothing. `to` stops
 * after a record.
 */
export async function catchUp(
  store: StoreWriter,
  journalDir: string,
  venue: VenueId,
  onProgress?: (record: number) => void,
  to?: number,
): Promise<CatchUpReport> {
  const from = (await store.appliedPosition(venue)) + 1
  const applier = new Applier(store, venue)
  const damage: JournalDamage[] = []
  let records = 0
  let pending = 0
  let maker: { origin: Origin; recorder: string } | undefined
  const flush = async (): Promise<void> => {
    const batch = maker === undefined ? undefined : applier.drain(maker)
    if (batch === undefined) return
    await store.append(batch)
    applier.forgetEnded()
    pending = 0
    onProgress?.(batch.position)
  }
  const range = to === undefined ? { from } : { from, to }
  for (const block of readJournal({ dir: journalDir, venue, ...range })) {
    if (block.kind === 'damage') {
      damage.push(block)
      const { firstMissing, lastMissing, reason } = block
      // A torn tail was never acknowledged: nothing is missing.
      if (reason !== 'torn_tail' && (lastMissing ?? firstMissing) >= firstMissing) {
        await flush()
        await applier.interrupt('corrupt', firstMissing, lastMissing)
        await flush()
      }
      continue
    }
    if (maker?.origin !== block.origin || maker.recorder !== block.recorder) {
      await flush()
      maker = { origin: block.origin, recorder: block.recorder }
    }
    for (let index = 0; index < block.count; index++) {
      const wait = applier.apply({
        number: block.first + index,
        received: block.received[index]!,
        kind: block.kinds[index]!,
        slot: block.slots[index]!,
        bytes: block.bytes[index]!,
      })
      if (wait !== undefined) await wait
      records++
      if (++pending >= BATCH_RECORDS) await flush()
    }
  }
  await flush()
  return { records, damage }
}
