import type { GapReason } from '@priorbook/sdk/domain'
import type { CaptureSink } from './contract.ts'

const KEYS_PER_NOTE = 200

/** Notes the loss of any number of books; one note names some of them, so that none is large. */
export function noteLosses(
  sink: Pick<CaptureSink, 'note'>,
  reason: GapReason,
  why: string,
  keys: readonly string[],
): void {
  for (let from = 0; from < keys.length; from += KEYS_PER_NOTE) {
    const part = keys.slice(from, from + KEYS_PER_NOTE)
    sink.note({ note: 'loss', reason, why, keys: part })
  }
}
