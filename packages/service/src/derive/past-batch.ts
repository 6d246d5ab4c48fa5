import { reachedFact } from '../recorder/batch.ts'
import type { AppendBatch } from '../store/store.ts'

/**
 * A batch of what was not received live. Up to when live capture was stored stays as it is: an import has older rows, and
 * after a backfill a recorder that was killed before it has yet to say what it missed.
 */
export function toPastBatch(batch: AppendBatch): AppendBatch {
  const { [reachedFact(batch.venue)]: _reached, ...facts } = batch.facts ?? {}
  return { ...batch, facts }
}
