import { FLAGS } from '@priorbook/sdk/domain'
import { REFUSED_CHECKS, type ParityCounts } from '../store/parity-checks.ts'
import type { BatchRows } from './batch.ts'

/** Adds the failed checks of a batch. */
export function countParity(counts: ParityCounts, rows: BatchRows): void {
  for (const { flags } of rows.observations) if ((flags & FLAGS.locked) !== 0) counts.locked++
  for (const { check } of rows.parity) counts[check]++
  for (const { code } of rows.quarantine) {
    const check = REFUSED_CHECKS.get(code)
    if (check !== undefined) counts[check]++
  }
}
